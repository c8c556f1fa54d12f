from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from starlette.datastructures import QueryParams

from infinicon.api import limits
from infinicon.api.wire import events as wire
from infinicon.domain import MEMORY_EVENTS, EventType, Scope, SubscribeRequest
from infinicon.errors import InvalidRequest, Unauthorized
from tests.unit.api.samples import EVENT, EVENT_PAGE

SCOPE = {"tenantId": "acme", "namespaceId": "notes"}


def parse(**members: object) -> SubscribeRequest:
    return wire.parse(json.dumps({"scope": SCOPE, **members}).encode())


def parse_query(text: str, last_event_id: str | None = None) -> SubscribeRequest:
    return wire.parse_parameters(QueryParams("tenantId=acme&namespaceId=notes" + text), last_event_id)


def test_the_contract_has_nine_types_and_they_are_what_is_asked_for_where_none_is() -> None:
    assert [kind.value for kind in MEMORY_EVENTS] == list(get_args(wire.MemoryEventType))
    assert len(MEMORY_EVENTS) == 9
    assert parse() == parse_query("") == SubscribeRequest(Scope("acme", "notes"), MEMORY_EVENTS, None, 100)


def test_body_and_parameters_say_the_same() -> None:
    body = parse(eventTypes=["memory.indexed", "atom.extracted"], cursor="c", consistency="strong", limit=7)
    query = "&eventTypes=memory.indexed,atom.extracted&cursor=c&consistency=strong&limit=7"

    assert body == parse_query(query)
    assert body == parse_query("&eventTypes=memory.indexed&eventTypes=atom.extracted&cursor=c&limit=7")
    assert body.types == (EventType.MEMORY_INDEXED, EventType.ATOM_EXTRACTED)
    assert (body.cursor, body.limit) == ("c", 7)


def test_the_last_event_goes_before_the_cursor_of_the_beginning() -> None:
    assert parse_query("&cursor=old", "new").cursor == "new"
    assert parse_query("&cursor=old", "").cursor == "old"


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"eventTypes": []}, "eventTypes"),
        ({"eventTypes": ["memory.indexed", "policy.changed"]}, "eventTypes.1"),
        ({"eventTypes": "memory.indexed"}, "eventTypes"),
        ({"eventTypes": ["memory.indexed"] * 65}, "eventTypes"),
        ({"cursor": 5}, "cursor"),
        ({"consistency": "indexed"}, "consistency"),
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"limit": "5"}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"scope": {"tenantId": "acme"}}, "scope.namespaceId"),
        ({"scope": None}, "scope"),
    ],
    ids=str,
)
def test_what_breaks_a_rule_is_named(members: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(**members)

    assert caught.value.details["field"] == field
    assert "policy" not in caught.value.message


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("&eventTypes=", "eventTypes.0"),
        ("&eventTypes=memory.indexed,", "eventTypes.1"),
        ("&eventTypes=policy.changed", "eventTypes.0"),
        ("&consistency=never", "consistency"),
        ("&limit=0", "limit"),
        ("&limit=1001", "limit"),
        ("&limit=x", "limit"),
        ("&filters={}", "filters"),
        ("&agentId=", "agentId"),
    ],
)
def test_parameters_are_checked_by_the_same_rules(query: str, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_query(query)

    assert caught.value.details["field"] == field


def test_null_means_absent() -> None:
    assert parse(eventTypes=None, cursor=None, consistency=None) == parse()


def test_a_page_is_told_in_full() -> None:
    first, second = wire.to_wire(EVENT_PAGE)["events"]

    bare = {name: part for name, part in first["scope"].items() if name != "filters"}
    assert first == {
        "type": "memory.indexed",
        "scope": {
            "tenantId": "acme",
            "namespaceId": "notes",
            "agentId": "agent-1",
            "sessionId": "session-1",
            "filters": {"project": "apollo"},
        },
        "cursor": "cursor-1",
        "occurredAt": "2026-11-30T10:00:00.120000Z",
        "ref": {"id": "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3e", "type": "atom", "scope": bare},
        "jobId": "00000000-0000-0000-0000-000000000009",
    }
    assert second.keys() == {"type", "scope", "cursor", "occurredAt"}
    assert wire.to_wire(EVENT_PAGE).keys() == {"events", "nextCursor", "hasMore"}


def test_frames_are_what_readers_of_event_streams_take() -> None:
    head, kind, data, *rest = wire.event_frame(EVENT).decode().split("\n")

    assert (head, kind, rest) == ("id: cursor-1", "event: memory.indexed", ["", ""])
    assert json.loads(data.removeprefix("data: ")) == wire.event_to_wire(EVENT)
    assert wire.cursor_frame("c").decode().splitlines()[1:] == ["id: c", ""]
    assert b"event: error\ndata: {" in wire.fault_frame(Unauthorized("no", authenticated=True))


def test_a_heartbeat_comes_in_time() -> None:
    assert limits.HEARTBEAT_SECONDS <= 15
