"""Prefix and omission together (RFC 0113, requirements W1 to W3 and W13)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinicon.domain import MOST_ENTRIES, OVERSIZED_COUNTED
from infinicon.operations.prefix import Prefix
from tests.entry_oracle import expected


def filled(sizes: Sequence[int], budget: int | None, limit: int = 0) -> Prefix:
    prefix = Prefix(budget, limit)
    for size in sizes:
        if not prefix.offer(uuid4(), size):
            break
    return prefix


@pytest.mark.parametrize(
    ("sizes", "taken"),
    [
        ([900], []),
        ([900, 100], [100]),
        ([100, 900, 100], [100, 100]),
        ([500, 400, 100], [500]),
        ([800], [800]),
        ([801], []),
        ([300, 500], [300, 500]),
        ([300, 501], [300]),
        ([300, 501, 200], [300]),
        ([], []),
    ],
)
def test_sizes_under_eight_hundred(sizes: list[int], taken: list[int]) -> None:
    prefix = filled(sizes, 800)

    assert prefix.used == sum(taken)
    assert len(prefix.chosen) == len(taken)


def test_what_is_passed_over_is_counted_up_to_the_end() -> None:
    assert filled([900, 100, 901, 100, 900], 800).oversized == 3
    assert filled([900, 500, 901, 400, 900], 800).oversized == 2
    assert filled([900, 100, 901], 800, limit=1).oversized == 1
    assert filled([900] * (OVERSIZED_COUNTED + 5), 800).oversized == OVERSIZED_COUNTED


def test_what_cut_it() -> None:
    assert not filled([100, 100], 800).cut
    assert filled([100, 701], 800).cut
    assert not filled([100, 801], 800).cut
    assert not filled([100, 701], 800, limit=1).cut
    assert not filled([100] * 5, None, limit=2).cut
    assert not filled([0] * MOST_ENTRIES, None).cut
    assert filled([0] * (MOST_ENTRIES + 1), None).cut
    assert not filled([0] * (MOST_ENTRIES + 1), None, limit=MOST_ENTRIES).cut
    assert filled([0] * (MOST_ENTRIES + 1), None, limit=MOST_ENTRIES + 1).cut


def test_a_budget_of_nothing_has_room_for_nothing_but_empty_entries() -> None:
    prefix = filled([0, 5, 0, 1], 0)

    assert (len(prefix.chosen), prefix.used, prefix.oversized) == (2, 0, 2)


@given(
    sizes=st.lists(st.integers(0, 12), max_size=12),
    budget=st.one_of(st.none(), st.integers(0, 20)),
    limit=st.integers(0, 6),
)
def test_the_longest_prefix_of_what_fits_alone(sizes: list[int], budget: int | None, limit: int) -> None:
    ranked = [(uuid4(), size) for size in sizes]
    prefix = Prefix(budget, limit)
    for entry, size in ranked:
        if not prefix.offer(entry, size):
            break

    assert (prefix.chosen, prefix.oversized, prefix.cut) == expected(ranked, budget, limit)


@given(sizes=st.lists(st.integers(0, 12), max_size=12), budget=st.integers(0, 20), limit=st.integers(1, 6))
def test_limit_and_budget_together_are_the_shorter(sizes: list[int], budget: int, limit: int) -> None:
    both, by_budget, rest = filled(sizes, budget, limit), filled(sizes, budget), [s for s in sizes if s <= budget]

    assert len(both.chosen) == min(len(by_budget.chosen), len(filled(rest, None, limit).chosen))
