"""Consolidations that start by themselves: when they are due, and that each starts once, whoever counts the time and however many do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from infinicon.domain import RunRef, Scope, Trigger, Width
from infinicon.operations import due
from infinicon.operations.policy import set_policy
from infinicon.ports import ConsolidationInput, Plan
from infinicon.store import schedules
from infinicon.store.schedules import Due
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.consolidations import Consolidations, nothing
from tests.together import together

LYON = "Rosa lives in Lyon."
HOUR = 3600


def policy(pipeline: Pipeline, namespace: str = "notes", **members: Any) -> None:
    changes = {f"consolidation_{name}": value for name, value in members.items()}
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(namespace), changes)


def put(pipeline: Pipeline, *texts: str, scope: Scope | None = None) -> None:
    pipeline.put(*texts, scope=scope)
    pipeline.drain()


def facts(number: int, about: str = "the cellar") -> list[str]:
    return [f"Fact {at} is about {about}." for at in range(number)]


def state(sql: Sql, pipeline: Pipeline) -> list[tuple[datetime | None, str | None, int]]:
    """When each scope is due, for what, and how much waits in it."""
    rows = sql(
        "SELECT window_at, due_for, waiting FROM consolidation_scopes WHERE tenant = %s AND waiting > 0 ORDER BY id",
        pipeline.caller.tenant,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def scope_of(sql: Sql, pipeline: Pipeline) -> dict[str, Any]:
    """The one scope of the tenant."""
    names = ("oldest_at", "last_indexed_at", "last_run_at", "window_at", "due_at", "due_for", "job", "failures", "id")
    ((*values,),) = sql(
        "SELECT oldest_at, last_indexed_at, last_run_at, window_at, due_at, due_for, job, failures, id"
        " FROM consolidation_scopes WHERE tenant = %s",
        pipeline.caller.tenant,
    )
    return dict(zip(names, values, strict=True))


def ago(sql: Sql, pipeline: Pipeline, seconds: float) -> None:
    """All that the scopes remember happened so much earlier: time has passed, and nobody has looked."""
    sql(
        "UPDATE consolidation_scopes SET oldest_at = oldest_at - d, last_indexed_at = last_indexed_at - d,"
        " last_run_at = last_run_at - d, window_at = NULL FROM make_interval(secs => %s) AS d WHERE tenant = %s",
        *(seconds, pipeline.caller.tenant),
    )
    sql(
        "UPDATE consolidation_backlog SET added_at = added_at - make_interval(secs => %s) WHERE tenant = %s",
        *(seconds, pipeline.caller.tenant),
    )


def tick(pipeline: Pipeline) -> list[UUID]:
    """Beat's tick; the jobs of this tenant."""
    mine = [found for found in due.claim(pipeline.sweeper, 1_000) if found.tenant == pipeline.caller.tenant]
    return [job for found in mine if (job := due.begin(pipeline.app, found))]


def started(sql: Sql, pipeline: Pipeline) -> list[tuple[str, str]]:
    """Trigger and status of each consolidation of the tenant, the oldest first."""
    rows = sql(
        "SELECT result ->> 'trigger', status FROM jobs WHERE tenant = %s AND type = 'consolidate' ORDER BY id",
        pipeline.caller.tenant,
    )
    return [(row[0], row[1]) for row in rows]


def result(pipeline: Pipeline, job: UUID) -> dict[str, Any]:
    found: Any = pipeline.job(job).result
    return dict(found)


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


def test_many_ticks_at_once_start_one_job(pipeline: Pipeline, sql: Sql) -> None:
    policy(pipeline, schedule=60)
    agents = [pipeline.scope(agent=f"a{number}") for number in range(6)]
    for agent in agents:
        put(pipeline, LYON, scope=agent)
    ago(sql, pipeline, 600)
    begun = together(*[partial(tick, pipeline)] * 6)

    assert sum(len(jobs) for jobs in begun) == len(agents) == len(started(sql, pipeline))
    assert sql("SELECT count(*) FROM consolidation_windows WHERE tenant = %s", pipeline.caller.tenant) == [(6,)]


def late(sql: Sql, pipeline: Pipeline) -> None:
    """Whoever claimed has not been heard of for a minute."""
    sql(
        "UPDATE consolidation_scopes SET due_at = now() WHERE tenant = %s AND due_at IS NOT NULL",
        pipeline.caller.tenant,
    )


def claimed(pipeline: Pipeline) -> Due:
    (mine,) = [found for found in due.claim(pipeline.sweeper, 1_000) if found.tenant == pipeline.caller.tenant]
    return mine


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
