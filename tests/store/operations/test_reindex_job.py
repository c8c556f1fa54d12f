"""The job of a reindex: one at a time, its slices fail, end and come back like episodes, and nobody else may."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from infinicon.domain import BatchRef, IngestEpisode, JobStatus, Lane, Permission
from infinicon.errors import InvalidRequest, NotFound, PluginFailed, Unauthorized
from infinicon.operations.dispatch import LaneLimits
from infinicon.ports import Vectors
from infinicon.store import slices
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline, WordEmbedder
from tests.store.operations.indexes import COUNTED, COUNTERS, INDEX, answers, fill, reindexed
from tests.together import together


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some memories a slice, so that there are several."""
    monkeypatch.setattr(slices, "MEMORIES", 8)
    monkeypatch.setattr(slices, "TOKENS", 400)


def test_one_at_a_time_in_a_namespace(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline)
    pipeline.put("Elsewhere.", scope=pipeline.scope("elsewhere"))
    jobs = together(*[pipeline.reindex] * 6)

    assert len({job.id for job in jobs}) == 1
    assert pipeline.reindex(pipeline.scope("elsewhere")).id != jobs[0].id
    pipeline.drain()
    assert pipeline.job(jobs[0].id).status is JobStatus.COMPLETED
    assert pipeline.reindex().id != jobs[0].id


