"""reconcile: what lost its worker or its message comes back, and a batch that kills its workers gets smaller."""

from __future__ import annotations

from uuid import uuid4

import pytest

from infinicon.domain import BatchRef, IngestEpisode, JobStatus, Lane, Stage
from infinicon.errors import InfiniconError, LeaseLost
from infinicon.operations import dispatch as dispatching
from infinicon.operations.dispatch import LaneLimits
from infinicon.ports import Extraction, Extractor, SourceEpisode
from infinicon.store import batches
from tests.conftest import Cluster
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline, WordEmbedder


def killed_at_work(pipeline: Pipeline, sql: Sql, ref: BatchRef) -> None:
    """A worker takes the batch and is killed: its lease stays, and runs out."""
    with pipeline.app.transaction(ref.tenant) as tx:
        assert batches.lease(ref, tx, uuid4(), 30)
    sql("UPDATE batches SET lease_until = now() - interval '1 second' WHERE id = %s", ref.batch)


def row(sql: Sql, ref: BatchRef) -> tuple[str, str, int, int]:
    ((state, stage, attempt, faults),) = sql(
        "SELECT state, stage, attempt, faults FROM batches WHERE id = %s", ref.batch
    )
    return state, stage, attempt, faults


def sent_ago(sql: Sql, seconds: int) -> None:
    """Every batch was published so long ago."""
    sql(
        "UPDATE batches SET (not_before, published_at) = (SELECT past, past FROM (SELECT now() - make_interval(secs => %s)) AS t (past))",
        seconds,
    )


def run_or_fail(pipeline: Pipeline, ref: BatchRef, code: str) -> None:
    """A try that may fail for one reason only."""
    try:
        pipeline.run(ref)
    except InfiniconError as fault:
        if fault.code != code:
            raise


