"""getJob: what a job is doing, and what it has become; it never goes back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from infinicon.domain import BatchRef, IngestReply, Job, JobStatus, Lane, Permission, Scope, Stage
from infinicon.errors import NotFound, Unauthorized, Unavailable
from infinicon.operations.dispatch import LaneLimits
from infinicon.store import results
from infinicon.store.database import Database
from tests.conftest import Cluster
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline

RANK = [JobStatus.QUEUED, JobStatus.RUNNING, JobStatus.COMPLETED]


@pytest.fixture
def celery(cluster: Cluster) -> Database:
    """As Celery's result backend sees it."""
    return Database(cluster.results_url, pool_size=1, vectors=False)


def report(celery: Database, ref: BatchRef, state: str) -> None:
    """What Celery records of a stage's task."""
    with celery.transaction(None) as tx:
        results.upsert(tx, f"{ref.batch}-{ref.stage}-{ref.attempt}", None, state, None, done=state == "SUCCESS")


def where(job: Job) -> tuple[int, int, int, int, int]:
    p = job.progress
    return p.waiting, p.extract, p.embed, p.index, p.done


def test_from_queued_to_completed(pipeline: Pipeline) -> None:
    job = pipeline.put("One fact.", "Another fact.").job_id

    def seen() -> tuple[JobStatus, Stage | None, tuple[int, int, int, int, int]]:
        found = pipeline.job(job)
        assert found.progress.total == 2
        return found.status, found.stage, where(found)

    assert seen() == (JobStatus.QUEUED, None, (2, 0, 0, 0, 0))
    (ref,) = pipeline.claim()
    assert seen() == (JobStatus.QUEUED, Stage.EXTRACT, (0, 2, 0, 0, 0))
    while_held = []

    def fail() -> None:
        with pipeline.leases.stage(ref):
            while_held.append(seen())
            raise Unavailable("away")

    with pytest.raises(Unavailable):
        fail()
    assert while_held == [(JobStatus.RUNNING, Stage.EXTRACT, (0, 2, 0, 0, 0))]
    assert seen()[0] is JobStatus.RUNNING  # nobody works on it just now
    (ref,) = pipeline.reconcile()
    ref = pipeline.extract(ref)
    assert seen() == (JobStatus.RUNNING, Stage.EMBED, (0, 0, 2, 0, 0))
    ref = pipeline.embed(ref)
    assert seen() == (JobStatus.RUNNING, Stage.INDEX, (0, 0, 0, 2, 0))
    pipeline.index(ref)
    assert seen() == (JobStatus.COMPLETED, None, (0, 0, 0, 0, 2))


def test_the_stage_is_that_of_the_slowest(pipeline: Pipeline) -> None:
    pipeline.limits = LaneLimits(1, 10_000, 100)
    job = pipeline.put("One fact.", "Another fact.", "A third fact.", "A fourth fact.").job_id
    first, second, third, fourth = pipeline.claim()
    pipeline.run(first)
    second = pipeline.embed(pipeline.extract(second))
    third = pipeline.extract(third)

    found = pipeline.job(job)
    assert (found.status, found.stage, where(found)) == (JobStatus.RUNNING, Stage.EXTRACT, (0, 1, 1, 1, 1))
    pipeline.run(fourth)
    assert pipeline.job(job).stage is Stage.EMBED
    pipeline.run(third)
    assert pipeline.job(job).stage is Stage.INDEX
    pipeline.run(second)
    assert pipeline.job(job).status is JobStatus.COMPLETED


def test_celerys_word_that_a_task_has_started_makes_it_run(pipeline: Pipeline, celery: Database) -> None:
    job = pipeline.put("One fact.").job_id
    (ref,) = pipeline.claim()
    report(celery, replace(ref, attempt=2), "STARTED")  # of another attempt
    report(celery, replace(ref, batch=uuid4()), "STARTED")  # of another batch
    report(celery, replace(ref, stage=Stage.EMBED), "STARTED")  # of another stage
    assert pipeline.job(job).status is JobStatus.QUEUED
    report(celery, ref, "STARTED")
    assert pipeline.job(job).status is JobStatus.RUNNING
    celery.close()


