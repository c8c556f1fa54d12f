"""POST /v0/assemble-context."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted, in_thread
from infinicon.api.quiet import until_quiet
from infinicon.api.wire import context as wire
from infinicon.domain import Permission
from infinicon.operations import context

router = APIRouter()


@router.post("/v0/assemble-context", **openapi.ASSEMBLE_CONTEXT)
async def assemble_context(call: Admitted) -> Response:
    asked = await in_thread(wire.parse, call.body)
    if asked.strong:
        await until_quiet(call, asked.request.scope, Permission.ASSEMBLE)
    own = call.runtime
    made = await in_thread(
        context.assemble, own.database, own.keyring, own.embedder, own.counters, call.caller, asked.request
    )
    return answer(await in_thread(wire.to_wire, asked, made))