def test_a_killed_worker_costs_its_lease_and_one_fault(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.put("It survives its worker.")
    (ref,) = pipeline.claim()
    ref = pipeline.extract(ref)
    with pipeline.app.transaction(ref.tenant) as tx:
        assert batches.lease(ref, tx, uuid4(), 30)
    assert pipeline.reconcile() == []  # a lease that holds is nobody else's business

    sql("UPDATE batches SET lease_until = now() - interval '1 second' WHERE id = %s", ref.batch)
    (again,) = pipeline.reconcile()

    assert again == BatchRef(ref.tenant, ref.batch, 2, Stage.EMBED, ref.lane)
    assert row(sql, ref) == ("open", "embed", 2, 1)
    assert pipeline.reconcile() == []  # published once for this try
    pipeline.index(pipeline.embed(again))
    assert pipeline.job(reply.job_id).status is JobStatus.COMPLETED


def test_a_lost_message_comes_again_after_a_while_that_doubles(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("Nobody ever heard of it.")
    (ref,) = pipeline.claim()

    def published(seconds: int) -> list[BatchRef]:
        sent_ago(sql, seconds)
        return pipeline.reconcile()

    for wait in (30, 60, 120, 240, 480, 960, 960):
        assert published(wait - 2) == []
        assert published(wait + 2) == [ref]  # the same attempt: nobody has tried it yet
    assert row(sql, ref) == ("open", "extract", 1, 0)
    pipeline.run(ref)
    assert published(100_000) == []  # it is done


def test_a_step_forward_starts_the_wait_anew(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("Two lost messages.")
    (ref,) = pipeline.claim()
    sql("UPDATE batches SET publishes = 5")
    sent_ago(sql, 1000)
    assert pipeline.reconcile() == [ref]
    ref = pipeline.extract(ref)

    sent_ago(sql, 28)
    assert pipeline.reconcile() == []
    sent_ago(sql, 32)
    assert pipeline.reconcile() == [ref]


def test_everything_of_before_is_free_at_a_new_start(pipeline: Pipeline, cluster: Cluster, sql: Sql) -> None:
    pipeline.limits = LaneLimits(1, 10_000, 100)
    replies = [pipeline.put(f"Fact number {number}.") for number in range(3)]
    first, second, third = pipeline.claim()
    with pipeline.app.transaction(first.tenant) as tx:
        assert batches.lease(first, tx, uuid4(), 10_000)
    third = pipeline.extract(third)

    assert dispatching.abandon(cluster.sweeper_url) == 3
    again = pipeline.reconcile()

    assert {(ref.batch, ref.stage, ref.attempt) for ref in again} == {
        (first.batch, Stage.EXTRACT, 2),
        (second.batch, Stage.EXTRACT, 2),
        (third.batch, Stage.EMBED, 2),
    }
    assert {row(sql, ref)[3] for ref in again} == {0}  # no try is held against them
    with pytest.raises(LeaseLost):
        pipeline.extract(second)  # a message of before, should it turn up
    for ref in again:
        pipeline.run(ref)
    assert {pipeline.job(reply.job_id).status for reply in replies} == {JobStatus.COMPLETED}


def test_a_batch_that_kills_two_workers_is_halved_at_once(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put(*[f"Fact number {number}." for number in range(9)])
    (ref,) = pipeline.claim()
    killed_at_work(pipeline, sql, ref)
    (ref,) = pipeline.reconcile()
    killed_at_work(pipeline, sql, ref)

    halves = pipeline.reconcile()

    assert row(sql, ref)[0] == "closed"
    assert len(halves) == 2
    assert {(half.stage, half.attempt) for half in halves} == {(Stage.EXTRACT, 1)}
    sizes = [sql("SELECT count(*) FROM queued_episodes WHERE batch = %s", half.batch)[0][0] for half in halves]
    assert sorted(sizes) == [4, 5]
    assert sorted(sql("SELECT episodes FROM batches WHERE state = 'open'")) == [(4,), (5,)]


def test_halving_a_batch_takes_its_staged_vectors_along(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.put("The first of two.", "The second of two.")
    (ref,) = pipeline.claim()
    ref = pipeline.embed(pipeline.extract(ref))
    assert sql("SELECT count(*) FROM staged_vectors") == [(2,)]
    killed_at_work(pipeline, sql, ref)
    (ref,) = pipeline.reconcile()
    killed_at_work(pipeline, sql, ref)

    halves = pipeline.reconcile()

    assert sql("SELECT count(*) FROM staged_vectors") == [(0,)]
    for half in halves:
        pipeline.run(half)
    assert pipeline.job(reply.job_id).status is JobStatus.COMPLETED
    assert len(pipeline.found("of two")) == 2
    assert sql("SELECT count(*) FROM memories WHERE tenant = %s AND type = 'atom'", pipeline.caller.tenant) == [(2,)]


def work_off(pipeline: Pipeline, sql: Sql, poison: str) -> int:
    """Run everything, as workers that are killed by whatever batch holds the poison. Answers with the number of deaths."""
    deaths = 0
    due = pipeline.claim(Lane.BULK)
    for _ in range(200):
        for ref in due:
            held = sql(
                "SELECT m.content FROM queued_episodes q JOIN memories m ON m.id = q.episode WHERE q.batch = %s",
                ref.batch,
            )
            if (poison,) in held:
                killed_at_work(pipeline, sql, ref)
                deaths += 1
            else:
                pipeline.run(ref)
        due = pipeline.reconcile() + pipeline.claim(Lane.BULK)
        if not due:
            return deaths
    raise AssertionError("it never ends")


def test_the_one_that_kills_its_worker_fails_alone(pipeline: Pipeline, sql: Sql) -> None:
    poison = "This one kills whoever reads it."
    texts = [f"Harmless fact number {number}." for number in range(40)]
    texts.insert(17, poison)
    reply = pipeline.put(*texts, lane=Lane.BULK)
    neighbour = pipeline.put("Of another job, in the same batch.", lane=Lane.BULK)

    deaths = work_off(pipeline, sql, poison)

    job = pipeline.job(reply.job_id)
    assert job.status is JobStatus.FAILED
    assert (job.progress.done, job.progress.failed, job.progress.total) == (40, 1, 41)
    assert job.error is not None
    assert (job.error.code, job.error.retryable) == ("stage_timeout", True)
    assert job.error.details["stage"] == "extract"
    assert pipeline.job(neighbour.job_id).status is JobStatus.COMPLETED
    assert deaths <= 2 + 5 + 5  # the first batch twice, each half once, the one that is alone five times
    failed = sql(
        "SELECT episode, state, error ->> 'code' FROM queued_episodes WHERE tenant = %s", pipeline.caller.tenant
    )
    assert failed == [(reply.results[17].ref.id, "failed", "stage_timeout")]
    assert sql("SELECT status FROM memories WHERE id = %s", reply.results[17].ref.id) == [("failed",)]
    assert len(pipeline.found("harmless fact", limit=100)) == 41


class Choking(WordEmbedder):
    """Fails for its data outside `embed`, where the operation cannot tell which text it was."""

    def chunk(self, texts):  # type: ignore[no-untyped-def] # as WordEmbedder
        if any("indigestible" in text for text in texts):
            raise ValueError("indigestible")
        return super().chunk(texts)


def test_the_one_that_the_plugin_chokes_on_fails_alone(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.embedder = Choking()
    reply = pipeline.put(*[f"Fact number {n}." for n in range(8)], "An indigestible fact.", lane=Lane.BULK)
    due = pipeline.claim(Lane.BULK)
    for _ in range(60):
        for ref in due:
            run_or_fail(pipeline, ref, "plugin_failed")
        due = pipeline.reconcile()

    assert due == []
    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done, job.progress.failed) == (JobStatus.FAILED, 8, 1)
    assert job.error is not None
    assert (job.error.code, job.error.details["stage"]) == ("stage_timeout", "embed")
    assert sql("SELECT count(*) FROM batches WHERE state = 'open'") == [(0,)]


class Nul:
    """An extractor whose atoms Postgres does not take."""

    name, version = "nul", "1"

    def __init__(self, inner: Extractor) -> None:
        self._inner = inner

    def supports(self, content_type: str) -> bool:
        return self._inner.supports(content_type)

    def extract(self, episode: SourceEpisode) -> Extraction:
        found = self._inner.extract(episode)
        return Extraction(found.atoms, found.searchable + ("\x00" if "bad" in str(episode.content) else ""))


def test_what_postgres_refuses_is_a_fault_of_the_data_and_ends(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.extractor = Nul(pipeline.extractor)
    reply = pipeline.put("A good fact in here.", "A bad fact in here.", "Another good fact in here.", lane=Lane.BULK)
    due = pipeline.claim(Lane.BULK)
    for _ in range(30):
        for ref in due:
            run_or_fail(pipeline, ref, "internal")
        due = pipeline.reconcile()

    assert due == []
    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done, job.progress.failed) == (JobStatus.FAILED, 2, 1)


def test_a_failed_one_that_is_sent_again_starts_anew(pipeline: Pipeline, sql: Sql) -> None:
    poison = IngestEpisode("text/plain", "This one kills whoever reads it.", dedupe_key="poison")
    first = pipeline.ingest(poison, lane=Lane.BULK)
    assert work_off(pipeline, sql, str(poison.content)) == 5
    assert pipeline.job(first.job_id).status is JobStatus.FAILED
    assert pipeline.reconcile() == []  # and then it is over

    again = pipeline.ingest(poison, lane=Lane.BULK)
    (ref,) = pipeline.claim(Lane.BULK)
    assert row(sql, ref) == ("open", "extract", 1, 0)
    pipeline.run(ref)
    assert pipeline.job(again.job_id).status is JobStatus.COMPLETED
    assert pipeline.job(first.job_id).status is JobStatus.FAILED
