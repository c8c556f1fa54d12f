from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinicon.api.wire.shared import (
    Scope,
    parse_time,
    ref_to_wire,
    scope_of,
    scope_to_wire,
    time_to_wire,
    warnings_to_wire,
)
from infinicon.api.wire.validate import check
from infinicon.errors import InvalidRequest
from tests.unit.api.samples import EPISODE, WARNING


@pytest.mark.parametrize(
    ("sent", "utc"),
    [
        ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z"),
        ("2026-11-30t10:00:00z", "2026-11-30T10:00:00Z"),
        ("2026-11-30T10:00:00+09:00", "2026-11-30T01:00:00Z"),
        ("2026-11-30T10:00:00.5-00:30", "2026-11-30T10:30:00.500000Z"),
        ("2026-11-30T10:00:00.123456789Z", "2026-11-30T10:00:00.123456Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_times_are_read_and_written_in_utc(sent: str, utc: str) -> None:
    assert time_to_wire(parse_time(sent)) == utc


@pytest.mark.parametrize(
    "sent",
    [
        "2026-11-30T10:00:00",
        "2026-11-30 10:00:00Z",
        "2026-11-30",
        "2026-02-30T10:00:00Z",
        "2026-11-30T25:00:00Z",
        "2026-11-30T10:00:00+24:00",
        "0001-01-01T00:00:00+09:00",
        "9999-12-31T23:59:59-01:00",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "٢٠٢٦-11-30T10:00:00Z",
        "2026-11-30T10:00:00Z\n",
        1764496800,
        None,
        True,
    ],
)
def test_other_times_are_refused(sent: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_time(sent)


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_time_survives_the_wire(moment: datetime) -> None:
    assert parse_time(time_to_wire(moment)) == moment


@pytest.mark.parametrize("name", ["a", "x" * 256, "名前空間", "a b", "émile", "👨‍👩‍👧", "../x"])
def test_names_that_are_taken(name: str) -> None:
    scope = check(Scope, {"tenantId": name, "namespaceId": name, "agentId": None})

    assert scope_to_wire(scope_of(scope)) == {"tenantId": name, "namespaceId": name}


@pytest.mark.parametrize(
    "name", ["", " ", "\u3000", "x" * 257, "x" * 5000, "a\n", "a\x00b", "\x85", "\ud800", 5, None, ["a"], True]
)
@pytest.mark.parametrize("field", ["tenantId", "namespaceId", "agentId", "sessionId"])
def test_names_that_are_refused(field: str, name: object) -> None:
    if name is None and field in {"agentId", "sessionId"}:
        return  # absent
    with pytest.raises(InvalidRequest) as caught:
        check(Scope, {"tenantId": "t", "namespaceId": "n", field: name})

    assert caught.value.details["field"] == field


@pytest.mark.parametrize("filters", [{}, {"project": ["apollo", None]}])
def test_scope_filters_are_kept(filters: dict[str, object]) -> None:
    scope = scope_of(check(Scope, {"tenantId": "t", "namespaceId": "n", "filters": filters}))

    assert scope.filters == filters
    assert scope_to_wire(scope)["filters"] == filters


@pytest.mark.parametrize("filters", [[], "x", {"a": "\x00"}, {"\ud800": 1}, {"a": "x" * 16_400}])
def test_scope_filters_that_are_refused(filters: object) -> None:
    with pytest.raises(InvalidRequest):
        check(Scope, {"tenantId": "t", "namespaceId": "n", "filters": filters})


def test_a_ref_carries_its_scope_without_filters() -> None:
    assert ref_to_wire(EPISODE) == {
        "id": str(EPISODE.id),
        "type": "episode",
        "scope": {
            "tenantId": "acme",
            "namespaceId": "notes",
            "agentId": "agent-1",
            "sessionId": "session-1",
        },
    }


def test_no_warnings_are_no_field() -> None:
    assert warnings_to_wire([]) is None
    assert warnings_to_wire([WARNING]) == [
        {"code": "tombstoned", "message": "this episode was deleted", "refs": [ref_to_wire(EPISODE)]}
    ]
