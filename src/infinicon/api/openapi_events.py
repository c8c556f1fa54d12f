"""The operations of events in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from infinicon.api import limits
from infinicon.api.openapi_parts import SCOPE, WITH_BODY, operation, page_parameters, scope_parameters
from infinicon.api.wire.events import MemoryEventType, SubscribeReply, SubscribeRequest
from infinicon.api.wire.parameters import LONGEST_CURSOR
from infinicon.api.wire.validate import Body
from infinicon.domain import Permission

MODELS: Sequence[type[Body]] = (SubscribeRequest, SubscribeReply)

TYPES = {
    "name": "eventTypes",
    "in": "query",
    "required": False,
    "description": "Separated by commas; all of them where this is absent.",
    "style": "form",
    "explode": False,
    "schema": {
        "type": "array",
        "minItems": 1,
        "maxItems": limits.EVENT_TYPES,
        "items": {"type": "string", "enum": list(get_args(MemoryEventType))},
    },
}
CONSISTENCY = {
    "name": "consistency",
    "in": "query",
    "required": False,
    "description": "Both are the same: in the order of commits and without a gap.",
    "schema": {"type": "string", "enum": ["strong", "eventual"], "default": "eventual"},
}
LAST_EVENT_ID = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event that a reader has; it goes before `cursor`.",
    "schema": {"type": "string", "maxLength": LONGEST_CURSOR},
}
STREAM = """Where `Accept` names `application/json` and not `text/event-stream`, the answer is the page of `subscribe`. Otherwise
it is a stream of Server-Sent Events: `id` is the cursor, `event` the type, `data` a MemoryEvent in one line. A comment comes at least every
15 seconds, with an `id` that has passed what was not asked for. A stream that cannot go on ends with an event `error`, whose data
is a MemoryApiError."""
EXAMPLE = 'id: AXk…\nevent: memory.indexed\ndata: {"type":"memory.indexed","scope":{…},"cursor":"AXk…",…}\n\n'

SUBSCRIBE = operation(
    "subscribe",
    "A page of lifecycle events, from a cursor on",
    request=SubscribeRequest,
    reply=SubscribeReply,
    permission=Permission.SUBSCRIBE,
    statuses=WITH_BODY,
    example={"scope": SCOPE, "eventTypes": ["memory.indexed", "memory.tombstoned"], "limit": 50},
)
EVENTS: dict[str, Any] = operation(
    "readEvents",
    "Lifecycle events as they come, or a page of them",
    reply=SubscribeReply,
    permission=Permission.SUBSCRIBE,
    statuses=(400, 401, 403, 429, 500, 503),
    parameters=[
        *scope_parameters(),
        *page_parameters(limits.EVENTS_DEFAULT, limits.EVENTS),
        TYPES,
        CONSISTENCY,
        LAST_EVENT_ID,
    ],
)
EVENTS["description"] = STREAM
EVENTS["openapi_extra"]["responses"]["200"]["content"]["text/event-stream"] = {
    "schema": {"type": "string"},
    "example": EXAMPLE,
}
