from __future__ import annotations

import json

import pytest

from infinicon.api.wire import query as wire
from infinicon.errors import InvalidCursor, InvalidRequest
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


@pytest.mark.parametrize("limit", [0, -1, 1001, 10**30, 1.0, 1.5, True, "5", None, [1]])
def test_limits_that_are_refused(limit: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(limit=limit)

    assert caught.value.details["field"] == "limit"


@pytest.mark.parametrize("limit", [1, 1000])
def test_limits_that_are_taken(limit: int) -> None:
    assert parse(limit=limit).request.limit == limit


@pytest.mark.parametrize("cursor", ["", "zzz"])
def test_every_cursor_is_invalid_so_far(cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        parse(cursor=cursor)


def test_no_filter_is_silently_ignored() -> None:
    assert parse(filters={}).request.query == "gate code"
    for name in ("types", "statuses", "metadata", "tags", "createdAfter", "includeTombstoned"):
        with pytest.raises(InvalidRequest) as caught:
            parse(filters={name: []})
        assert caught.value.details["field"] == f"filters.{name}"


@pytest.mark.parametrize("name", ["tenantId", "scope", "or", "CANARY-77"])
def test_unknown_filters_are_refused_without_repeating_them(name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(filters={name: "t-red"})

    assert caught.value.details == {"field": "filters", "rule": "has an unknown member"}


def test_a_reply_carries_refs_and_no_content() -> None:
    reply = wire.to_wire(QUERY_REPLY)

    assert [hit["ref"]["id"] for hit in reply["refs"]] == [str(ATOM.id), str(EPISODE.id)]
    assert [sorted(hit) for hit in reply["refs"]] == [
        ["reason", "ref", "score", "sources", "warnings"],
        ["reason", "ref", "score"],
    ]
    assert reply["warnings"][0]["code"] == "tombstoned"
