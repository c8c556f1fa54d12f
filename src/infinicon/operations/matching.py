"""Finds any of many byte strings in a long one, in one pass, however many they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

SHORTEST = 8
"""Bytes: of shorter needles there is nothing to look up."""

_FEW = 8
"""Up to so many needles, one search for each is faster."""


class Matcher:
    """Needles of `SHORTEST` bytes at least."""

    def __init__(self, needles: Collection[bytes]) -> None:
        assert all(len(needle) >= SHORTEST for needle in needles)
        self.longest = max(map(len, needles), default=0)
        self._needles = list(dict.fromkeys(needles))
        self._by_start: dict[bytes, list[bytes]] = {}
        for needle in self._needles:
            self._by_start.setdefault(needle[:SHORTEST], []).append(needle)
        self._likely = np.zeros(1 << 20, dtype=bool)
        self._likely[_hashed(np.frombuffer(b"".join(self._by_start), dtype="<u8"))] = True

    def found_in(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """(position, needle) of every occurrence, in no order."""
        return self._one_by_one(data) if len(self._needles) <= _FEW else self._at_once(data)

    def _one_by_one(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        for needle in self._needles:
            at = data.find(needle)
            while at >= 0:
                yield at, needle
                at = data.find(needle, at + 1)

    def _at_once(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        for shift in range(min(SHORTEST, max(0, len(data) - SHORTEST + 1))):
            words = np.frombuffer(data, dtype="<u8", offset=shift, count=(len(data) - shift) // SHORTEST)
            for word in np.flatnonzero(self._likely[_hashed(words)]).tolist():
                at = shift + word * SHORTEST
                for needle in self._by_start.get(data[at : at + SHORTEST], ()):
                    if data.startswith(needle, at):
                        yield at, needle


def _hashed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (words * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(44)
