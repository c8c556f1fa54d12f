"""Cancel and retry: what is cancelled never becomes visible, neighbours go on, and what failed comes back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from sqlalchemy import event

from infinicon.domain import BatchRef, IngestEpisode, IngestReply, IngestStatus, JobStatus, Lane, Permission, Stage
from infinicon.errors import LeaseLost, NotFound, PluginFailed, Unauthorized
from infinicon.operations import waiting
from infinicon.operations.dispatch import LaneLimits
from infinicon.ports import Extraction, Extractor, SourceEpisode
from infinicon.store import batches
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.together import together
from tests.waiting import wait_until

STATES = "SELECT state, count(*) FROM queued_episodes WHERE tenant = %s GROUP BY 1 ORDER BY 1"
VISIBLE = "SELECT DISTINCT content FROM memories WHERE tenant = %s AND status = 'active' ORDER BY 1"


class Picky:
    """An extractor that fails for texts that hold a word, until it is healed."""

    name, version = "picky", "1"

    def __init__(self, inner: Extractor, word: str) -> None:
        self._inner = inner
        self.word: str | None = word

    def supports(self, content_type: str) -> bool:
        return self._inner.supports(content_type)

    def extract(self, episode: SourceEpisode) -> Extraction:
        if self.word and self.word in str(episode.content):
            raise PluginFailed("not this one")
        return self._inner.extract(episode)


def note(content: str, key: str | None = None) -> IngestEpisode:
    return IngestEpisode("text/plain", content, dedupe_key=key)


def visible(sql: Sql, pipeline: Pipeline) -> list[str]:
    return [row[0] for row in sql(VISIBLE, pipeline.caller.tenant)]


def advanced(pipeline: Pipeline, ref: BatchRef, stage: Stage) -> BatchRef:
    """The batch, up to a stage."""
    if stage is not Stage.EXTRACT:
        ref = pipeline.extract(ref)
    return pipeline.embed(ref) if stage is Stage.INDEX else ref


def test_what_waits_never_runs(pipeline: Pipeline, sql: Sql) -> None:
    """B032: cancelled while no worker is there, it stays cancelled when they come."""
    reply = pipeline.put("Never mind.", "Forget it.")
    before = pipeline.job(reply.job_id)
    job = pipeline.cancel(reply.job_id)

    assert (job.status, job.stage) == (JobStatus.CANCELLED, None)
    assert job.error is not None
    assert (job.error.code, job.error.retryable) == ("cancelled", False)
    assert job.updated_at > before.updated_at
    assert (job.progress.total, job.progress.waiting, job.progress.done) == (2, 0, 0)
    assert pipeline.claim() == []
    assert sql(STATES, pipeline.caller.tenant) == [("cancelled", 2)]
    assert sql("SELECT DISTINCT status FROM memories WHERE tenant = %s", pipeline.caller.tenant) == [("failed",)]
    failed = waiting.failed(pipeline.app, pipeline.caller.tenant, [r.ref.id for r in reply.results])
    assert {fault.code for fault in failed.values()} == {"cancelled"}
    assert pipeline.query("never").warnings == []  # nobody waits for it


@pytest.mark.parametrize("stage", [Stage.EXTRACT, Stage.EMBED, Stage.INDEX])
def test_nothing_of_it_becomes_visible_and_the_neighbour_is_unharmed(
    pipeline: Pipeline, sql: Sql, stage: Stage
) -> None:
    """B033, B034: both jobs are in one batch, and say some of the same."""
    unwanted = pipeline.put("The heron flew. Only here: the tide was out.", "Another unwanted one.")
    wanted = pipeline.put("The heron flew. The boat stayed.", "A wanted one.")
    (ref,) = pipeline.claim()
    ref = advanced(pipeline, ref, stage)

    assert pipeline.cancel(unwanted.job_id).status is JobStatus.CANCELLED
    pipeline.run(ref)

    job = pipeline.job(wanted.job_id)
    assert (job.status, job.progress.done, job.progress.failed) == (JobStatus.COMPLETED, 2, 0)
    assert pipeline.job(unwanted.job_id).status is JobStatus.CANCELLED
    shown = visible(sql, pipeline)
    assert {"The heron flew.", "The boat stayed.", "A wanted one."} <= set(shown)
    assert not [content for content in shown if "tide" in content or "unwanted" in content]
    assert not [content for content in pipeline.found("tide unwanted", 50) if "tide" in str(content)]
    indexed = sql(
        "SELECT count(*) FROM space_rows s JOIN memories m ON m.id = s.memory WHERE s.tenant = %s AND m.status <> 'active'",
        pipeline.caller.tenant,
    )
    assert indexed == [(0,)]
    assert sql("SELECT count(*) FROM staged_vectors WHERE tenant = %s", pipeline.caller.tenant) == [(0,)]
    assert sql("SELECT count(*) FROM batches WHERE tenant = %s AND state = 'open'", pipeline.caller.tenant) == [(0,)]


@pytest.mark.parametrize("stage", [Stage.EXTRACT, Stage.EMBED, Stage.INDEX])
def test_a_stage_that_is_at_work_writes_nothing_of_it(
    pipeline: Pipeline, sql: Sql, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage has read everything when the job is cancelled, and writes after."""
    unwanted = pipeline.put("The heron flew. The tide was out.")
    wanted = pipeline.put("The boat stayed.")
    (ref,) = pipeline.claim()
    ref = advanced(pipeline, ref, stage)
    hold = batches.hold

    def cancelled_first(tenant: int, tx: object, batch: UUID, token: UUID) -> None:
        monkeypatch.setattr(batches, "hold", hold)
        pipeline.cancel(unwanted.job_id)
        hold(tenant, tx, batch, token)  # type: ignore[arg-type]  # it is a transaction

    monkeypatch.setattr(batches, "hold", cancelled_first)
    pipeline.run(ref)

    assert visible(sql, pipeline) == ["The boat stayed."]
    assert pipeline.job(unwanted.job_id).status is JobStatus.CANCELLED
    assert pipeline.job(wanted.job_id).status is JobStatus.COMPLETED
    assert sql("SELECT count(*) FROM space_rows WHERE tenant = %s", pipeline.caller.tenant) == [(1,)]


