"""Plain text as blocks (paragraphs) of runs: a run is a stretch of the text within which sentences may cross the end of a line.

A line continues the one before it where that one looks wrapped: it is long and does not end a sentence, or the next begins with a
small letter. A line that begins like an item of a list never continues. Code between fences is in no block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Run: TypeAlias = tuple[int, int]
"""Half-open range of characters."""


@dataclass(slots=True)
class Block:
    """Runs that belong together. A whole block is one claim, whatever sentences it holds: the row of a table."""

    runs: list[Run]
    whole: bool = False


_WRAPPED_FROM = 55  # Characters: shorter lines end where their writer ended them.
_ENDS = frozenset(".!?:;…。！？।؟|")
_ITEM = re.compile(r"[ \t]{0,40}(?:[-*+•·–—>|]|\d{1,3}[.)]|[A-Za-z][.)])[ \t]")
FENCE = re.compile(r"[ \t]{0,40}(`{3,}|~{3,})")


def lines(text: str) -> Iterator[Run]:
    """Lines without what ends them; linear in the length of the text."""
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, start + len(line.rstrip())
        start += len(line)


class Blocks:
    """Collects runs into blocks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.blocks: list[Block] = []
        self._open = False

    def end(self) -> None:
        self._open = False

    def add(self, start: int, end: int, *, joins: bool) -> None:
        """One line. `joins` says whether it may continue the line before it."""
        if not self._open:
            self.blocks.append(Block([]))
            self._open = True
        block = self.blocks[-1].runs
        if joins and block and self._continues(block[-1], start):
            block[-1] = (block[-1][0], end)
        else:
            block.append((start, end))

    def add_row(self, start: int, end: int) -> None:
        """A line that is a claim of its own."""
        self.blocks.append(Block([(start, end)], whole=True))
        self._open = False

    def drop_last(self) -> None:
        """Leave out the last block, which turned out to be the head of a table or a title."""
        self.blocks.pop()
        self._open = False

    def _continues(self, before: Run, start: int) -> bool:
        if self._text[start].islower():
            return True
        last_line = max(before[0], self._text.rfind("\n", before[0], before[1]) + 1)
        return before[1] - last_line >= _WRAPPED_FROM and self._text[before[1] - 1] not in _ENDS


class Fences:
    """Knows which lines lie within fences."""

    def __init__(self) -> None:
        self._fence = ""
        self.seen = False

    @property
    def inside(self) -> bool:
        return bool(self._fence)

    def covers(self, text: str, start: int, end: int) -> bool:
        """Whether the line is code or a fence. Lines are to be given in order, and each once."""
        found = FENCE.match(text, start, end)
        if not self._fence:
            self._fence = found.group(1) if found else ""
            self.seen = self.seen or bool(found)
            return bool(found)
        if found and found.group(1).startswith(self._fence) and not text[found.end() : end].strip():
            self._fence = ""
        return True


def plain_blocks(text: str) -> tuple[list[Block], bool]:
    """The blocks of a plain text, and whether it holds code that is in none of them."""
    blocks, fences = Blocks(text), Fences()
    for start, end in lines(text):
        if fences.covers(text, start, end) or start == end:
            blocks.end()
        else:
            blocks.add(start, end, joins=not _ITEM.match(text, start, end))
    return blocks.blocks, fences.seen


def rows(text: str) -> tuple[list[Block], bool]:
    """The rows of delimited values, each whole. A quoted value may hold line ends; a quotation mark without a partner does not count."""
    blocks = Blocks(text)
    held: list[Run] = []
    for start, end in lines(text):
        if start == end and not held:
            continue
        opens = text.count('"', start, end) % 2 == 1
        if held and opens:
            blocks.add_row(held[0][0], end)
            held = []
        elif held or opens:
            held.append((start, end))
        else:
            blocks.add_row(start, end)
    for start, end in held:
        if start < end:
            blocks.add_row(start, end)
    return blocks.blocks, False
