"""UUIDv7."""

from __future__ import annotations

import threading
import time
from uuid import UUID

import pytest

from infinicon import ids


def test_ids_are_version_7_and_carry_the_time() -> None:
    before = time.time_ns() // 1_000_000
    made = ids.new_id()

    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert before <= made.int >> 80 <= before + 60_000


def test_ids_of_one_process_strictly_increase_also_across_threads() -> None:
    made: list[list[UUID]] = []

    def make() -> None:
        made.append([ids.new_id() for _ in range(2000)])

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(part == sorted(part) for part in made)
    assert len({found for part in made for found in part}) == 8000


def test_a_clock_that_goes_backwards_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = ids.new_id()
    monkeypatch.setattr(time, "time_ns", lambda: 0)

    assert ids.new_id() > earlier
