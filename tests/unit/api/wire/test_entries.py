from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from infinicon.api.wire import entries as wire
from infinicon.domain import ContextWarning, Entry, ListReply, ListRequest, PutReply, Rank
from infinicon.errors import InvalidRequest, TooLarge

ID = UUID("019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d")
MADE = datetime(2026, 3, 14, 9, 26, 53, 589793, tzinfo=UTC)

WRONG_NUMBERS = [-1, -0.5, 1.5, 5.0, True, False, "5", None, 1e308, 2**53, 2**53 + 1, 10**400, [1], {}]
BAD_REFS = ["", " ", "\t", "a\x00b", "a\nb", "\ud800", "x" * 257, "x" * 513, None, 5, True, ["notes"], {"a": 1}]
GOOD_REFS = ["notes", "../x", "mem:agent-7", "a/b\\c//d", "x" * 256, "<|endoftext|>", "👩‍👩‍👧‍👦"]


def parse(**fields: object) -> ListRequest:
    return wire.parse_list(json.dumps({"memoryRef": "notes", **fields}).encode())


def refused(**fields: object) -> object:
    with pytest.raises(InvalidRequest) as caught:
        parse(**fields)
    return caught.value.details["field"]


def test_defaults() -> None:
    assert parse() == ListRequest("notes")
    assert parse(tag=None, rank=None, query=None) == ListRequest("notes")


@pytest.mark.parametrize("number", WRONG_NUMBERS, ids=repr)
@pytest.mark.parametrize("field", ["tokenBudget", "limit"])
def test_numbers_that_are_none(field: str, number: object) -> None:
    if isinstance(number, int) and number > 2**63:
        raw = b'{"memoryRef": "notes", "%s": %s}' % (field.encode(), str(number).encode())
        with pytest.raises(InvalidRequest):
            wire.parse_list(raw)
    else:
        assert refused(**{field: number}) == field


@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"01", b"+1", b"0x10"])
def test_numbers_that_are_no_json(literal: bytes) -> None:
    with pytest.raises(InvalidRequest):
        wire.parse_list(b'{"memoryRef": "notes", "tokenBudget": ' + literal + b"}")


@pytest.mark.parametrize("number", [0, 1, 800, 2**53 - 1])
def test_numbers_that_are_taken(number: int) -> None:
    assert parse(tokenBudget=number).token_budget == number
    assert parse(limit=number).limit == number


@pytest.mark.parametrize("rank", ["foo", "RECENCY", "", " recency", 1, True, ["recency"]])
def test_unknown_ranks(rank: object) -> None:
    assert refused(rank=rank) == "rank"


@pytest.mark.parametrize("query", [None, "", " ", "\n\t\u3000", "absent"])
def test_relevance_needs_something_to_be_about(query: str | None) -> None:
    fields = {} if query == "absent" else {"query": query}

    assert refused(rank="relevance", **fields) == "query"


@pytest.mark.parametrize("query", ["x" * 8193, "a\x00", "\ud800", 5])
def test_queries_that_are_refused(query: object) -> None:
    assert refused(rank="relevance", query=query) == refused(query=query) == "query"


def test_relevance_and_all_the_rest_together() -> None:
    asked = parse(rank="relevance", query="refund policy", tokenBudget=800, limit=5, tag="policy")

    assert asked == ListRequest("notes", 5, "policy", 800, Rank.RELEVANCE, "refund policy")


def test_a_query_without_relevance_is_ignored() -> None:
    assert parse(query="refund policy").rank is Rank.RECENCY
    assert parse(query=" ").rank is Rank.RECENCY


@pytest.mark.parametrize("tag", [5, ["a"], "a\x00b", "\ud800"])
def test_tags_that_are_refused(tag: object) -> None:
    assert refused(tag=tag) == "tag"


@pytest.mark.parametrize("ref", BAD_REFS, ids=repr)
def test_a_ref_that_cannot_be_anybodys_is_taken_for_nothing(ref: object) -> None:
    assert parse(memoryRef=ref).memory_ref is None


@pytest.mark.parametrize("ref", GOOD_REFS)
def test_refs_that_can_be_somebodys(ref: str) -> None:
    assert parse(memoryRef=ref).memory_ref == ref


def test_a_ref_must_be_there() -> None:
    for missing in (lambda: wire.parse_list(b"{}"), lambda: wire.list_parameters({}), lambda: wire.ref_parameter({})):
        with pytest.raises(InvalidRequest) as caught:
            missing()
        assert caught.value.details["field"] == "memoryRef"


