"""Filling a budget with whole memories, in the order of their rank.

What still fits is taken, what does not is passed over: a long memory that does not fit any more must not keep out the short ones behind
it. But not for ever: after PATIENCE memories that would have fit the empty budget, the rest is left empty, for what would come to fill it
is far from the task. A memory that is larger than the whole budget costs no patience.
"""

from __future__ import annotations

import enum
from uuid import UUID

PATIENCE = 32


class Omission(enum.StrEnum):
    """Why a memory that was asked for by name is not in a context."""

    NOT_FOUND = "not_found"
    EXCLUDED = "excluded"
    DISPUTED = "disputed"
    SUPERSEDED = "superseded"
    STALE = "stale"
    DOUBLE = "double"
    TOKENS = "max_tokens"
    SEGMENTS = "max_segments"


class Filling:
    """What is chosen so far, with its tokens; what was passed over; whether something required had to be left out (`cut`), and whether
    to stop offering (`full`)."""

    def __init__(self, tokens: int, segments: int) -> None:
        self.chosen: dict[UUID, int] = {}
        self.passed_over: list[UUID] = []
        self.cut = False
        self.full = False
        self._room = tokens
        self._left = tokens
        self._segments = segments
        self._passed = 0

    def require(self, memory: UUID, tokens: int) -> Omission | None:
        """Take a memory before all others are offered; or say why not."""
        if self.fits(tokens):
            self._take(memory, tokens)
            return None
        self.cut = True
        return Omission.SEGMENTS if len(self.chosen) >= self._segments else Omission.TOKENS

    def offer(self, memory: UUID, tokens: int) -> bool:
        """Take a memory if there is room; whether there was."""
        if self.fits(tokens):
            self._take(memory, tokens)
            return True
        self.passed_over.append(memory)
        self._passed += tokens <= self._room
        self.full = len(self.chosen) >= self._segments or self._passed >= PATIENCE
        return False

    def fits(self, tokens: int) -> bool:
        """Whether there is room for a memory of so many tokens."""
        return len(self.chosen) < self._segments and tokens <= self._left

    def copy(self) -> Filling:
        """Another one that goes on from here."""
        other = Filling(self._room, self._segments)
        other.chosen = dict(self.chosen)
        other.cut = self.cut
        other._left = self._left
        return other

    def _take(self, memory: UUID, tokens: int) -> None:
        self.chosen[memory] = tokens
        self._left -= tokens
