from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from infinicon.api.wire.filters import MemoryFilters, filters_of
from infinicon.api.wire.validate import Body, check
from infinicon.domain import MemoryFilters as Wanted
from infinicon.domain import MemoryType, Status
from infinicon.errors import InvalidRequest


class Request(Body):
    filters: MemoryFilters | None = None


def read(**filters: object) -> Wanted:
    return filters_of(check(Request, {"filters": filters}).filters)


def test_without_filters_active_memories_are_asked_for() -> None:
    assert filters_of(None) == read() == Wanted()
    assert Wanted().statuses == {Status.ACTIVE}
    assert not Wanted().narrow


def test_everything_that_can_be_asked_for() -> None:
    wanted = read(
        types=["atom", "episode", "atom"],
        statuses=["disputed"],
        createdAfter="2026-01-02T03:04:05+02:00",
        createdBefore="2026-02-02T03:04:05Z",
        metadata={"a": {"b": [1, None]}},
        tags=["blue", "red", "blue"],
    )

    assert wanted == Wanted(
        frozenset({MemoryType.ATOM, MemoryType.EPISODE}),
        frozenset({Status.DISPUTED}),
        datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC),
        datetime(2026, 2, 2, 3, 4, 5, tzinfo=UTC),
        {"a": {"b": [1, None]}},
        frozenset({"blue", "red"}),
    )
    assert wanted.narrow


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"includeDisputed": True}, {Status.ACTIVE, Status.DISPUTED}),
        ({"includeSuperseded": True}, {Status.ACTIVE, Status.SUPERSEDED}),
        ({"statuses": ["superseded"], "includeDisputed": True}, {Status.SUPERSEDED, Status.DISPUTED}),
        ({"includeTombstoned": True}, {Status.ACTIVE}),
        ({"statuses": ["tombstoned", "pending", "failed"]}, set()),
        ({"statuses": ["tombstoned", "active"], "includeTombstoned": True}, {Status.ACTIVE}),
    ],
)
def test_states(filters: dict[str, Any], expected: set[Status]) -> None:
    assert read(**filters).statuses == expected


@pytest.mark.parametrize("part", ["types", "createdAfter", "createdBefore", "metadata", "tags"])
def test_each_part_narrows(part: str) -> None:
    values = {"types": ["atom"], "metadata": {}, "tags": ["x"]}

    assert read(**{part: values.get(part, "2026-01-01T00:00:00Z")}).narrow


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        ({"types": []}, "filters.types"),
        ({"statuses": []}, "filters.statuses"),
        ({"tags": []}, "filters.tags"),
        ({"types": ["memory"]}, "filters.types.0"),
        ({"types": "atom"}, "filters.types"),
        ({"types": ["atom"] * 17}, "filters.types"),
        ({"statuses": ["gone"]}, "filters.statuses.0"),
        ({"includeDisputed": 1}, "filters.includeDisputed"),
        ({"includeTombstoned": "yes"}, "filters.includeTombstoned"),
        ({"createdAfter": "2026-01-01T00:00:00"}, "filters.createdAfter"),
        ({"createdBefore": "yesterday"}, "filters.createdBefore"),
        ({"metadata": []}, "filters.metadata"),
        ({"metadata": {"a": "\ud800"}}, "filters.metadata"),
        ({"metadata": {"a\x00": 1}}, "filters.metadata"),
        ({"metadata": {"a": "x" * 17_000}}, "filters.metadata"),
        ({"tags": [""]}, "filters.tags.0"),
        ({"tags": [" "]}, "filters.tags.0"),
        ({"tags": [5]}, "filters.tags.0"),
        ({"tags": ["x"] * 65}, "filters.tags"),
        ({"tags": ["x" * 257]}, "filters.tags.0"),
    ],
    ids=str,
)
def test_what_is_refused(filters: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(**filters)

    assert caught.value.details["field"] == field


@pytest.mark.parametrize("name", ["tenantId", "scope", "or", "not", "created_after", "CANARY-77"])
def test_what_is_not_known_is_refused_without_repeating_it(name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(**{"tags": ["x"], name: "t-red"})

    assert caught.value.details == {"field": "filters", "rule": "has an unknown member"}
    assert name not in caught.value.message.removeprefix("filters has an unknown member")


@pytest.mark.parametrize("value", ["x", [], 5, True])
def test_filters_are_an_object(value: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check(Request, {"filters": value})

    assert caught.value.details["field"] == "filters"
