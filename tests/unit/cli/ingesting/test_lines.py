"""Numbered lines, and those that are none."""

from __future__ import annotations

import errno
import io
import tracemalloc

import pytest

from infinicon.cli.ingesting.lines import numbered
from infinicon.cli.ingesting.places import Broken, Place


def found(data: bytes, limit: int = 1024 * 1024) -> list[tuple[int, str]]:
    return [
        (item.place.line, item.reason) if isinstance(item, Broken) else (item[0].line, item[1])
        for item in numbered(io.BytesIO(data), "a.jsonl", limit)
    ]


def test_lines_have_their_numbers_and_no_ends() -> None:
    assert found(b"one\r\n\n  \ntwo\n\tthree ") == [(1, "one"), (4, "two"), (5, "three")]


def test_an_empty_file_has_no_lines() -> None:
    assert found(b"") == []


def test_only_line_feeds_end_lines() -> None:
    assert found("a\u2028b\x0bc\rd\n".encode()) == [(1, "a\u2028b\x0bc\rd")]


def test_what_is_not_utf_8_is_broken_alone() -> None:
    assert found(b"one\nab\xff\ntwo\n") == [(1, "one"), (2, "not UTF-8 at byte 3 of the line"), (3, "two")]


def test_a_line_over_the_limit_is_passed_over() -> None:
    mib = b"x" * 1024 * 1024

    assert found(b"one\n" + 3 * mib + b"\ntwo\n" + mib + b"\n" + mib + b"y") == [
        (1, "one"),
        (2, "longer than 1 MiB"),
        (3, "two"),
        (4, "longer than 1 MiB"),
        (5, "longer than 1 MiB"),
    ]


def test_a_line_over_the_limit_never_lies_in_memory() -> None:
    class Endless(io.BytesIO):
        left = 100

        def readline(self, size: int | None = -1, /) -> bytes:
            self.left -= 1
            return b"x" * (size or 0) if self.left >= 0 else b""

    tracemalloc.start()
    try:
        assert [item for item in numbered(Endless(), "a", 1024 * 1024) if isinstance(item, Broken)]
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [(OSError(errno.EIO, "Input/output error"), "Input/output error"), (EOFError(), "ends too early")],
)
def test_a_stream_that_cannot_be_read_on_ends(fault: Exception, reason: str) -> None:
    class Failing(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                raise fault
            return super().readline(size)

    lines = list(numbered(Failing(b"one\ntwo\n"), "a"))

    assert lines[0] == (Place("a", 1), "one")
    assert isinstance(lines[1], Broken)
    assert reason in lines[1].reason
    assert len(lines) == 2
