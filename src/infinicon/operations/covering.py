"""Where known secrets stand in a text: every character that any of them covers, in time linear in the text.

Aho–Corasick gives matches that don't overlap, the leftmost and of those the longest. Any other occurrence begins inside one of these: one
that began elsewhere would have been given itself. It matters only if it also ends beyond its match. What the match and it have in common
is then an end of the one secret and a beginning of another, and a secret has few of those: only there is a longest occurrence looked up.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ahocorasick_rs import AhoCorasick, MatchKind

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Cover:
    """Characters [start, end) of a text, and the longest value that was found in them."""

    start: int
    end: int
    value: str


class Covering:
    """Finds values in a text. Immutable, safe to share between threads."""

    def __init__(self, values: Sequence[str]) -> None:
        self._values = sorted(values)
        self._longest = max(map(len, self._values))
        self._automaton = AhoCorasick(self._values, matchkind=MatchKind.LeftmostLongest, store_patterns=False)
        self._beginnings = lru_cache(maxsize=1024)(self._beginnings_in)
        self._shorter = _prefixes(self._values)

    def find(self, text: str) -> list[Cover]:
        """From left to right, and no two that overlap: what overlaps is one cover. What only touches is not."""
        # Code points that UTF-8 does not know are looked at as others of the same length.
        searched = text if text.isascii() else _SURROGATE.sub("\ufffd", text)
        found = [
            Cover(start, end, self._values[number])
            for number, start, end in self._automaton.find_matches_as_indexes(searched)
        ]
        return _united([*found, *self._across(searched, found)])

    def _across(self, text: str, found: Sequence[Cover]) -> list[Cover]:
        """Occurrences that begin inside one of these and end beyond it."""
        across: list[Cover] = []
        for one, solid in zip(found, _solid(found), strict=True):
            crossed = False
            for start in self._beginnings(one.value):
                if crossed and one.start + start + self._longest <= solid:
                    continue  # whatever begins here: it is covered already
                other = self._at(text, one.start + start)
                if other is not None and other.end > one.end:
                    across.append(other)
                    crossed = True
        return across

    def _beginnings_in(self, value: str) -> list[int]:
        """Where in the value, after its first character, another one may begin that does not end in it."""
        starts = []
        for start in range(1, len(value)):
            rest = value[start:]
            after = bisect_left(self._values, rest)
            if after < len(self._values) and self._values[after].startswith(rest):
                starts.append(start)
        return starts

    def _at(self, text: str, start: int) -> Cover | None:
        """The longest value that begins there."""
        piece = text[start : start + self._longest]
        at = bisect_right(self._values, piece) - 1
        # All values that begin the piece come before it, and so does the nearest before it begin with each of them.
        while at >= 0 and not piece.startswith(self._values[at]):
            at = self._shorter[at]
        return None if at < 0 else Cover(start, start + len(self._values[at]), self._values[at])


def _prefixes(values: Sequence[str]) -> list[int]:
    """For each of the sorted values the longest other one that it begins with, by number; -1 where there is none."""
    shorter = [-1] * min(1, len(values))
    for before, value in enumerate(values[1:]):
        at = before
        while at >= 0 and not value.startswith(values[at]):
            at = shorter[at]
        shorter.append(at)
    return shorter


def _solid(found: Sequence[Cover]) -> list[int]:
    """For each the end of the row of covers that touch, beginning with it."""
    ends: list[int] = [found[-1].end] if found else []
    for one, following in reversed(list(pairwise(found))):
        ends.append(ends[-1] if one.end == following.start else one.end)
    return ends[::-1]


def _united(covers: Sequence[Cover]) -> list[Cover]:
    united: list[Cover] = []
    for one in sorted(covers, key=lambda cover: cover.start):
        if not united or one.start >= united[-1].end:
            united.append(one)
            continue
        last = united[-1]
        value = one.value if len(one.value) > len(last.value) else last.value
        united[-1] = Cover(last.start, max(last.end, one.end), value)
    return united
