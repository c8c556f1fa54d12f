"""Percentiles of what was measured, and no others."""

from __future__ import annotations

import pytest

from bench.figures.query_beside_bulk import percentile


@pytest.mark.parametrize(("percent", "expected"), [(50, 10), (95, 19), (99, 20), (100, 20), (1, 1)])
def test_a_percentile_is_one_of_the_numbers(percent: int, expected: float) -> None:
    assert percentile([float(number) for number in range(20, 0, -1)], percent) == expected


def test_a_single_number_is_every_percentile() -> None:
    assert percentile([7.0], 95) == percentile([7.0], 5) == 7.0
