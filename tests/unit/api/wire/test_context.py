"""assembleContext on the wire."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from infinicon.api.wire import context as wire
from infinicon.domain import MemoryFilters, Status
from infinicon.errors import InvalidRequest
from tests.unit.api.samples import ATOM, CONTEXT, EPISODE

SCOPE = {"tenantId": "acme", "namespaceId": "notes"}


def ref(of: str, kind: str = "atom") -> dict[str, Any]:
    return {"id": of, "type": kind, "scope": SCOPE}


def parse(**fields: Any) -> wire.Assemble:
    body = {"scope": SCOPE, "task": "Open the gate.", "budget": {"maxTokens": 100}, **fields}
    return wire.parse(json.dumps(body).encode())


def field_of(**fields: Any) -> object:
    with pytest.raises(InvalidRequest) as refused:
        parse(**fields)
    return refused.value.details["field"]


def test_defaults() -> None:
    asked = parse()

    assert asked.request.task == "Open the gate."
    assert asked.request.budget.tokenizer == "o200k_base"
    assert asked.request.budget.reserved_tokens == 0
    assert asked.request.budget.max_segments is None
    assert asked.request.filters == MemoryFilters()
    assert not asked.strong
    assert not asked.text
    assert parse(consistency="strong").strong
    assert parse(format="text").text


@pytest.mark.parametrize("tokens", [0, -1, 1.5, 1.0, True, "5", None, 2**53, 1e308])
def test_budgets_that_are_refused(tokens: object) -> None:
    assert field_of(budget={"maxTokens": tokens}) == "budget.maxTokens"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("maxSegments", 0),
        ("maxSegments", 1.5),
        ("reservedTokens", -1),
        ("reservedTokens", "1"),
        ("tokenizer", ""),
        ("tokenizer", 5),
    ],
)
def test_parts_of_a_budget_that_are_refused(field: str, value: object) -> None:
    assert field_of(budget={"maxTokens": 100, field: value}) == f"budget.{field}"


@pytest.mark.parametrize("reserved", [100, 101])
def test_what_is_reserved_leaves_something(reserved: int) -> None:
    assert field_of(budget={"maxTokens": 100, "reservedTokens": reserved}) == "budget.reservedTokens"
    assert parse(budget={"maxTokens": 100, "reservedTokens": 99}).request.budget.reserved_tokens == 99


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"task": " \n"}, "task"),
        ({"task": "x" * 8193}, "task"),
        ({"task": "a\x00"}, "task"),
        ({"format": "html"}, "format"),
        ({"consistency": "indexed"}, "consistency"),
        ({"filters": {"types": []}}, "filters.types"),
        ({"filters": {"kinds": ["atom"]}}, "filters"),
        ({"constraints": {"maxSegments": 0}}, "constraints.maxSegments"),
        ({"constraints": {"includeDisputed": 1}}, "constraints.includeDisputed"),
        ({"constraints": {"mustIncludeRefs": [{"id": "x"}]}}, "constraints.mustIncludeRefs.0.type"),
        ({"constraints": {"excludedRefs": [ref("x")] * 1001}}, "constraints.excludedRefs"),
    ],
)
def test_other_requests_that_are_refused(fields: dict[str, Any], field: str) -> None:
    assert field_of(**fields) == field


def test_a_ref_that_is_required_and_excluded_is_a_contradiction() -> None:
    one = ref(str(ATOM.id))

    assert field_of(constraints={"mustIncludeRefs": [one], "excludedRefs": [one]}) == "constraints.excludedRefs"


def test_constraints_arrive() -> None:
    asked = parse(
        constraints={
            "mustIncludeRefs": [ref(str(ATOM.id))],
            "excludedRefs": [ref(str(EPISODE.id), "episode")],
            "includeDisputed": True,
            "includeSuperseded": True,
            "allowStale": True,
            "preferRecency": True,
            "preferHighConfidence": True,
            "maxSegments": 7,
        },
        filters={"includeDisputed": True},
    ).request

    constraints = asked.constraints
    assert [one.id for one in constraints.must_include] == [ATOM.id]
    assert [one.id for one in constraints.excluded] == [EPISODE.id]
    assert constraints.include_disputed
    assert constraints.include_superseded
    assert constraints.allow_stale
    assert constraints.prefer_recency
    assert constraints.prefer_high_confidence
    assert constraints.max_segments == 7
    assert asked.filters.statuses == {Status.ACTIVE, Status.DISPUTED}


def test_every_field_of_a_context_goes_out() -> None:
    asked = parse()
    context = wire.to_wire(asked, CONTEXT)["context"]

    assert context.keys() == {
        "scope",
        "task",
        "budget",
        "segments",
        "tokenEstimate",
        "truncated",
        "warnings",
        "generatedAt",
        "tokenizer",
    }
    first, second = context["segments"]
    assert first.keys() == {"ref", "content", "score", "reason", "provenance", "who", "when", "tokens"}
    assert second.keys() == {"ref", "content", "score", "provenance", "when", "tokens"}
    assert first["provenance"]["sourceRefs"][0]["span"] == {"start": 3, "end": 9, "path": "/0/text"}
    assert context["warnings"][0]["metadata"] == {"reason": "stale"}
    assert context["tokenizer"] == context["budget"]["tokenizer"] == "o200k_base"


def test_text_is_there_where_it_was_asked_for() -> None:
    assert "text" not in wire.to_wire(parse(), CONTEXT)
    assert wire.to_wire(parse(format="text"), CONTEXT)["text"] == "".join(one.unit for one in CONTEXT.segments)


def test_an_empty_context_has_all_its_arrays() -> None:
    empty = replace(CONTEXT, segments=[], token_estimate=0, warnings=[])
    reply = wire.to_wire(parse(format="text"), empty)

    assert reply["text"] == ""
    assert reply["context"]["segments"] == []
    assert reply["context"]["warnings"] == []
    assert reply["context"]["tokenEstimate"] == 0


@pytest.mark.parametrize("malformed", ["x", "019A5B5E-7A3C-7CC2-9D8E-2F1F0A1B2C3E", "", "019a5b5e"])
def test_a_ref_that_cannot_exist_is_as_unknown_as_any_other(malformed: str) -> None:
    asked = parse(constraints={"mustIncludeRefs": [ref(malformed), ref(str(ATOM.id))]})
    assert [one.id for one in asked.request.constraints.must_include] == [ATOM.id]

    alone = wire.to_wire(asked, replace(CONTEXT, warnings=[]))["context"]["warnings"]
    assert [(one["code"], one["metadata"]) for one in alone] == [("required_ref_omitted", {"reason": "not_found"})]
    assert [one["id"] for one in alone[0]["refs"]] == [malformed]

    unknown = replace(CONTEXT.warnings[0], metadata={"reason": "not_found"}, refs=[ATOM])
    together = wire.to_wire(asked, replace(CONTEXT, warnings=[unknown]))["context"]["warnings"]
    assert [one["id"] for one in together[0]["refs"]] == [str(ATOM.id), malformed]
    assert len(together) == 1
