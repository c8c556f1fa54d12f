from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from infinicon.api import errors, rates
from infinicon.api.rates import Rates
from infinicon.errors import Overloaded

ONE, OTHER = UUID(int=1), UUID(int=2)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def taken(limit: Rates, key: UUID, most: int = 1_000) -> int:
    """How many requests the key gets through, one after another."""
    for number in range(most):
        try:
            limit.take(key)
        except Overloaded:
            return number
    return most


def test_a_minutes_requests_may_come_at_once_and_then_as_many_as_flow_in() -> None:
    clock = Clock()
    limit = Rates(120, clock)

    assert taken(limit, ONE) == 120
    clock.now += 0.4
    assert taken(limit, ONE) == 0
    clock.now += 0.1
    assert taken(limit, ONE) == 1
    clock.now += 10
    assert taken(limit, ONE) == 20
    clock.now += 3_600
    assert taken(limit, ONE) == 120


def test_keys_do_not_share() -> None:
    limit = Rates(5, Clock())

    assert (taken(limit, ONE), taken(limit, OTHER), taken(limit, ONE)) == (5, 5, 0)


@pytest.mark.parametrize(("per_minute", "seconds"), [(1, 60), (7, 9), (60, 1), (6_000, 1)])
def test_who_is_refused_is_told_when_to_come_back(per_minute: int, seconds: int) -> None:
    clock = Clock()
    limit = Rates(per_minute, clock)
    taken(limit, ONE, 10_000)
    with pytest.raises(Overloaded) as refused:
        limit.take(ONE)

    assert refused.value.details == {"requestsPerMinute": per_minute}
    answer = errors.response(refused.value)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, str(seconds))
    clock.now += seconds
    limit.take(ONE)


def test_refusals_cost_nothing() -> None:
    clock = Clock()
    limit = Rates(60, clock)
    taken(limit, ONE)
    for _ in range(100):
        assert taken(limit, ONE, 1) == 0
    clock.now += 1

    assert taken(limit, ONE) == 1


def test_without_a_limit_nobody_is_counted() -> None:
    limit = Rates()

    assert taken(limit, ONE, 100_000) == 100_000
    assert limit._buckets == {}


def test_buckets_that_are_full_again_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MOST_BUCKETS", 10)
    clock = Clock()
    limit = Rates(60, clock)
    for _ in range(10):
        limit.take(uuid4())
    clock.now += 1
    taken(limit, ONE)

    assert limit._buckets.keys() == {ONE}
    for _ in range(20):
        limit.take(uuid4())
    assert taken(limit, ONE) == 0
