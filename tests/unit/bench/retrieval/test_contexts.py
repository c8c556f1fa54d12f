"""From the segments of a context to the messages that it stands for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bench.retrieval.contexts import Covered, covered, moments, quoted
from bench.retrieval.conversations import Unit

UNITS = {"e1": "1", "e2": "2", "e3": "3"}


def segment(kind: str, own: str, *sources: str) -> dict[str, Any]:
    return {"ref": {"id": own, "type": kind}, "provenance": {"sourceRefs": [{"id": source} for source in sources]}}


def test_a_message_counts_by_itself_and_by_an_atom_of_it() -> None:
    segments = [segment("episode", "e1", "e1"), segment("atom", "a1", "e2", "gone")]

    assert covered(segments, UNITS, {}) == Covered(frozenset({"1", "2"}))


def test_a_consolidation_stands_for_what_it_quotes_where_nothing_else_does() -> None:
    segments = [segment("consolidation", "c1", "a7", "a8"), segment("atom", "a1", "e2")]

    found = covered(segments, UNITS, {"c1": frozenset({"2", "3"})})

    assert found == Covered(frozenset({"2", "3"}), by_consolidation=frozenset({"3"}))


def test_a_consolidation_tells_of_its_sources_those_of_which_it_has_a_line() -> None:
    atoms = [
        {"content": text, "provenance": {"sourceRefs": [{"id": source}]}}
        for text, source in (
            ("It is   blue.", "e1"),
            ("Long. It is here. More.", "e2"),
            ("Not told.", "e3"),
            ("It is.", "e4"),
        )
    ]

    assert quoted("ada: It is blue.\nIt is here.\n", atoms, UNITS) == {"1", "2"}


def test_messages_of_a_day_follow_one_another_by_the_minute() -> None:
    days = ("March-15-2024", "March-15-2024", "April-05-2024", "March-15-2024")
    units = [Unit(str(at), "user", "x", day) for at, day in enumerate(days)]

    assert moments(units) == [
        datetime(2024, 3, 15, tzinfo=UTC),
        datetime(2024, 3, 15, 0, 1, tzinfo=UTC),
        datetime(2024, 4, 5, tzinfo=UTC),
        datetime(2024, 3, 15, 0, 2, tzinfo=UTC),
    ]