def test_an_empty_namespace_is_done_at_once(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.ingest()
    reindexed(pipeline)
    assert sql(COUNTERS, pipeline.caller.tenant) == sql(COUNTED, pipeline.caller.tenant)


def test_a_large_memory_has_a_slice_of_its_own(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("A small one.", " ".join(map(str, range(2000))), "Another small one.")
    pipeline.drain()
    index = sql(INDEX, pipeline.caller.tenant)
    pipeline.reindex()
    tokens = [row[0] for row in sql("SELECT tokens FROM queued_episodes WHERE tenant = %s", pipeline.caller.tenant)]
    pipeline.drain()

    assert sorted(number > 2000 for number in tokens)[-2:] == [False, True]  # the episode itself, beside what it says
    assert max(number for number in tokens if number < 2000) <= 2 * slices.TOKENS
    assert sql(INDEX, pipeline.caller.tenant) == index


class Choking(WordEmbedder):
    """Fails for a text outside `embed`, where the operation cannot tell which one it was."""

    def chunk(self, texts):  # type: ignore[no-untyped-def] # as WordEmbedder
        if any("number 20" in text for text in texts):
            raise ValueError("indigestible")
        return super().chunk(texts)


def run_all(pipeline: Pipeline) -> None:
    due: Sequence[BatchRef] = pipeline.claim(Lane.BULK)
    for _ in range(60):
        for ref in due:
            try:
                pipeline.run(ref)
            except PluginFailed:
                continue
        due = [*pipeline.reconcile(), *pipeline.claim(Lane.BULK)]
        if not due:
            return
    raise AssertionError("it never ends")


def test_a_slice_that_cannot_be_embedded_fails_alone_and_its_rows_stay(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline)
    before, index = answers(pipeline), sql(INDEX, pipeline.caller.tenant)
    good, pipeline.embedder = pipeline.embedder, Choking()
    job = pipeline.reindex()
    run_all(pipeline)

    found = pipeline.job(job.id)
    assert (found.status, found.progress.failed) == (JobStatus.FAILED, 1)
    assert found.error is not None
    assert found.error.details["stage"] == "embed"
    pipeline.embedder = good
    assert answers(pipeline) == before
    assert sql(INDEX, pipeline.caller.tenant) == index

    sql("DELETE FROM space_rows WHERE tenant = %s", pipeline.caller.tenant)
    again = pipeline.retry(job.id)
    assert (again.status, again.progress.waiting) == (JobStatus.QUEUED, 1)
    pipeline.drain()
    assert pipeline.job(job.id).status is JobStatus.COMPLETED
    texts = {
        row[0]
        for row in sql(
            "SELECT content FROM memories m JOIN space_rows s ON s.memory = m.id WHERE s.tenant = %s",
            pipeline.caller.tenant,
        )
    }
    assert "Fact number 20 of many, about subject 6." in texts
    reindexed(pipeline)
    assert answers(pipeline) == before


def test_a_retry_does_not_start_a_second_one(pipeline: Pipeline) -> None:
    fill(pipeline)
    job = pipeline.reindex()
    pipeline.cancel(job.id)
    second = pipeline.reindex()
    assert second.id != job.id

    assert pipeline.retry(job.id).status is JobStatus.CANCELLED
    pipeline.drain()
    assert pipeline.job(second.id).status is JobStatus.COMPLETED
    assert pipeline.retry(job.id).status is JobStatus.QUEUED
    assert pipeline.reindex().id == job.id


def test_a_cancelled_one_leaves_the_index_whole(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline)
    before, index = answers(pipeline), sql(INDEX, pipeline.caller.tenant)
    pipeline.limits = LaneLimits(2, 10_000, 100)
    job = pipeline.reindex()
    first, *rest = [pipeline.embed(pipeline.extract(ref)) for ref in pipeline.claim(Lane.BULK)]
    pipeline.index(first)
    assert pipeline.cancel(job.id).status is JobStatus.CANCELLED
    for ref in rest:
        pipeline.index(ref)

    assert pipeline.job(job.id).status is JobStatus.CANCELLED
    assert answers(pipeline) == before
    assert sql(INDEX, pipeline.caller.tenant) == index
    assert sql(COUNTERS, pipeline.caller.tenant) == sql(COUNTED, pipeline.caller.tenant)
    assert sql("SELECT count(*) FROM staged_vectors WHERE tenant = %s", pipeline.caller.tenant) == [(0,)]


class Refusing(WordEmbedder):
    def embed(self, texts: Sequence[str]) -> Vectors:
        if any("number 20" in text for text in texts):
            raise PluginFailed("not this one")
        return super().embed(texts)


def test_a_memory_without_a_vector_is_named_in_the_job(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline)
    pipeline.embedder = Refusing()
    job = pipeline.reindex()
    pipeline.drain()

    found = pipeline.job(job.id)
    assert found.status is JobStatus.COMPLETED
    ((memory,),) = sql("SELECT memory FROM space_rows WHERE tenant = %s AND vector IS NULL", pipeline.caller.tenant)
    assert found.result == {"warnings": [{"code": "not_embedded", "memoryId": str(memory)}]}
    pipeline.embedder = WordEmbedder()
    assert "Fact number 20 of many, about subject 6." in pipeline.found("Fact number 20")


def test_sending_an_episode_again_does_not_touch_it(pipeline: Pipeline) -> None:
    note = IngestEpisode("text/plain", "An old acquaintance.", dedupe_key="old")
    pipeline.ingest(note)
    pipeline.drain()
    job = pipeline.reindex()
    again = pipeline.ingest(note)

    assert pipeline.job(again.job_id).status is JobStatus.COMPLETED
    pipeline.drain()
    assert pipeline.job(job.id).status is JobStatus.COMPLETED


def test_who_may_and_of_what(pipeline: Pipeline) -> None:
    fill(pipeline)
    with pytest.raises(NotFound):
        pipeline.reindex(pipeline.scope("nowhere"))
    for narrow in (pipeline.scope(agent="a"), pipeline.scope(session="s"), pipeline.scope(filters={"a": 1})):
        with pytest.raises(InvalidRequest):
            pipeline.reindex(narrow)
    everything = pipeline.caller
    for permission in Permission:
        pipeline.caller = type(everything)(
            everything.tenant, everything.tenant_name, everything.key, frozenset({permission})
        )
        if permission is Permission.ADMIN:
            pipeline.reindex()
        else:
            with pytest.raises(Unauthorized):
                pipeline.reindex()
