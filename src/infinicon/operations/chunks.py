"""How a long value lies in a file of Postgres: in chunks of about 2 KB, each with the value's number and its own before it.

A short sentence may lie across the border of two of them. Living values are read by SQL; this is for the bytes of dead ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from infinicon.operations.matching import Matcher

SIZE = 1996
"""Bytes of a chunk that another one follows (TOAST_MAX_CHUNK_SIZE of pages of 8 KB)."""

BEFORE = 8
"""Bytes before a chunk's length: the value's number and the chunk's, four each, the least significant first."""

LENGTH = 4
FULL = ((SIZE + LENGTH) << 2).to_bytes(LENGTH, "little")
"""The length of a whole chunk, as it stands before it."""

BORDER = 256
"""Bytes on both sides of a border. What is longer than that is looked for in pieces, and does not need its borders."""


def joints(read: Callable[[], Iterable[bytes]], begins: Callable[[bytes], bool]) -> Iterator[bytes]:
    """What lies across the borders of chunks: `begins` says of the end of a chunk whether it matters what follows.

    `read` gives the file's blocks, and is called twice: chunks lie in no order.
    """
    ends: dict[bytes, list[bytes]] = {}
    for window in _windows(read(), BEFORE, LENGTH + SIZE):
        at = window.find(FULL, BEFORE)
        while 0 <= at <= len(window) - LENGTH - SIZE:
            value, number = window[at - BEFORE : at - LENGTH], int.from_bytes(window[at - LENGTH : at], "little")
            follower = value + ((number + 1) & 0xFFFFFFFF).to_bytes(LENGTH, "little")
            end = window[at + LENGTH + SIZE - BORDER : at + LENGTH + SIZE]
            if begins(end) and end not in ends.setdefault(follower, []):
                ends[follower].append(end)
            at = window.find(FULL, at + 1)
    if not ends:
        return
    followers = Matcher(ends)
    for window in _windows(read(), 0, BEFORE + LENGTH + BORDER):
        for at, follower in followers.found_in(window):
            begin = window[at + BEFORE + LENGTH : at + BEFORE + LENGTH + BORDER]
            yield from (end + begin for end in ends[follower])


def _windows(blocks: Iterable[bytes], before: int, after: int) -> Iterator[bytes]:
    """The blocks, each with the end of the one before it, so that nothing of `before` + `after` bytes is torn."""
    tail = b""
    for block in blocks:
        window = tail + block
        yield window
        tail = window[-(before + after) :]
