"""POST /v0/query."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted, in_thread
from infinicon.api.quiet import until_quiet
from infinicon.api.wire import query as wire
from infinicon.domain import Permission
from infinicon.operations import query

router = APIRouter()


@router.post("/v0/query", **openapi.QUERY)
async def query_memory(call: Admitted) -> Response:
    asked = await in_thread(wire.parse, call.body)
    if asked.strong:
        await until_quiet(call, asked.request.scope, Permission.QUERY)
    own = call.runtime
    reply = await in_thread(query.query, own.database, own.keyring, own.embedder, call.caller, asked.request)
    return answer(wire.to_wire(reply))
