"""Where something stands in the input. Errors name places, never what stands there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a source, counted from 1; in it a turn of a conversation, or instead of it a part of a text."""

    source: str
    line: int = 0
    turn: int = 0
    part: int = 0

    def __str__(self) -> str:
        numbers = (("line", self.line), ("turn", self.turn), ("part", self.part))
        return ", ".join([self.source, *(f"{name} {number}" for name, number in numbers if number)])


@dataclass(frozen=True, slots=True)
class Broken:
    """Something that cannot be read. `reason` is a rule, and never repeats what it found."""

    place: Place
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"
