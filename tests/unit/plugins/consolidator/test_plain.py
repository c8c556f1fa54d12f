"""Many pairs, kept as text: adverse ones, of which nothing may be retired, and plain changes, most of which must be found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinicon.ports import SourceMemory
from tests.unit.plugins.consolidator.talk import atom, consolidated

FIRST = datetime(2026, 1, 5, 12, tzinfo=UTC)
APART = timedelta(days=4)
LEAST_ADVERSE, LEAST_CHANGED = 150, 40
LEAST_FOUND = 0.9


def _pairs(name: str) -> list[tuple[str, str]]:
    return list(_read(Path(__file__).with_name(name)))


def _read(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            before, after = line.split(" | ")
            yield before, after


def _held(text: str, at: int, when: datetime) -> SourceMemory:
    return replace(atom(text, at), created_at=when, occurred_at=when)


def _retired(before: str, after: str) -> list[str]:
    plan = consolidated([_held(before, 0, FIRST), _held(after, 1, FIRST + APART)])
    return [one.old for one in plan.supersessions] + [one.folded for one in plan.duplicates]


ADVERSE, CHANGED = _pairs("adverse.txt"), _pairs("changed.txt")


@pytest.mark.parametrize(("before", "after"), ADVERSE)
def test_an_adverse_pair_retires_nothing(before: str, after: str) -> None:
    assert _retired(before, after) == []


@pytest.mark.parametrize(("before", "after"), ADVERSE)
def test_nor_does_it_the_other_way_round(before: str, after: str) -> None:
    assert _retired(after, before) == []


def test_most_plain_changes_are_found() -> None:
    found = [pair for pair in CHANGED if _retired(*pair) == ["m0"]]

    assert len(found) >= LEAST_FOUND * len(CHANGED), set(CHANGED) - set(found)


def test_there_are_enough_of_both() -> None:
    assert len(set(ADVERSE)) >= LEAST_ADVERSE
    assert len(set(CHANGED)) >= LEAST_CHANGED


@pytest.mark.parametrize("year", [2027, 2099])
def test_what_is_dated_after_it_was_stored_retires_nothing(year: int) -> None:
    held = _held("The gate code is 4711.", 0, FIRST)
    ahead = replace(_held("The gate code is now 4712.", 1, FIRST + APART), occurred_at=datetime(year, 1, 1, tzinfo=UTC))

    assert not consolidated([held, ahead]).supersessions
