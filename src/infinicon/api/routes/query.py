"""POST /v0/query."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted, Call, in_thread
from infinicon.api.wire import query as wire
from infinicon.domain import Scope
from infinicon.errors import ConsistencyUnavailable
from infinicon.operations import query, waiting

router = APIRouter()


@router.post("/v0/query", **openapi.QUERY)
async def query_memory(call: Admitted) -> Response:
    asked = await in_thread(wire.parse, call.body)
    if asked.strong:
        await until_quiet(call, asked.request.scope)
    own = call.runtime
    reply = await in_thread(query.query, own.database, own.keyring, own.embedder, call.caller, asked.request)
    return answer(wire.to_wire(reply))


async def until_quiet(call: Call, scope: Scope) -> None:
    """Return when everything that was accepted in the scope before now is processed. Raises ConsistencyUnavailable."""
    now = await in_thread(waiting.now, call.runtime.database)
    if not await in_thread(waiting.pending, call.runtime.database, call.caller, scope, now):
        return
    call.leave_gate()
    if not await call.house.waiting.until_nothing_pending(call.caller, scope, now):
        raise ConsistencyUnavailable("work accepted before this request is still pending; try again, or ask eventual")
