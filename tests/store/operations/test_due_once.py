"""What is due starts once, whoever counts the time, however many do, and whatever changes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from infinicon.domain import Trigger, Width
from infinicon.operations import due
from infinicon.store import schedules
from tests.store.conftest import Sql
from tests.store.operations.clocks import (
    HOUR,
    LYON,
    ago,
    claimed,
    facts,
    late,
    policy,
    put,
    scope_of,
    started,
    state,
    tick,
)
from tests.store.operations.conftest import Pipeline
from tests.store.operations.consolidations import Consolidations, nothing
from tests.together import together


def test_what_was_missed_is_caught_up_once_and_the_rhythm_goes_on(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, schedule="0 * * * *")
    made = Consolidations(pipeline, nothing)
    put(pipeline, *facts(3))
    ago(sql, pipeline, 5 * HOUR)
    for _ in range(5):
        tick(pipeline)
        made.drain()
    assert started(sql, pipeline) == [("scheduled", "completed")]

    put(pipeline, *facts(3, "the attic"))
    window = scope_of(sql, pipeline)["window_at"]
    assert datetime.now(UTC) < window <= datetime.now(UTC) + timedelta(hours=1)
    ago(sql, pipeline, HOUR)
    assert len(tick(pipeline)) == 1


def test_many_ticks_at_once_start_one_job(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, schedule=60)
    agents = [pipeline.scope(agent=f"a{number}") for number in range(6)]
    for agent in agents:
        put(pipeline, LYON, scope=agent)
    ago(sql, pipeline, 600)
    begun = together(*[partial(tick, pipeline)] * 6)

    assert sum(len(jobs) for jobs in begun) == len(agents) == len(started(sql, pipeline))
    assert sql("SELECT count(*) FROM consolidation_windows WHERE tenant = %s", pipeline.caller.tenant) == [(6,)]


@pytest.mark.parametrize("drained", [False, True])
def test_a_tick_that_was_stopped_after_its_claim_comes_too_late(pipeline: Pipeline, sql: Sql, *, drained: bool) -> None:
    policy(pipeline, schedule=60)
    made = Consolidations(pipeline, nothing)
    put(pipeline, LYON)
    ago(sql, pipeline, 600)
    stopped = claimed(pipeline)
    assert tick(pipeline) == []  # the claim holds for a minute
    late(sql, pipeline)
    (job,) = tick(pipeline)
    if drained:
        made.drain()
        put(pipeline, *facts(2))
        ago(sql, pipeline, 120)

    assert due.begin(pipeline.app, stopped) is None
    made.drain()
    assert len(started(sql, pipeline)) == 1
    assert sql("SELECT job FROM consolidation_windows WHERE tenant = %s", pipeline.caller.tenant) == [(job,)]


def test_two_that_claimed_the_same_window_open_it_once(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, schedule=60)
    put(pipeline, LYON)
    ago(sql, pipeline, 600)
    first = claimed(pipeline)
    late(sql, pipeline)
    second = claimed(pipeline)
    assert first == second
    begun = together(*[partial(due.begin, pipeline.app, found) for found in (first, second)])

    assert len([job for job in begun if job]) == 1


def test_a_window_that_was_opened_before_stays_opened(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, schedule=60)
    put(pipeline, LYON)
    ago(sql, pipeline, 600)
    found = claimed(pipeline)
    with pipeline.app.transaction(pipeline.caller.tenant) as tx:
        assert schedules.open_window(found.tenant, tx, found.scope, found.window_at, Trigger.SCHEDULED)

    assert due.begin(pipeline.app, found) is None
    assert started(sql, pipeline) == []


def test_what_is_due_stays_due_for_the_same_window_while_more_comes(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, threshold=2)
    put(pipeline, *facts(2))
    window = scope_of(sql, pipeline)["window_at"]
    found = claimed(pipeline)
    put(pipeline, *facts(3, "the attic"))

    assert scope_of(sql, pipeline)["window_at"] == window
    assert due.begin(pipeline.app, found) is not None


def widths(sql: Sql, pipeline: Pipeline) -> list[tuple[str, str, int]]:
    rows = sql(
        "SELECT width, agent_id, waiting FROM consolidation_scopes WHERE tenant = %s AND waiting > 0 ORDER BY 1, 2",
        pipeline.caller.tenant,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def test_what_waits_moves_where_the_width_changes(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, idle_seconds=HOUR)
    for agent in ("a", "b"):
        put(pipeline, *facts(2, agent), scope=pipeline.scope(agent=agent))
    before = sql("SELECT min(oldest_at) FROM consolidation_scopes WHERE tenant = %s", pipeline.caller.tenant)
    policy(pipeline, width=Width.NAMESPACE)
    assert widths(sql, pipeline) == [("namespace", "", 4)]
    assert [why for _, why, _ in state(sql, pipeline)] == ["idle"]
    assert before == sql(
        "SELECT oldest_at FROM consolidation_scopes WHERE tenant = %s AND waiting > 0", pipeline.caller.tenant
    )
    policy(pipeline, width=Width.AGENT)

    assert widths(sql, pipeline) == [("agent", "a", 2), ("agent", "b", 2)]
    ((rows,),) = sql("SELECT count(*) FROM consolidation_backlog WHERE tenant = %s", pipeline.caller.tenant)
    assert rows == 4


def test_what_came_in_at_the_old_width_is_not_worked_on_at_it(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, threshold=2)
    put(pipeline, *facts(2), scope=pipeline.scope(agent="a"))
    found = claimed(pipeline)
    # As if it had been indexed while the policy changed.
    sql("UPDATE policies SET consolidation_width = 'namespace' WHERE tenant = %s", pipeline.caller.tenant)

    assert due.begin(pipeline.app, found) is None
    assert widths(sql, pipeline) == [("namespace", "", 2)]
    assert len(tick(pipeline)) == 1


def test_a_first_atom_and_a_policy_that_comes_with_it_find_each_other(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put(LYON)
    (batch,) = pipeline.claim()
    staged = pipeline.embed(pipeline.extract(batch))
    together(partial(pipeline.index, staged), partial(policy, pipeline, threshold=1))

    assert state(sql, pipeline)[0][1:] == ("threshold", 1)


def test_one_that_cannot_begin_keeps_nobody_from_it(
    new_pipeline: Callable[[], Pipeline], sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = new_pipeline(), new_pipeline()
    for pipeline in (first, second):
        policy(pipeline, threshold=1)
        put(pipeline, LYON)
    sql("UPDATE policies SET consolidation_width = 'agent' WHERE tenant = %s", first.caller.tenant)
    begin = schedules.open_window

    def refuse(tenant: int, *rest: Any) -> bool:
        if tenant == first.caller.tenant:
            with first.app.transaction(tenant) as tx:
                tx.exec_driver_sql("SELECT 1/0")
        return begin(tenant, *rest)

    monkeypatch.setattr(schedules, "open_window", refuse)
    due.begin_due(first.sweeper, first.app)

    assert [started(sql, pipeline) for pipeline in (first, second)] == [[], [("threshold", "queued")]]
    late(sql, first)
    monkeypatch.setattr(schedules, "open_window", begin)
    assert len(tick(first)) == 1


def test_windows_long_past_are_forgotten(pipeline: Pipeline, sql: Sql) -> None:
    sql(
        "INSERT INTO consolidation_windows SELECT %s, n, now(), 'idle', NULL, now() - make_interval(days => n)"
        " FROM generate_series(1, 10) AS n",
        pipeline.caller.tenant,
    )
    tick(pipeline)

    assert sql("SELECT count(*) FROM consolidation_windows WHERE tenant = %s", pipeline.caller.tenant) == [(6,)]
