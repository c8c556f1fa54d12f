"""Lines, paragraphs and fences."""

from __future__ import annotations

import pytest

from infinicon.plugins.extractor.lines import lines, plain_blocks, rows

WRAPPED = "This line is long enough to have been wrapped by an editor and\nThen it goes on"


def runs(text: str) -> list[list[str]]:
    blocks, _ = plain_blocks(text)
    return [[text[start:end] for start, end in block.runs] for block in blocks]


def test_a_blank_line_ends_a_block_and_a_line_ends_a_run() -> None:
    assert runs("Hello\nThe meeting\n \nLater") == [["Hello", "The meeting"], ["Later"]]


@pytest.mark.parametrize("text", [WRAPPED, "it was here\nand then gone"])
def test_a_wrapped_line_goes_on(text: str) -> None:
    assert runs(text) == [[text]]


@pytest.mark.parametrize("second", ["- item", "1. item", "> quoted", "* item", "a) item"])
def test_an_item_never_continues_a_line(second: str) -> None:
    first = WRAPPED.partition("\n")[0]

    assert runs(f"{first}\n{second}") == [[first, second]]


def test_code_between_fences_is_in_no_block() -> None:
    text = "Before\n```py\ncode()\n~~~\n```\nAfter"

    assert runs(text) == [["Before"], ["After"]]
    assert plain_blocks(text)[1]
    assert not plain_blocks("Before ``` and after")[1]


def test_a_fence_that_is_never_closed_covers_the_rest() -> None:
    assert runs("Before\n````\n```\ncode") == [["Before"]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\x0b"])
def test_every_line_end_counts(end: str) -> None:
    text = f"one {end}two"

    assert [text[start:stop] for start, stop in lines(text)] == ["one", "two"]


def test_rows_of_delimited_values() -> None:
    text = 'name,note\n\nAnna,"Rome. She\nlikes it"\nBen,5" pipe\nEve,x\n'
    blocks, left_out = rows(text)

    assert all(block.whole for block in blocks)
    assert [text[start:end] for block in blocks for start, end in block.runs] == [
        "name,note",
        'Anna,"Rome. She\nlikes it"',
        'Ben,5" pipe',
        "Eve,x",
    ]
    assert not left_out
