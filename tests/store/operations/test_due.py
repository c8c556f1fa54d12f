"""When consolidations that start by themselves are due, and for what reason."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from infinicon.domain import RunRef
from infinicon.ports import ConsolidationInput, Plan
from tests.store.conftest import Sql
from tests.store.operations.clocks import (
    HOUR,
    LYON,
    ago,
    facts,
    policy,
    put,
    result,
    scope_of,
    started,
    state,
    tick,
)
from tests.store.operations.conftest import Pipeline
from tests.store.operations.consolidations import Consolidations, nothing
from tests.together import together


def test_nothing_starts_by_itself_unless_somebody_says_so(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON)
    ago(sql, pipeline, 1_000 * HOUR)

    assert state(sql, pipeline) == [(None, None, 1)]
    assert tick(pipeline) == []


def test_what_waits_is_due_at_the_next_window_of_a_crontab(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, schedule="30 4 * * *")
    put(pipeline, LYON)
    ((window, why, _),) = state(sql, pipeline)
    assert window is not None
    now = datetime.now(UTC)
    expected = now.replace(hour=4, minute=30, second=0, microsecond=0)

    assert (window, why) == (expected if expected > now else expected + timedelta(days=1), "scheduled")
    assert tick(pipeline) == []


def test_an_interval_means_its_multiples(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, schedule=900)
    put(pipeline, LYON)
    ((window, why, _),) = state(sql, pipeline)
    assert window is not None

    assert (window.timestamp() % 900, why) == (0, "scheduled")
    assert timedelta() < window - datetime.now(UTC) <= timedelta(seconds=900)


def test_a_window_starts_one_job_and_nothing_waits_afterwards(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, schedule="0 * * * *")
    put(pipeline, *facts(3))
    ago(sql, pipeline, HOUR)
    (job,) = tick(pipeline)

    assert scope_of(sql, pipeline)["job"] == job
    assert tick(pipeline) == []  # it is being worked on
    Consolidations(pipeline, nothing).drain()
    assert started(sql, pipeline) == [("scheduled", "completed")]
    assert [scope_of(sql, pipeline)[name] for name in ("job", "due_at", "window_at")] == [None] * 3


def test_the_threshold_is_crossed_in_the_transaction_that_counts(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, threshold=20)
    together(*[partial(put, pipeline, fact) for fact in facts(25)])
    ((_, why, waiting),) = state(sql, pipeline)
    assert (why, waiting) == ("threshold", 25)

    made = Consolidations(pipeline, nothing)
    for _ in range(3):
        tick(pipeline)
        made.drain()
    assert started(sql, pipeline) == [("threshold", "completed")]


def test_below_the_threshold_a_quiet_scope_is_served_when_it_is_old_enough(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, threshold=20)
    put(pipeline, *facts(19))
    assert tick(pipeline) == []
    ago(sql, pipeline, 23 * HOUR)
    assert tick(pipeline) == []
    ago(sql, pipeline, HOUR)
    (job,) = tick(pipeline)

    Consolidations(pipeline, nothing).drain()
    assert result(pipeline, job)["trigger"] == "threshold"
    assert state(sql, pipeline) == []


def test_an_age_of_its_own(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, max_age_seconds=600)
    put(pipeline, LYON)
    ago(sql, pipeline, 590)
    put(pipeline, *facts(2))
    assert tick(pipeline) == []
    ago(sql, pipeline, 10)
    assert len(tick(pipeline)) == 1


def test_idle_means_that_nothing_new_came_for_so_long(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, idle_seconds=600)
    put(pipeline, LYON)
    ago(sql, pipeline, 599)
    put(pipeline, *facts(1))
    assert state(sql, pipeline)[0][1:] == ("idle", 2)
    ago(sql, pipeline, 590)
    assert tick(pipeline) == []
    ago(sql, pipeline, 10)
    (job,) = tick(pipeline)

    Consolidations(pipeline, nothing).drain()
    assert result(pipeline, job)["trigger"] == "idle"
    ago(sql, pipeline, 600)
    assert tick(pipeline) == []  # nothing waits


def test_one_trigger_goes_on_until_nothing_is_left(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, threshold=400)
    put(pipeline, *facts(400))
    made = Consolidations(pipeline, nothing, memories=50)
    (job,) = tick(pipeline)
    made.drain()

    assert state(sql, pipeline) == []
    assert result(pipeline, job)["slices"] >= 8


@pytest.mark.parametrize(("threshold", "left"), [(None, 5), (10, 5), (5, 0)])
def test_what_comes_in_behind_is_taken_along_where_it_is_as_much_as_the_threshold(
    pipeline: Pipeline, sql: Sql, threshold: int | None, left: int
) -> None:
    policy(pipeline, schedule=60, threshold=threshold)
    put(pipeline, *facts(4))
    ago(sql, pipeline, 60)
    tick(pipeline)
    made = Consolidations(pipeline, nothing)
    (ref,) = made.published()

    def more_comes(request: ConsolidationInput) -> Plan:
        if len(made.stub.seen) == 1:
            put(pipeline, *facts(5, "the attic"))
        return Plan()

    made.stub.plan = more_comes
    following: RunRef | None = ref
    while following is not None:
        following = made.work(following)

    assert [waiting for *_, waiting in state(sql, pipeline)] == ([left] if left else [])


def fails(_request: object) -> Any:
    raise RuntimeError("no")


def test_what_fails_is_tried_again_later_and_later(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, threshold=2)
    put(pipeline, *facts(2))
    made = Consolidations(pipeline, fails)
    pauses = []
    for _ in range(4):
        assert len(tick(pipeline)) == 1
        made.drain()
        scope = scope_of(sql, pipeline)
        pauses.append(round((scope["window_at"] - scope["last_run_at"]).total_seconds()))
        assert tick(pipeline) == []
        ago(sql, pipeline, pauses[-1])

    assert pauses == [60, 120, 240, 480]
    assert started(sql, pipeline) == [("threshold", "failed")] * 4
    sql("UPDATE consolidation_scopes SET failures = 40, window_at = NULL WHERE tenant = %s", pipeline.caller.tenant)
    scope = scope_of(sql, pipeline)
    assert scope["window_at"] - scope["last_run_at"] == timedelta(days=1)


def test_a_policy_that_changes_is_followed_at_once(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, schedule="0 4 29 2 *")
    put(pipeline, *facts(3))
    assert tick(pipeline) == []
    policy(pipeline, schedule=None, threshold=3)
    assert state(sql, pipeline)[0][1:] == ("threshold", 3)
    policy(pipeline, threshold=4, idle_seconds=HOUR)
    assert state(sql, pipeline)[0][1] == "idle"
    policy(pipeline, threshold=None, idle_seconds=None)
    assert state(sql, pipeline) == [(None, None, 3)]


def test_another_policy_is_another_namespaces(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON)
    policy(pipeline, "other", threshold=1)

    assert state(sql, pipeline) == [(None, None, 1)]
