from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from infinicon.api import openapi
from infinicon.api.wire.entries import ListRequest
from infinicon.api.wire.filters import MemoryFilters
from infinicon.api.wire.hydrate import HydrateRequest
from infinicon.api.wire.ingest import IngestEpisode, IngestRequest
from infinicon.api.wire.jobs import GetJobRequest
from infinicon.api.wire.policy import EraseRequest
from infinicon.api.wire.query import QueryRequest
from infinicon.api.wire.validate import Body, check, is_storable, storable_size
from infinicon.errors import InvalidRequest

CANARY = "CANARY-77"
LEAVES: st.SearchStrategy[object] = st.sampled_from(
    [CANARY, CANARY * 2000, f"\x00{CANARY}", f"{CANARY}\ud800", 77, -1, 0.5, True, None, [], {}]
)
FIELDS = [
    "scope",
    "tenantId",
    "namespaceId",
    "episodes",
    "consistency",
    "lane",
    "label",
    "query",
    "limit",
    "refs",
    "id",
    "type",
]
FIELDS += [
    "jobId",
    "contentType",
    "content",
    "createdBy",
    "kind",
    "dedupeKey",
    "metadata",
    "tags",
    "occurredAt",
    CANARY,
]
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=8),
)


@given(st.sampled_from([IngestRequest, IngestEpisode, QueryRequest, HydrateRequest, GetJobRequest]), VALUES)
def test_a_refusal_never_repeats_what_was_sent(model: type[Body], value: object) -> None:
    refusal = refusal_of(model, value)

    if refusal is not None:
        assert "CANARY" not in json.dumps(refusal.to_wire())
        assert refusal.details.keys() == {"field", "rule"}


def refusal_of(model: type[Body], value: object) -> InvalidRequest | None:
    try:
        check(model, value)
    except InvalidRequest as fault:
        return fault
    return None


@pytest.mark.parametrize(
    ("value", "field", "rule"),
    [
        ({"query": "x"}, "scope", "is required"),
        ({"scope": 5, "query": "x"}, "scope", "must be an object"),
        ({"scope": {"tenantId": "t"}, "query": "x"}, "scope.namespaceId", "is required"),
        ({"scope": {"tenantId": "", "namespaceId": "n"}, "query": "x"}, "scope.tenantId", "must not be empty"),
        ({"scope": {"tenantId": "t", "namespaceId": "n"}, "query": "x", "limit": 0}, "limit", "must be at least 1"),
        ([], "body", "must be an object"),
    ],
)
def test_a_refusal_names_field_and_rule(value: object, field: str, rule: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check(QueryRequest, value)

    assert caught.value.details == {"field": field, "rule": rule}
    assert caught.value.message == f"{field} {rule}"


@pytest.mark.parametrize("wrong", ["\x00", 5, [], [[]], {}, [{}], {"x": 1}], ids=repr)
def test_a_refusal_names_places_in_what_was_sent_and_no_types_of_ours(wrong: object) -> None:
    assert openapi.DESCRIPTION  # every shape is imported
    names = {field.alias for model in shapes(Body) for field in model.model_fields.values()} | {"body", "0", "x"}
    for model in shapes(Body):
        for field in model.model_fields.values():
            refusal = refusal_of(model, {str(field.alias): wrong})
            assert refusal is None or set(str(refusal.details["field"]).split(".")) <= names


def test_unknown_fields_are_tolerated() -> None:
    scope = {"tenantId": "t", "namespaceId": "n", "colour": 1}

    assert check(QueryRequest, {"scope": scope, "query": "x", "colour": "\ud800"}).query == "x"


@pytest.mark.parametrize("text", ["a\x00", "\ud83d", "\udc00x", "\ude00\ud83d"])
def test_what_postgres_or_utf_8_cannot_carry(text: str) -> None:
    assert not is_storable(text)
    for value in (text, [text], {"a": [{"b": text}]}, {text: 1}):
        assert storable_size(value) is None


@pytest.mark.parametrize("text", ["", "\x01\x1f\x7f", "👨‍👩‍👧", "e\u0301", "\ufffe\ufffd", "\\u0000", '"\\u0000"'])
def test_what_it_can_carry(text: str) -> None:
    assert is_storable(text)
    assert storable_size({text: [text]}) == len(
        json.dumps({text: [text]}, ensure_ascii=False, separators=(",", ":")).encode()
    )


def test_null_is_absent_for_every_field_that_is_not_required() -> None:
    assert openapi.DESCRIPTION  # every shape is imported
    refused = {
        (model, name)
        for model in shapes(Body)
        for name, field in model.model_fields.items()
        if refuses(model, field.alias)
    }

    assert refused == {(ListRequest, "limit"), (ListRequest, "token_budget"), (EraseRequest, "metadata")}
    scope = {"tenantId": "t", "namespaceId": "n"}
    asked = {"scope": scope, "query": "x"}
    absent = check(QueryRequest, asked)
    assert check(QueryRequest, {**asked, "limit": None, "consistency": None, "filters": None, "cursor": None}) == absent
    assert check(QueryRequest, {**asked, "filters": {"includeDisputed": None}}).filters == MemoryFilters()


def shapes(model: type[Body]) -> list[type[Body]]:
    return [found for child in model.__subclasses__() for found in (child, *shapes(child))]


def refuses(model: type[Body], name: str | None) -> bool:
    """Whether a field that may be absent may not be null."""
    field = next(field for field in model.model_fields.values() if field.alias == name)
    try:
        model.model_validate({name: None})
    except ValidationError as fault:
        return not field.is_required() and any(error["loc"][:1] == (name,) for error in fault.errors())
    return False