def test_it_waits_for_what_is_being_published(pipeline: Pipeline, sql: Sql) -> None:
    """A cancel that comes when index has made some of it visible comes after it: the job completed, and says so."""
    reply = pipeline.put("The heron flew.")
    (ref,) = pipeline.claim()
    ref = advanced(pipeline, ref, Stage.INDEX)
    halfway, go_on = threading.Event(), threading.Event()

    def pause(_c: object, _cursor: object, statement: str, *_: object) -> None:
        if "FROM queued_episodes q" in statement and "UPDATE memories" in statement and "links" not in statement:
            halfway.set()
            assert go_on.wait(30)

    event.listen(pipeline.app._engine, "before_cursor_execute", pause)
    try:
        with ThreadPoolExecutor(2) as pool:
            indexed = pool.submit(pipeline.index, ref)
            assert halfway.wait(30)
            cancelled = pool.submit(pipeline.cancel, reply.job_id)
            wait_until(lambda: cancelled.done() or waiters(sql, "held AS"), "the cancel waits for index")
            early = cancelled.done()
            go_on.set()
            indexed.result(30)
            assert cancelled.result(30).status is JobStatus.COMPLETED
            assert not early
    finally:
        go_on.set()
        event.remove(pipeline.app._engine, "before_cursor_execute", pause)
    assert pipeline.found("heron") == ["The heron flew."]


def waiters(sql: Sql, words: str) -> bool:
    ((number,),) = sql(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND position(%s IN query) > 0", words
    )
    return bool(number)


def test_a_job_whose_worker_is_dead_is_cancelled_at_once(pipeline: Pipeline, sql: Sql) -> None:
    """B010: nothing of a dead owner stands in the way, and its batch ends."""
    reply = pipeline.put("Held by the dead.")
    (ref,) = pipeline.claim()
    with pipeline.app.transaction(ref.tenant) as tx:
        assert batches.lease(ref, tx, uuid4(), 30)
    assert pipeline.job(reply.job_id).status is JobStatus.RUNNING

    assert pipeline.cancel(reply.job_id).status is JobStatus.CANCELLED

    sql("UPDATE batches SET lease_until = now() - interval '1 second' WHERE id = %s", ref.batch)
    (again,) = pipeline.reconcile()
    pipeline.run(again)
    assert visible(sql, pipeline) == []
    assert sql("SELECT state FROM batches WHERE id = %s", ref.batch) == [("closed",)]


