"""Pauses between starts, and exits in words."""

from __future__ import annotations

import signal

import pytest

from infinicon.embedded.child import Backoff, ChildSpec, how_it_ended


def test_pauses_double_up_to_a_ceiling() -> None:
    backoff = Backoff()

    assert [backoff.after(0.1) for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert backoff.failures == 9


def test_a_child_that_stayed_up_starts_anew() -> None:
    backoff = Backoff()
    for _ in range(5):
        backoff.after(0.1)

    assert backoff.after(31) == 0.5
    assert backoff.failures == 1


def test_a_child_that_fails_for_ever_overflows_nothing() -> None:
    backoff = Backoff()
    backoff.failures = 100_000

    assert backoff.after(0.1) == 30


@pytest.mark.parametrize(
    ("code", "words"), [(0, "exit code 0"), (2, "exit code 2"), (-9, "killed by SIGKILL"), (-64, "killed by")]
)
def test_how_it_ended(code: int, words: str) -> None:
    assert words in how_it_ended(code)


def test_secrets_of_a_specification_do_not_show_in_a_repr() -> None:
    spec = ChildSpec(
        "api", ["program"], {"PASSWORD": "hunter2"}, ((signal.SIGTERM, 1.0),), stdin=b"requirepass hunter3"
    )

    assert "hunter" not in repr(spec)
