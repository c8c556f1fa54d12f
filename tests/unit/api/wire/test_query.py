from __future__ import annotations

import json
from dataclasses import replace

import pytest

from infinicon.api.wire import query as wire
from infinicon.domain import MemoryFilters
from infinicon.errors import InvalidRequest
from tests.unit.api.samples import ATOM, EPISODE, QUERY_REPLY

SCOPE = {"tenantId": "acme", "namespaceId": "notes"}


def parse(**fields: object) -> wire.Query:
    return wire.parse(json.dumps({"scope": SCOPE, "query": "gate code", **fields}).encode())


def test_defaults() -> None:
    asked = parse()

    assert asked.request.query == "gate code"
    assert asked.request.limit == 10
    assert not asked.strong
    assert parse(consistency="strong").strong


@pytest.mark.parametrize("query", ["x", " x ", "x" * 8192, "the and of", "<|endoftext|>", "👨‍👩‍👧"])
def test_queries_that_are_taken(query: str) -> None:
    assert parse(query=query).request.query == query


@pytest.mark.parametrize("query", ["", " ", "\n\t\u3000", "x" * 8193, "a\x00", "\ud800", None, 5, ["x"]])
def test_queries_that_are_refused(query: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(query=query)

    assert caught.value.details["field"] == "query"


@pytest.mark.parametrize("limit", [0, -1, 1001, 10**30, 1.0, 1.5, True, "5", [1]])
def test_limits_that_are_refused(limit: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(limit=limit)

    assert caught.value.details["field"] == "limit"


@pytest.mark.parametrize("limit", [1, 1000])
def test_limits_that_are_taken(limit: int) -> None:
    assert parse(limit=limit).request.limit == limit


def test_filters_arrive() -> None:
    assert parse().request.filters == MemoryFilters()
    assert parse(filters={"tags": ["blue"]}).request.filters == MemoryFilters(tags=frozenset({"blue"}))
    with pytest.raises(InvalidRequest) as caught:
        parse(filters={"types": []})
    assert caught.value.details["field"] == "filters.types"


@pytest.mark.parametrize("name", ["tenantId", "scope", "or", "CANARY-77"])
def test_unknown_filters_are_refused_without_repeating_them(name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(filters={name: "t-red"})

    assert caught.value.details == {"field": "filters", "rule": "has an unknown member"}


def test_a_cursor_arrives_as_it_was_sent() -> None:
    assert parse().request.cursor is None
    assert parse(cursor="zzz").request.cursor == "zzz"
    assert parse(cursor="").request.cursor == ""
    with pytest.raises(InvalidRequest):
        parse(cursor=5)


def test_the_last_page_has_no_cursor() -> None:
    assert "cursor" not in wire.to_wire(replace(QUERY_REPLY, cursor=None))
    assert wire.to_wire(QUERY_REPLY)["cursor"] == "cursor-2"


def test_a_reply_carries_refs_and_no_content() -> None:
    reply = wire.to_wire(QUERY_REPLY)

    assert [hit["ref"]["id"] for hit in reply["refs"]] == [str(ATOM.id), str(EPISODE.id)]
    assert [sorted(hit) for hit in reply["refs"]] == [
        ["reason", "ref", "score", "sources", "warnings"],
        ["reason", "ref", "score"],
    ]
    assert reply["warnings"][0]["code"] == "tombstoned"
