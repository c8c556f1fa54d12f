"""A budget is never exceeded, and what is left out is known."""

from __future__ import annotations

from itertools import count
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from infinicon.operations.filling import PATIENCE, Filling, Omission

COSTS = st.lists(st.integers(0, 60), max_size=80)


def offer(filling: Filling, *costs: int) -> list[int]:
    """What is taken of memories of these costs."""
    first = 1_000 + len(filling.chosen)
    return [cost for number, cost in zip(count(first), costs, strict=False) if filling.offer(UUID(int=number), cost)]


def state(filling: Filling) -> tuple[bool, bool]:
    return bool(filling.passed_over), filling.full


def test_what_fits_is_taken_in_order() -> None:
    filling = Filling(800, 10)

    assert offer(filling, 500, 400, 100) == [500, 100]
    assert len(filling.passed_over) == 1


def test_a_memory_larger_than_the_budget_keeps_no_other_out() -> None:
    filling = Filling(800, 10)

    assert offer(filling, 100, *[900] * (2 * PATIENCE), 100) == [100, 100]
    assert state(filling) == (True, False)


def test_patience_ends() -> None:
    filling = Filling(100, 10)

    assert offer(filling, 60, *[50] * (PATIENCE - 1)) == [60]
    assert state(filling) == (True, False)
    offer(filling, 50)
    assert state(filling) == (True, True)


def test_all_that_fits_is_no_cut() -> None:
    filling = Filling(100, 3)

    assert offer(filling, 50, 50, 0) == [50, 50, 0]
    assert state(filling) == (False, False)


def test_more_than_there_may_be_is_a_cut() -> None:
    filling = Filling(100, 2)

    assert offer(filling, 1, 1) == [1, 1]
    assert state(filling) == (False, False)
    assert offer(filling, 1) == []
    assert state(filling) == (True, True)


def test_what_is_required_comes_first_and_is_told_why_not() -> None:
    filling = Filling(100, 2)

    assert filling.require(UUID(int=1), 101) is Omission.TOKENS
    assert filling.require(UUID(int=2), 60) is None
    assert filling.require(UUID(int=3), 60) is Omission.TOKENS
    assert filling.require(UUID(int=4), 40) is None
    assert filling.require(UUID(int=5), 0) is Omission.SEGMENTS
    assert filling.cut
    assert offer(filling, 0) == []


def test_a_copy_goes_its_own_way() -> None:
    first = Filling(100, 10)
    first.require(UUID(int=1), 40)
    second = first.copy()

    assert offer(second, 60) == [60]
    assert list(first.chosen.values()) == [40]
    assert offer(first, 60, 1) == [60]


@given(st.integers(0, 300), st.integers(1, 20), COSTS)
def test_neither_bound_is_ever_passed(room: int, segments: int, costs: list[int]) -> None:
    filling = Filling(room, segments)
    taken = offer(filling, *costs)

    assert sum(taken) == sum(filling.chosen.values()) <= room
    assert len(taken) == len(filling.chosen) <= segments
    assert len(filling.passed_over) == len(costs) - len(taken)


@given(st.integers(0, 300), COSTS)
def test_nothing_is_left_out_that_would_fit(room: int, costs: list[int]) -> None:
    filling = Filling(room, len(costs) + 1)
    left = room
    for number, cost in enumerate(costs):
        assert filling.offer(UUID(int=number), cost) == (cost <= left)
        left -= cost if cost <= left else 0