def test_a_part_that_is_done_stays(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.limits = LaneLimits(1, 10_000, 100)
    reply = pipeline.put("First.", "Second.", "Third.")
    first, second, _ = pipeline.claim()
    pipeline.run(first)
    pipeline.extract(second)

    job = pipeline.cancel(reply.job_id)

    assert (job.status, job.progress.done, job.progress.total) == (JobStatus.CANCELLED, 1, 3)
    assert len(visible(sql, pipeline)) == 1
    assert pipeline.reconcile() == []


def test_what_is_over_stays_as_it_is(pipeline: Pipeline) -> None:
    done = pipeline.put("Done.").job_id
    pipeline.drain()
    before = pipeline.job(done)
    assert pipeline.cancel(done) == before
    assert pipeline.retry(done) == before
    gone = pipeline.put("Gone.").job_id
    cancelled = pipeline.cancel(gone)
    assert pipeline.cancel(gone) == cancelled
    waiting_one = pipeline.put("Waiting.").job_id
    assert pipeline.retry(waiting_one) == pipeline.job(waiting_one)


def test_the_same_episode_again_is_queued_again(pipeline: Pipeline, sql: Sql) -> None:
    """DESIGN 4: the original ref, deduplicated, and its work starts anew under the new job."""
    first = pipeline.ingest(note("The heron flew.", "k"))
    pipeline.cancel(first.job_id)
    again = pipeline.ingest(note("The heron flew.", "k"))

    assert again.results[0].status is IngestStatus.DEDUPLICATED
    assert again.results[0].ref.id == first.results[0].ref.id
    assert pipeline.job(again.job_id).progress.total == 1
    pipeline.drain()
    assert pipeline.job(again.job_id).status is JobStatus.COMPLETED
    assert pipeline.job(first.job_id).status is JobStatus.CANCELLED
    assert pipeline.found("heron") == ["The heron flew."]


@pytest.mark.parametrize("stage", [Stage.EXTRACT, Stage.EMBED, Stage.INDEX])
def test_a_cancelled_job_comes_back(pipeline: Pipeline, sql: Sql, stage: Stage) -> None:
    reply = pipeline.put("The heron flew. The tide was out.")
    (ref,) = pipeline.claim()
    ref = advanced(pipeline, ref, stage)
    cancelled = pipeline.cancel(reply.job_id)

    job = pipeline.retry(reply.job_id)

    assert (job.status, job.error, job.progress.waiting) == (JobStatus.QUEUED, None, 1)
    assert job.updated_at > cancelled.updated_at
    pipeline.run(ref)  # what is left of the old batch: nothing
    assert visible(sql, pipeline) == []
    pipeline.drain()
    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done, job.progress.failed) == (JobStatus.COMPLETED, 1, 0)
    assert pipeline.found("heron tide") == ["The heron flew. The tide was out."]


def test_what_failed_comes_back_and_the_rest_is_not_done_twice(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.extractor = picky = Picky(pipeline.extractor, "bad")
    reply = pipeline.put("A good fact.", "A bad fact.", "Another bad fact.", "One more good fact.")
    pipeline.drain()
    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done, job.progress.failed) == (JobStatus.FAILED, 2, 2)
    picky.word = "Another bad"

    job = pipeline.retry(reply.job_id)
    assert (job.status, job.progress.done, job.progress.failed, job.progress.waiting) == (JobStatus.QUEUED, 2, 0, 2)
    pipeline.drain()
    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done, job.progress.failed) == (JobStatus.FAILED, 3, 1)
    assert job.error is not None
    assert job.error.details["stage"] == "extract"

    picky.word = None
    pipeline.retry(reply.job_id)
    pipeline.drain()
    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done, job.progress.total, job.error) == (JobStatus.COMPLETED, 4, 4, None)
    assert len(visible(sql, pipeline)) == 4
    events = sql(
        "SELECT memory, count(*) FROM events WHERE tenant = %s AND type = 'memory.indexed' GROUP BY 1 HAVING count(*) > 1",
        pipeline.caller.tenant,
    )
    assert events == []


def test_a_job_that_still_runs_may_be_retried_for_what_failed_so_far(pipeline: Pipeline) -> None:
    pipeline.extractor = picky = Picky(pipeline.extractor, "bad")
    pipeline.limits = LaneLimits(2, 10_000, 100)
    reply = pipeline.put("A bad fact.", "A good fact.", "Another good fact.", "One more good fact.")
    first, second = pipeline.claim()
    embedding = pipeline.extract(first)
    picky.word = None

    job = pipeline.retry(reply.job_id)
    assert (job.status, job.progress.failed, job.progress.waiting) == (JobStatus.RUNNING, 0, 1)
    pipeline.run(embedding)
    pipeline.run(second)
    assert pipeline.job(reply.job_id).status is JobStatus.RUNNING
    pipeline.drain()
    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done, job.progress.total) == (JobStatus.COMPLETED, 4, 4)


