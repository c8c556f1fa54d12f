from __future__ import annotations

from typing import Any

import pytest

from infinicon.api.wire.filters import MemoryFilters
from infinicon.api.wire.validate import check
from infinicon.cli.faults import WrongUsage
from infinicon.cli.filtering import filters

NOTHING: dict[str, Any] = {
    "types": (),
    "tags": (),
    "metadata": (),
    "after": None,
    "before": None,
    "disputed": False,
    "superseded": False,
}


def asked(**options: Any) -> dict[str, Any]:
    """Filters that the API takes, too."""
    found = filters(**{**NOTHING, **options})
    check(MemoryFilters, found)
    return found


def test_what_is_not_asked_for_is_not_there() -> None:
    assert asked() == {}


def test_all_there_is() -> None:
    assert asked(
        types=["atom", "episode"],
        tags=["a", "b"],
        metadata=["project=apollo"],
        after="2026-05-01",
        before="2026-05-02T10:00:00+02:00",
        disputed=True,
        superseded=True,
    ) == {
        "types": ["atom", "episode"],
        "tags": ["a", "b"],
        "metadata": {"project": "apollo"},
        "createdAfter": "2026-05-01T00:00:00+00:00",
        "createdBefore": "2026-05-02T10:00:00+02:00",
        "includeDisputed": True,
        "includeSuperseded": True,
    }


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("n=1", 1),
        ('n="1"', "1"),
        ("n=true", True),
        ("n=null", None),
        ("n=[1]", [1]),
        ('n={"a": 1}', {"a": 1}),
        ("n=", ""),
        ("n=a=b", "a=b"),
        ("n=blue tag", "blue tag"),
        ("n=NaN", "NaN"),
    ],
)
def test_values_of_metadata_are_json_or_else_text(pair: str, value: object) -> None:
    assert asked(metadata=[pair]) == {"metadata": {"n": value}}


@pytest.mark.parametrize(
    "options",
    [
        {"types": ["link"]},
        {"types": [""]},
        {"metadata": ["n"]},
        {"metadata": ["=1"]},
        {"after": "soon"},
        {"before": ""},
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_wrong_usage(options: dict[str, Any]) -> None:
    with pytest.raises(WrongUsage):
        asked(**options)
