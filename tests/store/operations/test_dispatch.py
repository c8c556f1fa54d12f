"""dispatch: what waits becomes batches, fairly, within the window, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

from sqlalchemy import text

from infinicon.domain import BatchRef, JobStatus, Lane, Stage
from infinicon.operations import dispatch as dispatching
from infinicon.operations.dispatch import LaneLimits
from infinicon.operations.policy import set_policy
from infinicon.operations.retention import end_retention
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.together import together

QUEUE_MANY = """
    WITH job AS (
        INSERT INTO jobs (tenant, id, namespace, type, lane, total) VALUES (%s, gen_random_uuid(), 1, 'ingest', 'bulk', %s)
        RETURNING tenant, id, total
    )
    INSERT INTO queued_episodes (tenant, episode, namespace, job, lane, tokens, queued_at)
    SELECT job.tenant, gen_random_uuid(), 1, job.id, 'bulk', %s, now() - interval '1 hour'
    FROM job, generate_series(1, job.total)
"""


HOLD_FOUR = text(
    "SELECT episode FROM queued_episodes WHERE tenant = :tenant ORDER BY queued_at, episode LIMIT 4 FOR UPDATE"
)


def queue(sql: Sql, pipeline: Pipeline, number: int, tokens: int = 10) -> None:
    """Bulk work that has waited for an hour: rows only, nothing to extract."""
    sql(QUEUE_MANY, pipeline.caller.tenant, number, tokens)


def batch_of(sql: Sql) -> dict[UUID, UUID]:
    return dict(sql("SELECT episode, batch FROM queued_episodes WHERE batch IS NOT NULL"))


def sizes(sql: Sql, batches: list[BatchRef]) -> list[int]:
    return [sql("SELECT episodes FROM batches WHERE id = %s", batch.batch)[0][0] for batch in batches]


def test_nothing_waits_nothing_is_made(pipeline: Pipeline, sql: Sql) -> None:
    assert pipeline.claim() == []
    assert sql("SELECT count(*) FROM batches") == [(0,)]


def test_a_batch_holds_at_most_so_many_episodes(pipeline: Pipeline, sql: Sql) -> None:
    queue(sql, pipeline, 25)
    pipeline.limits = LaneLimits(10, 10_000, 100)
    batches = pipeline.claim(Lane.BULK)

    assert sizes(sql, batches) == [10, 10, 5]
    assert len(batch_of(sql)) == 25
    assert {(batch.stage, batch.attempt, batch.lane) for batch in batches} == {(Stage.EXTRACT, 1, Lane.BULK)}


def test_a_batch_ends_with_the_episode_that_fills_it(pipeline: Pipeline, sql: Sql) -> None:
    queue(sql, pipeline, 7, tokens=40)
    pipeline.limits = LaneLimits(100, 100, 100)

    assert sizes(sql, pipeline.claim(Lane.BULK)) == [3, 3, 1]


def test_an_episode_larger_than_a_batch_goes_alone(pipeline: Pipeline, sql: Sql) -> None:
    queue(sql, pipeline, 2, tokens=5_000)
    pipeline.limits = LaneLimits(100, 100, 100)

    assert sizes(sql, pipeline.claim(Lane.BULK)) == [1, 1]


def test_the_longest_waiting_go_first(pipeline: Pipeline, sql: Sql) -> None:
    first = pipeline.put("The first one.", "And the second one.")
    second = pipeline.put("The third one.")
    pipeline.limits = LaneLimits(2, 10_000, 1)
    (batch,) = pipeline.claim()

    claimed = {row[0] for row in sql("SELECT episode FROM queued_episodes WHERE batch = %s", batch.batch)}
    assert claimed == {result.ref.id for result in first.results}
    assert pipeline.claim() == []  # the window is full
    pipeline.run(batch)
    (batch,) = pipeline.claim()
    assert sql("SELECT episode FROM queued_episodes WHERE batch = %s", batch.batch) == [(second.results[0].ref.id,)]


def test_the_window_bounds_what_is_open(pipeline: Pipeline, sql: Sql) -> None:
    queue(sql, pipeline, 50)
    pipeline.limits = LaneLimits(5, 10_000, 3)

    assert len(pipeline.claim(Lane.BULK)) == 3
    assert pipeline.claim(Lane.BULK) == []
    sql("UPDATE batches SET state = 'closed' WHERE id = (SELECT id FROM batches LIMIT 1)")
    assert len(pipeline.claim(Lane.BULK)) == 1
    pipeline.limits = LaneLimits(5, 10_000, 2)  # a window that was made smaller lets nothing more in
    assert pipeline.claim(Lane.BULK) == []


def test_lanes_have_windows_of_their_own(pipeline: Pipeline, sql: Sql) -> None:
    queue(sql, pipeline, 50)
    pipeline.limits = LaneLimits(5, 10_000, 2)
    assert len(pipeline.claim(Lane.BULK)) == 2

    pipeline.put("A word in between.")
    (batch,) = pipeline.claim(Lane.INTERACTIVE)
    assert batch.lane is Lane.INTERACTIVE


def test_a_small_tenant_does_not_wait_behind_a_large_one(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline], sweeper: Database, sql: Sql
) -> None:
    small = new_pipeline()
    queue(sql, pipeline, 10_000)
    queue(sql, small, 3)
    sql("UPDATE queued_episodes SET queued_at = now() WHERE tenant = %s", small.caller.tenant)
    limits = LaneLimits(100, 100_000, 4)

    first_round = dispatching.dispatch(sweeper, Lane.BULK, limits)

    assert [batch.tenant for batch in first_round].count(small.caller.tenant) == 1
    assert len(first_round) == 4
    # As long as the small one has an open batch, the large one is behind only in the order; nothing else waits.
    sql("UPDATE batches SET state = 'closed' WHERE tenant = %s", pipeline.caller.tenant)
    queue(sql, small, 3)
    second_round = dispatching.dispatch(sweeper, Lane.BULK, limits)
    assert [batch.tenant for batch in second_round].count(small.caller.tenant) == 1


def test_the_tenant_with_the_fewest_open_batches_comes_next(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline], sweeper: Database, sql: Sql
) -> None:
    others = [new_pipeline() for _ in range(3)]
    for one in (pipeline, *others):
        queue(sql, one, 100)

    claimed = dispatching.dispatch(sweeper, Lane.BULK, LaneLimits(5, 100_000, 10))

    counts = sorted([batch.tenant for batch in claimed].count(one.caller.tenant) for one in (pipeline, *others))
    assert counts == [2, 2, 3, 3]


def test_a_batch_serves_many_jobs_and_namespaces(pipeline: Pipeline, sql: Sql) -> None:
    scopes = [pipeline.scope(name) for name in ("one", "two", "three")]
    made = [
        (scope, pipeline.put(f"Fact {number} of {scope.namespace_id}.", scope=scope))
        for scope in scopes
        for number in range(2)
    ]

    (batch,) = pipeline.claim()
    assert sizes(sql, [batch]) == [6]
    pipeline.run(batch)

    for scope, reply in made:
        job = pipeline.job(reply.job_id, scope)
        assert (job.status, job.progress.done) == (JobStatus.COMPLETED, 1)
        assert sorted(map(str, pipeline.found("fact", scope=scope))) == [
            f"Fact {n} of {scope.namespace_id}." for n in range(2)
        ]


def test_a_tenant_never_shares_a_batch(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline], sql: Sql) -> None:
    other = new_pipeline()
    pipeline.put("Mine.")
    other.put("Theirs.")
    dispatching.dispatch(pipeline.sweeper, Lane.INTERACTIVE, pipeline.limits)

    rows = sql("SELECT q.tenant, b.tenant FROM queued_episodes q JOIN batches b ON b.id = q.batch")
    assert sorted(rows) == sorted((t, t) for t in (pipeline.caller.tenant, other.caller.tenant))


def test_dispatchers_at_once_claim_nothing_twice_and_keep_the_window(
    pipeline: Pipeline, sweeper: Database, sql: Sql
) -> None:
    queue(sql, pipeline, 600)
    limits = LaneLimits(7, 100_000, 5)
    claimed: list[BatchRef] = []
    for _ in range(6):
        answers = together(*[lambda: dispatching.dispatch(sweeper, Lane.BULK, limits)] * 4)
        now = [batch for answer in answers for batch in answer]
        assert len(now) == 5
        claimed += now
        sql("UPDATE batches SET state = 'closed'")

    assert len({batch.batch for batch in claimed}) == 30
    assert sum(sizes(sql, claimed)) == 30 * 7
    assert len(batch_of(sql)) == 30 * 7  # each episode is in one batch, since a row holds one


def test_rows_that_another_holds_are_passed_over(pipeline: Pipeline, sweeper: Database, sql: Sql) -> None:
    """A claim waits for nobody: not for a transaction that requeues, nor for one that hangs."""
    queue(sql, pipeline, 10)
    limits = LaneLimits(100, 100_000, 5)
    with ThreadPoolExecutor(1) as pool, pipeline.app.transaction(pipeline.caller.tenant) as tx:
        locked = {row.episode for row in tx.execute(HOLD_FOUR, {"tenant": pipeline.caller.tenant})}
        (batch,) = pool.submit(dispatching.dispatch, sweeper, Lane.BULK, limits).result(10)
        assert sizes(sql, [batch]) == [6]
        assert locked.isdisjoint(batch_of(sql))
    (rest,) = dispatching.dispatch(sweeper, Lane.BULK, limits)
    assert sizes(sql, [rest]) == [4]


def test_failed_and_cancelled_ones_do_not_wait(pipeline: Pipeline, sql: Sql) -> None:
    queue(sql, pipeline, 2)
    sql(
        "UPDATE queued_episodes SET state = 'failed' WHERE episode = (SELECT min(episode::text)::uuid FROM queued_episodes)"
    )
    sql("UPDATE queued_episodes SET state = 'cancelled' WHERE state = 'waiting'")

    assert pipeline.claim(Lane.BULK) == []


def test_what_is_not_needed_any_more_is_forgotten_in_its_time(pipeline: Pipeline, sweeper: Database, sql: Sql) -> None:
    pipeline.put("Something to finish.")
    pipeline.drain()
    pipeline.put("Something that stays open.")
    (still_open,) = pipeline.claim()
    pipeline.ingest(key="kept", body=b"x")
    tasks = {f"{uuid4()}-{state}": state for state in ("SUCCESS", "FAILURE", "STARTED")}
    for task, state in tasks.items():
        done = "now()" if state != "STARTED" else "NULL"
        sql(f"INSERT INTO celery.task_results (task_id, status, done_at) VALUES (%s, %s, {done})", task, state)

    def left() -> tuple[int, int, int]:
        return (
            sql("SELECT count(*) FROM batches")[0][0],
            sql("SELECT count(*) FROM idempotency WHERE tenant = %s", pipeline.caller.tenant)[0][0],
            sql("SELECT count(*) FROM celery.task_results WHERE task_id = ANY(%s)", list(tasks))[0][0],
        )

    dispatching.forget(sweeper, 3600)
    assert left() == (2, 1, 3)
    for statement in (
        "UPDATE batches SET updated_at = now() - interval '2 hours'",
        "UPDATE idempotency SET created_at = now() - interval '2 hours'",
        "UPDATE celery.task_results SET updated_at = now() - interval '2 hours', done_at = done_at - interval '2 hours'",
    ):
        sql(statement)
    dispatching.forget(sweeper, 3600)
    assert left() == (1, 0, 0)  # a task that never ended, because its worker died, goes too
    assert sql("SELECT id FROM batches") == [(still_open.batch,)]


def test_a_job_is_kept_as_long_as_its_namespace_says_and_while_it_can_be_tried_again(
    pipeline: Pipeline, sweeper: Database, sql: Sql
) -> None:
    names = ("a", "b", "c", "d")
    over, kept, failed, young = (pipeline.put("Something.", scope=pipeline.scope(name)).job_id for name in names)
    pipeline.cancel(failed, pipeline.scope("c"))
    pipeline.drain()
    set_policy(pipeline.app, pipeline.caller, pipeline.scope("b"), {"job_retention_seconds": 10_000})
    set_policy(pipeline.app, pipeline.caller, pipeline.scope("c"), {"job_retention_seconds": 1})
    set_policy(pipeline.app, pipeline.caller, pipeline.scope("d"), {"job_retention_seconds": 60})
    sql("UPDATE jobs SET updated_at = now() - interval '2 hours' WHERE tenant = %s", pipeline.caller.tenant)
    sql("UPDATE jobs SET updated_at = now() - interval '50 seconds' WHERE id = %s", young)

    end_retention(sweeper, 3600, 3600)
    left = {row[0] for row in sql("SELECT id FROM jobs WHERE tenant = %s", pipeline.caller.tenant)}
    assert left == {kept, failed, young}
    assert over not in left
    sql("UPDATE jobs SET updated_at = now() - interval '70 seconds' WHERE id = %s", young)
    end_retention(sweeper, 3600, 3600)
    assert {row[0] for row in sql("SELECT id FROM jobs WHERE tenant = %s", pipeline.caller.tenant)} == {kept, failed}