def test_lost_results_are_no_matter(pipeline: Pipeline, celery: Database, sql: Sql) -> None:
    job = pipeline.put("One fact.").job_id
    (ref,) = pipeline.claim()
    report(celery, ref, "STARTED")
    ref = pipeline.extract(ref)
    sql("DELETE FROM celery.task_results")
    assert pipeline.job(job).status is JobStatus.RUNNING
    pipeline.index(pipeline.embed(ref))
    report(
        celery, BatchRef(ref.tenant, ref.batch, 1, Stage.EXTRACT, ref.lane), "STARTED"
    )  # a late word changes nothing
    assert pipeline.job(job).status is JobStatus.COMPLETED
    celery.close()


def test_it_never_goes_back_while_everything_goes_on(pipeline: Pipeline) -> None:
    """Polled from outside while batches fail for a while, come back, and finish."""
    pipeline.limits = LaneLimits(2, 10_000, 3)
    job = pipeline.put(*[f"Fact number {number}." for number in range(24)], lane=Lane.BULK).job_id
    seen: list[Job] = []
    done = threading.Event()

    def poll() -> None:
        while not done.is_set():
            seen.append(pipeline.job(job))

    poller = threading.Thread(target=poll)
    poller.start()
    tries: dict[UUID, int] = {}
    due = pipeline.claim(Lane.BULK)
    while due:
        for ref in due:
            tries[ref.batch] = tries.get(ref.batch, 0) + 1
            if tries[ref.batch] == 1:
                with pytest.raises(Unavailable), pipeline.leases.stage(ref):
                    raise Unavailable("away")
            else:
                pipeline.run(ref)
        due = pipeline.reconcile() + pipeline.claim(Lane.BULK)
    seen.append(pipeline.job(job))
    done.set()
    poller.join()

    order = [RANK.index(found.status) for found in seen]
    assert order == sorted(order)
    assert order[-1] == 2
    assert set(order) >= {1, 2}
    dones = [found.progress.done for found in seen]
    assert dones == sorted(dones)
    for found in seen:
        p = found.progress
        assert p.waiting + p.extract + p.embed + p.index + p.done + p.failed == p.total == 24
        assert found.created_at <= found.updated_at


def test_unknown_foreign_and_malformed_are_alike(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]) -> None:
    mine = pipeline.put("Mine.", scope=pipeline.scope(agent="a", session="s"))
    other = new_pipeline()
    other.put("Theirs.")  # so that the namespace exists there too
    job = str(mine.job_id)
    answers = set()
    for asking, scope, asked in (
        (pipeline, pipeline.scope(), str(uuid4())),
        (other, other.scope(), job),
        (pipeline, pipeline.scope("elsewhere"), job),
        (pipeline, pipeline.scope(agent="b"), job),
        (pipeline, pipeline.scope(agent="a", session="t"), job),
        *(
            (pipeline, pipeline.scope(), wrong)
            for wrong in ("", "x", "{" + job + "}", job.replace("-", ""), "urn:uuid:" + job, job + "\n", "\x00", "'")
        ),
    ):
        with pytest.raises(NotFound) as fault:
            asking.job(asked, scope)
        answers.add((fault.value.code, fault.value.message, repr(fault.value.details)))
    assert len(answers) == 1
    for scope in (
        pipeline.scope(),
        pipeline.scope(agent="a"),
        pipeline.scope(agent="a", session="s"),
        pipeline.scope(session="s"),
    ):
        assert pipeline.job(job, scope).id == mine.job_id
    assert pipeline.job(job.upper()).id == mine.job_id


def test_who_may_ask(pipeline: Pipeline) -> None:
    reply: IngestReply = pipeline.put("Mine.")
    with pytest.raises(Unauthorized):
        pipeline.job(reply.job_id, Scope("another tenant", "notes"))
    pipeline.caller = replace(pipeline.caller, permissions=frozenset({Permission.QUERY}))
    with pytest.raises(Unauthorized):
        pipeline.job(reply.job_id)
    pipeline.caller = replace(pipeline.caller, permissions=frozenset({Permission.ADMIN}))
    assert pipeline.job(reply.job_id).id == reply.job_id


def test_a_label_and_a_lane_are_kept(pipeline: Pipeline, sql: Sql) -> None:
    few = pipeline.put(*["Few of them."] * 16)
    many = pipeline.put(*["Many of them."] * 17)
    forced = pipeline.put("Only one.", lane=Lane.BULK)

    lanes: dict[UUID, str] = dict(sql("SELECT id, lane FROM jobs WHERE tenant = %s", pipeline.caller.tenant))
    assert [lanes[reply.job_id] for reply in (few, many, forced)] == ["interactive", "bulk", "bulk"]
