"""Episodes in requests."""

from __future__ import annotations

import time

import pytest

from infinicon.cli.ingesting import batches
from infinicon.cli.ingesting.batches import Batches, Request
from infinicon.cli.ingesting.places import Place
from infinicon.cli.ingesting.shaping import Prepared


def episode(number: int, scope: str = "{}", size: int = 10) -> Prepared:
    return Prepared(Place("a", number), scope, b"x" * size)


class Taker:
    """Takes requests, unless it is told not to."""

    def __init__(self) -> None:
        self.taken: list[Request] = []
        self.is_full = False

    def __call__(self, request: Request, may_block: bool) -> bool:
        if self.is_full and not may_block:
            return False
        self.taken.append(request)
        return True

    @property
    def numbers(self) -> list[list[int]]:
        return [[prepared.place.line for prepared in request.episodes] for request in self.taken]


def test_a_request_is_full_by_number() -> None:
    taker = Taker()
    gathered = Batches(taker, 2)
    for number in range(5):
        gathered.add(episode(number))

    assert taker.numbers == [[0, 1], [2, 3]]
    gathered.flush()
    assert taker.numbers == [[0, 1], [2, 3], [4]]


def test_a_request_is_full_by_size() -> None:
    taker = Taker()
    gathered = Batches(taker, 100, size=25)
    for number, size in enumerate([10, 10, 10, 40, 5]):
        gathered.add(episode(number, size=size))
    gathered.flush()

    assert taker.numbers == [[0, 1], [2], [3], [4]]
    assert [request.size for request in taker.taken] == [20, 10, 40, 5]


def test_a_scope_has_requests_of_its_own_in_its_order() -> None:
    taker = Taker()
    gathered = Batches(taker, 2)
    for number, scope in enumerate("ababa"):
        gathered.add(episode(number, scope))
    gathered.flush()

    assert [(request.scope, numbers) for request, numbers in zip(taker.taken, taker.numbers, strict=True)] == [
        ("a", [0, 2]),
        ("b", [1, 3]),
        ("a", [4]),
    ]


def test_scopes_that_wait_are_bounded_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "OPEN_SCOPES", 2)
    taker = Taker()
    gathered = Batches(taker, 100)
    for number, scope in enumerate("abcab"):
        gathered.add(episode(number, scope))

    assert taker.numbers == [[0], [1], [2]]


def test_scopes_that_wait_are_bounded_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "WAITING_BYTES", 25)
    taker = Taker()
    gathered = Batches(taker, 100)
    for number, scope in enumerate("abc"):
        gathered.add(episode(number, scope))

    assert taker.numbers == [[0]]


def test_what_is_idle_goes_when_somebody_takes_it() -> None:
    taker = Taker()
    gathered = Batches(taker, 100)
    gathered.add(episode(1))

    gathered.flush_idle(3600)
    assert taker.numbers == []
    taker.is_full = True
    gathered.flush_idle(0)
    assert taker.numbers == []
    taker.is_full = False
    gathered.flush_idle(0)
    assert taker.numbers == [[1]]
    gathered.flush()
    assert taker.numbers == [[1]]


def test_what_is_idle_never_waits_for_the_reader() -> None:
    taker = Taker()
    gathered = Batches(taker, 100)
    gathered.add(episode(1))

    with gathered._lock:
        began = time.monotonic()
        gathered.flush_idle(0)
        assert time.monotonic() - began < 5

    assert taker.numbers == []


def test_halves() -> None:
    request = Request("{}", [episode(1), episode(2), episode(3)])

    assert [[prepared.place.line for prepared in half.episodes] for half in request.halves()] == [[1], [2, 3]]
