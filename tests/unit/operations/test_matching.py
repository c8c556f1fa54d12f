"""Many needles in one pass, and few of them, find the same."""

from __future__ import annotations

from random import Random

import pytest

from infinicon.operations.matching import SHORTEST, Matcher


@pytest.mark.parametrize("number", [1, 5, 300])
def test_everything_is_found_wherever_it_lies(number: int) -> None:
    random = Random(number)
    data = bytes(random.choices(b"ab", k=4_000))
    needles = {data[at : at + random.randint(SHORTEST, 40)] for at in random.choices(range(3_900), k=number)}
    needles |= {data[-SHORTEST:], data[:SHORTEST], b"absent from this"}
    wanted = {(at, needle) for needle in needles for at in range(len(data)) if data.startswith(needle, at)}
    assert set(Matcher(needles).found_in(data)) == wanted


@pytest.mark.parametrize("data", [b"", b"short", b"12345678"])
def test_little_data(data: bytes) -> None:
    needles = [f"{number:08}".encode() for number in range(30)] + [b"12345678"]
    assert [needle for _, needle in Matcher(needles).found_in(data)] == [needle for needle in needles if needle in data]
