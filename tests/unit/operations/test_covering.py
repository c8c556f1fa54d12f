"""Covering: every character of every occurrence, and no other."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from infinicon.operations.covering import Cover, Covering

VALUES = st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=8, unique=True)


def occurrences(values: list[str], text: str) -> list[tuple[int, int]]:
    """By looking everywhere."""
    return [
        (start, start + len(value)) for value in values for start in range(len(text)) if text.startswith(value, start)
    ]


@given(VALUES, st.lists(st.text("abc", max_size=5), max_size=6), st.randoms())
def test_all_that_any_value_covers_is_found_and_nothing_else(
    values: list[str], words: list[str], random: Random
) -> None:
    parts = [*words, *values, *values]
    random.shuffle(parts)
    text = "".join(parts)
    covers = Covering(values).find(text)
    assert {at for one in covers for at in range(one.start, one.end)} == {
        at for start, end in occurrences(values, text) for at in range(start, end)
    }
    assert all(one.end <= other.start for one, other in pairwise(covers))
    assert all(one.value in text[one.start : one.end] for one in covers)


def test_what_overlaps_is_one_cover_by_the_longest_and_what_touches_is_not() -> None:
    values = ["abcdefgh", "ghijklmnopq", "pqrstuvw"]
    assert Covering(values).find("-abcdefghijklmnopqrstuvw-pqrstuvwpqrstuvw") == [
        Cover(1, 24, "ghijklmnopq"),
        Cover(25, 33, "pqrstuvw"),
        Cover(33, 41, "pqrstuvw"),
    ]


def test_one_that_begins_in_a_first_match_and_goes_on_beyond_a_second_is_found() -> None:
    assert Covering(["0123456789", "abcdefgh", "56789abcdefghxyz"]).find("0123456789abcdefghxyz") == [
        Cover(0, 21, "56789abcdefghxyz")
    ]


def test_windows_of_one_text_cover_all_of_it() -> None:
    text = "".join(Random(7).choices("abcdefghij", k=400))
    values = [text[start : start + 50] for start in range(len(text) - 49)]
    assert [(one.start, one.end) for one in Covering(values).find(f"..{text}..")] == [(2, 402)]
