"""subscribe: events from a cursor on, as a page or as a stream."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from starlette.datastructures import QueryParams

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire import parameters
from infinicon.api.wire.shared import (
    ContextWarning,
    JsonObject,
    MemoryRef,
    Scope,
    Time,
    present,
    ref_to_wire,
    scope_of,
    scope_to_wire,
    time_to_wire,
)
from infinicon.api.wire.validate import Body, check
from infinicon.errors import InfiniconError

MemoryEventType = Literal[
    "episode.ingested",
    "atom.extracted",
    "memory.indexed",
    "consolidation.started",
    "consolidation.completed",
    "consolidation.failed",
    "memory.disputed",
    "memory.superseded",
    "memory.tombstoned",
]


class Wanted(Body):
    """Which events, beside the scope."""

    event_types: Annotated[list[MemoryEventType], Field(min_length=1, max_length=limits.EVENT_TYPES)] | None = None
    """All of them where this is absent."""
    cursor: str | None = None
    """Events after this one: `nextCursor` of a page, or the cursor of an event. Absent: from the oldest event that is kept."""
    consistency: Literal["strong", "eventual"] = "eventual"
    """Both are the same: events come in the order of commits and without a gap."""


class SubscribeRequest(Wanted):
    scope: Scope
    limit: Annotated[int, Field(ge=1, le=limits.EVENTS)] = limits.EVENTS_DEFAULT


class MemoryEvent(Body):
    """What happened, by ids and never with content. Delivery is at least once; the cursor names the event."""

    type: MemoryEventType
    scope: Scope
    """Of the memory."""
    cursor: str
    occurred_at: Time
    ref: MemoryRef | SkipJsonSchema[None] = None
    job_id: str | SkipJsonSchema[None] = None
    warnings: list[ContextWarning] | SkipJsonSchema[None] = None
    metadata: JsonObject | SkipJsonSchema[None] = None


class SubscribeReply(Body):
    events: list[MemoryEvent]
    """In the order of commits."""
    next_cursor: str
    """Behind all that was looked at, also what was not asked for, and also where there is no event."""
    has_more: bool
    """Whether the feed already goes on behind `nextCursor`: ask again at once. Otherwise wait a moment."""


def parse(body: bytes) -> domain.SubscribeRequest:
    """Read a request. Raises InvalidRequest."""
    sent = check(SubscribeRequest, strict_json.loads(body))
    return _request(scope_of(sent.scope), sent, sent.limit)


def parse_parameters(sent: QueryParams, last_event_id: str | None) -> domain.SubscribeRequest:
    """The same from query parameters; `eventTypes` are separated by commas.

    A reader that comes back names the last event it has in Last-Event-ID, which is newer than the cursor it began with.

    Raises:
        InvalidRequest: naming the parameter.
    """
    scope = parameters.scope(sent)
    limit = parameters.limit(sent, usual=limits.EVENTS_DEFAULT, most=limits.EVENTS)
    wanted: dict[str, Any] = {"cursor": last_event_id or parameters.cursor(sent)}
    if "consistency" in sent:
        wanted["consistency"] = sent["consistency"]
    if "eventTypes" in sent:
        wanted["eventTypes"] = ",".join(sent.getlist("eventTypes")).split(",")
    return _request(scope, check(Wanted, wanted, "parameters"), limit)


def _request(scope: domain.Scope, wanted: Wanted, limit: int) -> domain.SubscribeRequest:
    types = domain.MEMORY_EVENTS if wanted.event_types is None else tuple(map(domain.EventType, wanted.event_types))
    return domain.SubscribeRequest(scope, types, wanted.cursor, limit)


def to_wire(page: domain.EventPage) -> dict[str, Any]:
    return {
        "events": [event_to_wire(event) for event in page.events],
        "nextCursor": page.next_cursor,
        "hasMore": page.more,
    }


def event_to_wire(event: domain.MemoryEvent) -> dict[str, Any]:
    return present(
        type=event.type.value,
        scope=scope_to_wire(event.scope),
        cursor=event.cursor,
        occurredAt=time_to_wire(event.occurred_at),
        ref=None if event.ref is None else ref_to_wire(event.ref),
        jobId=None if event.job is None else str(event.job),
    )


def event_frame(event: domain.MemoryEvent) -> bytes:
    """One event of a stream (WHATWG HTML, 9.2). JSON has no raw line breaks, so it is one line of data."""
    head = f"id: {event.cursor}\nevent: {event.type.value}\ndata: ".encode()
    return head + strict_json.dumps(event_to_wire(event)) + b"\n\n"


def cursor_frame(cursor: str) -> bytes:
    """A comment that keeps the connection alive. The id without data moves the reader's Last-Event-ID and shows it nothing."""
    return f": still here\nid: {cursor}\n\n".encode()


def fault_frame(fault: InfiniconError) -> bytes:
    """Why a stream ends that could not be served on."""
    return b"event: error\ndata: " + strict_json.dumps(fault.to_wire()) + b"\n\n"
