"""POST /v0/subscribe and GET /v0/events: one page of events, or all that come."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.datastructures import Headers
from starlette.responses import Response

from infinicon.api import openapi_events as openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted, in_thread
from infinicon.api.event_stream import EventStream
from infinicon.api.wire import events as wire
from infinicon.operations import events

router = APIRouter()


@router.post("/v0/subscribe", **openapi.SUBSCRIBE)
def subscribe(call: Admitted) -> Response:
    request = wire.parse(call.body)
    return answer(wire.to_wire(events.subscribe(call.runtime.database, call.runtime.keyring, call.caller, request)))


@router.get("/v0/events", **openapi.EVENTS)
async def read_events(call: Admitted) -> Response:
    headers, own = call.request.headers, call.runtime
    request = wire.parse_parameters(call.request.query_params, headers.get("last-event-id"))
    page = await in_thread(events.subscribe, own.database, own.keyring, call.caller, request)
    if wants_page(headers):
        return answer(wire.to_wire(page))
    call.leave_gate()
    return EventStream(call, request, page)


def wants_page(headers: Headers) -> bool:
    """Whether JSON is asked for, and a stream is not."""
    accept = headers.get("accept", "").lower()
    return "application/json" in accept and "text/event-stream" not in accept