def test_what_another_job_took_over_is_not_waited_for(pipeline: Pipeline) -> None:
    first = pipeline.ingest(note("One.", "1"), note("Two.", "2"), note("Three.", "3"))
    pipeline.cancel(first.job_id)
    second = pipeline.ingest(note("Two.", "2"))
    job = pipeline.retry(first.job_id)
    assert (job.progress.total, job.progress.waiting) == (2, 2)
    pipeline.drain()

    for reply, total in ((first, 2), (second, 1)):
        job = pipeline.job(reply.job_id)
        assert (job.status, job.progress.done, job.progress.total) == (JobStatus.COMPLETED, total, total)


def test_a_tombstoned_episode_does_not_come_back(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.put("One.", "Two.")
    pipeline.cancel(reply.job_id)
    sql("UPDATE memories SET status = 'tombstoned' WHERE id = %s", reply.results[0].ref.id)
    assert pipeline.retry(reply.job_id).progress.total == 1
    pipeline.drain()

    assert pipeline.found("One Two") == ["Two."]
    assert pipeline.job(reply.job_id).status is JobStatus.COMPLETED


def test_parallel_calls_are_one(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.put(*[f"Fact number {n}." for n in range(20)])
    assert {job.status for job in together(*[lambda: pipeline.cancel(reply.job_id)] * 8)} == {JobStatus.CANCELLED}
    retried = together(*[lambda: pipeline.retry(reply.job_id)] * 8)
    assert {(job.status, job.progress.waiting, job.progress.total) for job in retried} == {(JobStatus.QUEUED, 20, 20)}
    pipeline.drain()
    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done) == (JobStatus.COMPLETED, 20)


def test_whatever_happens_at_once_the_job_ends_and_its_numbers_are_true(pipeline: Pipeline, sql: Sql) -> None:
    """Workers run while the job is cancelled and retried over and over."""
    pipeline.limits = LaneLimits(3, 10_000, 50)
    reply = pipeline.put(*[f"Fact number {n} of many." for n in range(30)], lane=Lane.BULK)
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            for ref in pipeline.claim(Lane.BULK) + pipeline.reconcile():
                with suppress(LeaseLost):
                    pipeline.run(ref)

    with ThreadPoolExecutor(3) as pool:
        workers = [pool.submit(work) for _ in range(3)]
        for _ in range(12):
            pipeline.cancel(reply.job_id)
            pipeline.retry(reply.job_id)
        try:
            wait_until(lambda: pipeline.job(reply.job_id).status is JobStatus.COMPLETED, "the job ends")
        finally:
            over.set()
        for worker in workers:
            worker.result(30)
    job = pipeline.job(reply.job_id)
    assert (job.progress.done, job.progress.failed, job.progress.total) == (30, 0, 30)
    assert sql("SELECT count(*) FROM queued_episodes WHERE tenant = %s", pipeline.caller.tenant) == [(0,)]
    assert sql("SELECT count(*) FROM space_rows WHERE tenant = %s", pipeline.caller.tenant) == [(30,)]


def test_unknown_and_foreign_jobs_are_not_found(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]) -> None:
    mine: IngestReply = pipeline.put("Mine.", scope=pipeline.scope(agent="a"))
    other = new_pipeline()
    other.put("Theirs.")
    for asking, scope, job in (
        (pipeline, pipeline.scope(), uuid4()),
        (other, other.scope(), mine.job_id),
        (pipeline, pipeline.scope("elsewhere"), mine.job_id),
        (pipeline, pipeline.scope(agent="b"), mine.job_id),
    ):
        for change in (asking.cancel, asking.retry):
            with pytest.raises(NotFound):
                change(job, scope)
    assert pipeline.job(mine.job_id).status is JobStatus.QUEUED
    pipeline.caller = replace(pipeline.caller, permissions=frozenset({Permission.INGEST}))
    for change in (pipeline.cancel, pipeline.retry):
        with pytest.raises(Unauthorized):
            change(mine.job_id)


def test_an_episode_that_a_cancel_could_not_see_is_dropped_before_its_stage(pipeline: Pipeline, sql: Sql) -> None:
    """The flag alone is enough."""
    reply = pipeline.put("The heron flew.")
    (ref,) = pipeline.claim()
    sql("UPDATE jobs SET cancelled = true, status = 'cancelled' WHERE id = %s", reply.job_id)
    pipeline.run(ref)

    assert visible(sql, pipeline) == []
    assert sql(STATES, pipeline.caller.tenant) == [("cancelled", 1)]
    assert sql("SELECT status FROM memories WHERE tenant = %s", pipeline.caller.tenant) == [("failed",)]
