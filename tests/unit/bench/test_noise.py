"""How much of the machine others had."""

from __future__ import annotations

import time

import pytest

from bench.noise import Watched, share


@pytest.mark.parametrize(
    ("foreign", "seconds", "cores", "expected"),
    [(1.0, 5.0, 2, 0.1), (-0.02, 5.0, 2, 0.0), (0.0, 5.0, 2, 0.0), (1.0, 0.0, 2, 0.0)],
)
def test_share_is_of_all_cores_and_never_negative(foreign: float, seconds: float, cores: int, expected: float) -> None:
    assert share(foreign, seconds, cores) == expected


def test_our_own_work_is_not_noise() -> None:
    until = time.process_time() + 0.2

    with Watched() as watched:
        while time.process_time() < until:
            pass

    assert sum(watched.cpu.values()) >= 0.18  # the clock of processes has ticks of a hundredth
    assert watched.seconds > 0