def test_parameters_are_the_same_request() -> None:
    sent = {"memoryRef": "notes", "limit": "5", "tag": "a b", "tokenBudget": "0", "rank": "relevance", "query": "x"}

    assert wire.list_parameters(sent) == ListRequest("notes", 5, "a b", 0, Rank.RELEVANCE, "x")
    assert wire.list_parameters({"memoryRef": "notes"}) == ListRequest("notes")


@pytest.mark.parametrize(
    "text", ["", " ", "-1", "+1", "1.0", "1e3", "NaN", "null", "true", "٥", "5 ", "0x5", "9007199254740992", "9" * 17]
)
@pytest.mark.parametrize("field", ["tokenBudget", "limit"])
def test_parameters_that_are_no_whole_numbers(field: str, text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.list_parameters({"memoryRef": "notes", field: text})

    assert caught.value.details["field"] == field


@pytest.mark.parametrize("rank", ["", "RECENCY", "relevance"])
def test_parameters_rank_by_the_same_rules(rank: str) -> None:
    with pytest.raises(InvalidRequest):
        wire.list_parameters({"memoryRef": "notes", "rank": rank})


def put(**fields: object) -> object:
    with pytest.raises(InvalidRequest) as caught:
        wire.parse_put(json.dumps({"memoryRef": "notes", "content": "x", **fields}).encode(), None)
    return caught.value.details["field"]


def test_what_is_put() -> None:
    body = json.dumps(
        {"memoryRef": "notes", "content": "", "tags": ["a", "a"], "expiresAt": "2026-03-14T09:26:53Z"}
    ).encode()
    request = wire.parse_put(body, "key-1")

    assert (request.memory_ref, request.content, list(request.tags)) == ("notes", "", ["a", "a"])
    assert request.expires_at == MADE.replace(microsecond=0)
    assert (request.idempotency_key, len(request.body_digest)) == ("key-1", 32)


@pytest.mark.parametrize("ref", BAD_REFS, ids=repr)
def test_nothing_is_put_under_a_ref_that_cannot_be_anybodys(ref: object) -> None:
    assert put(memoryRef=ref) == "memoryRef"


def test_what_is_not_put() -> None:
    for content in ("a\x00", "\ud800", None, 5, ["x"]):
        assert put(content=content) == "content"
    assert put(tags=["\ud800"]) == "tags.0"
    assert put(tags=["x"] * 65) == "tags"
    assert put(expiresAt="soon") == "expiresAt"
    with pytest.raises(TooLarge):
        wire.parse_put(json.dumps({"memoryRef": "notes", "content": "é" * (512 * 1024 + 1)}).encode(), None)
    with pytest.raises(InvalidRequest):
        wire.parse_put(b'{"memoryRef": "notes", "content": "x"}', "a b")


def test_a_put_answers_with_warnings_where_there_are_any() -> None:
    entry = Entry(ID, "The heron flew.", ["birds"], MADE)
    warning = ContextWarning("already_expired", "its time is over")

    assert wire.put_to_wire(PutReply(entry)) == {"entry": wire.entry_to_wire(entry)}
    assert wire.put_to_wire(PutReply(entry, [warning])) == {
        "entry": wire.entry_to_wire(entry),
        "warnings": [{"code": warning.code, "message": warning.message}],
    }


def test_an_entry_has_five_properties_at_most() -> None:
    entry = Entry(ID, "The heron flew.", ["birds"], MADE)
    plain = {"id": str(ID), "content": "The heron flew.", "tags": ["birds"], "createdAt": "2026-03-14T09:26:53.589793Z"}

    assert wire.entry_to_wire(entry) == plain
    assert wire.entry_to_wire(Entry(ID, "", [], MADE, MADE)) == {
        **plain,
        "content": "",
        "tags": [],
        "expiresAt": plain["createdAt"],
    }
    assert wire.get_to_wire(None) == {"entry": None}


def test_an_answer_accounts_for_itself() -> None:
    assert wire.list_to_wire(ListReply([], 0, 0, truncated=False, token_counter="chars")) == {
        "entries": [],
        "tokensUsed": 0,
        "oversizedOmitted": 0,
        "truncated": False,
        "tokenCounter": "chars",
    }
    assert wire.list_to_wire(ListReply([], None, 3, truncated=True, token_counter=None)) == {
        "entries": [],
        "oversizedOmitted": 3,
        "truncated": True,
    }
