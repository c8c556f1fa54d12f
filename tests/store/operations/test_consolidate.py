"""Who gets which job: one at a time has a scope, whoever asks, and whoever dies."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from infinicon.domain import (
    ConsolidateRequest,
    Job,
    JobStatus,
    MemoryFilters,
    Permission,
    RunRef,
    Scope,
    Stage,
    Trigger,
)
from infinicon.errors import LeaseLost, NotFound, Overloaded, PluginFailed, Unauthorized, Unavailable
from infinicon.operations import dispatch, plans
from infinicon.operations.preview import AT_ONCE, Previews
from infinicon.operations.selecting import Bounds
from infinicon.ports import ConsolidationInput, Digest, Plan, Supersession
from infinicon.store import consolidation_runs
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline, WordEmbedder
from tests.store.operations.consolidations import Consolidations, digest, key_of, nothing
from tests.store.operations.test_consolidating import BLUE, GREEN, LYON, TURIN, put, statuses, waiting
from tests.store.operations.test_plans import fingerprint, raising
from tests.together import together


def expire_lease(sql: Sql, job: UUID) -> None:
    sql("UPDATE consolidation_runs SET lease_until = clock_timestamp() - interval '1 second' WHERE job = %s", job)


def die(made: Consolidations, ref: RunRef) -> None:
    """A worker that takes the run and is heard of no more."""
    with made.pipeline.app.transaction(ref.tenant) as tx:
        assert consolidation_runs.lease(ref, tx, uuid4(), 30)


def test_eight_at_once_are_one_job(pipeline: Pipeline) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, digest)
    jobs: list[Job] = together(*[made.ask] * 8)
    made.drain()

    assert len({job.id for job in jobs}) == 1
    assert made.job(jobs[0].id).status is JobStatus.COMPLETED
    assert len(made.stub.seen) == 1


def test_a_narrower_request_gets_the_job_that_works_there(pipeline: Pipeline) -> None:
    put(pipeline, LYON, TURIN, agent="a")
    put(pipeline, BLUE, agent="b")
    made = Consolidations(pipeline, nothing)
    whole = made.ask()

    assert made.ask(pipeline.scope(agent="a")).id == whole.id
    assert made.ask(pipeline.scope(agent="nobody")).status is JobStatus.COMPLETED


def test_agents_are_consolidated_apart_and_sessions_together(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, agent="a", session="1")
    put(pipeline, TURIN, agent="a", session="2")
    put(pipeline, "Rosa lives in Rome.", agent="b")
    put(pipeline, "Rosa lives in Pisa.")
    made = Consolidations(pipeline, digest)
    made.run()

    assert sorted(sorted(one.content for one in seen.memories) for seen in made.stub.seen) == [
        [LYON, TURIN],
        ["Rosa lives in Pisa."],
        ["Rosa lives in Rome."],
    ]
    assert sql(
        "SELECT agent_id, session_id FROM memories WHERE tenant = %s AND type = 'consolidation'", pipeline.caller.tenant
    ) == [("a", None)]


@pytest.mark.parametrize(("width", "seen"), [("session", [1, 1, 1]), ("agent", [1, 2]), ("namespace", [3])])
def test_the_policy_says_how_wide(pipeline: Pipeline, sql: Sql, width: str, seen: list[int]) -> None:
    put(pipeline, "Nothing yet.")
    sql(
        "INSERT INTO policies (tenant, namespace, consolidation_width) SELECT tenant, id, %s FROM namespaces WHERE tenant = %s",
        width,
        pipeline.caller.tenant,
    )
    Consolidations(pipeline, nothing).run()
    put(pipeline, LYON, agent="a", session="1")
    put(pipeline, TURIN, agent="a", session="2")
    put(pipeline, "Rosa lives in Rome.", agent="b")
    made = Consolidations(pipeline, nothing)
    made.run()

    assert sorted(sum(one.fresh for one in request.memories) for request in made.stub.seen) == seen


def test_filters_and_the_scope_narrow_what_is_looked_at(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, agent="a", session="1")
    put(pipeline, TURIN, agent="a", session="2")
    made = Consolidations(pipeline, nothing)
    made.run(pipeline.scope(agent="a", session="2"))
    assert [one.content for one in made.stub.seen[0].memories if one.fresh] == [TURIN]
    assert waiting(sql, pipeline) == (1, 1)
    made.run(filters=MemoryFilters(created_before=datetime.now(UTC) - timedelta(days=1)))
    assert waiting(sql, pipeline) == (1, 1)
    made.run(filters=MemoryFilters(created_after=datetime.now(UTC) - timedelta(days=1)))
    assert [one.content for one in made.stub.seen[1].memories if one.fresh] == [LYON]


def test_a_dead_worker_frees_its_scope(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, digest)
    job = made.ask()
    (ref,) = made.published()
    die(made, ref)
    assert made.job(job.id).status is JobStatus.RUNNING
    assert made.job(job.id).stage is Stage.CONSOLIDATE
    assert made.published(lost=True) == []
    expire_lease(sql, job.id)
    (again,) = made.published(lost=True)
    assert made.work(again) is None

    assert made.job(job.id).status is JobStatus.COMPLETED
    assert len([one for one in statuses(sql, pipeline) if one == f"{LYON} {TURIN}"]) == 1


def test_a_plug_in_that_kills_its_worker_is_given_up(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, digest, attempts=2)
    job = made.ask()
    refs = made.published()
    before = fingerprint(sql, pipeline)
    for _ in range(2):
        die(made, refs[0])
        expire_lease(sql, job.id)
        refs = made.published(lost=True)
    assert made.work(refs[0]) is None

    failed = made.job(job.id)
    assert failed.error is not None
    assert (failed.status, failed.error.code) == (JobStatus.FAILED, "stage_timeout")
    assert made.stub.seen == []
    assert fingerprint(sql, pipeline) == before
    assert made.run().status is JobStatus.COMPLETED


def test_an_old_message_and_a_copy_find_nothing_to_do(pipeline: Pipeline) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, nothing)
    made.ask()
    (ref,) = made.published()
    assert made.work(ref) is None
    with pytest.raises(LeaseLost):
        made.work(ref)


def test_who_lost_the_lease_applies_nothing(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, digest)
    job = made.ask()
    (ref,) = made.published()

    def slow(request: ConsolidationInput) -> Plan:
        made.stub.plan = digest
        expire_lease(sql, job.id)
        (other,) = made.published(lost=True)
        assert made.work(other) is None
        return digest(request)

    made.stub.plan = slow
    with pytest.raises(LeaseLost):
        made.work(ref)

    assert made.job(job.id).status is JobStatus.COMPLETED
    assert sorted(statuses(sql, pipeline)) == sorted([LYON, TURIN, f"{LYON} {TURIN}"])


def test_cancel_ends_it_at_once_and_nothing_more_is_applied(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN, agent="a")
    put(pipeline, BLUE, GREEN, agent="b")
    made = Consolidations(pipeline, digest)
    one, other = made.ask(pipeline.scope(agent="a")), made.ask(pipeline.scope(agent="b"))
    refs = {ref.job: ref for ref in made.published()}
    before = fingerprint(sql, pipeline)

    def cancelled(request: ConsolidationInput) -> Plan:
        assert pipeline.cancel(one.id).status is JobStatus.CANCELLED
        return digest(request)

    made.stub.plan = cancelled
    with pytest.raises(LeaseLost):
        made.work(refs[one.id])
    assert fingerprint(sql, pipeline) == before
    made.stub.plan = digest
    assert made.work(refs[other.id]) is None
    assert made.job(other.id, pipeline.scope(agent="b")).status is JobStatus.COMPLETED
    assert sql("SELECT type FROM events WHERE job = %s ORDER BY seq", one.id) == [
        ("consolidation.started",),
        ("consolidation.failed",),
    ]
    # The scope is free, and a retry of the job takes it up.
    assert pipeline.retry(one.id).status is JobStatus.QUEUED
    made.drain()
    assert made.job(one.id).status is JobStatus.COMPLETED


def test_retry_takes_a_failed_one_up_again(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, raising)
    job = made.run()
    assert job.status is JobStatus.FAILED
    made.stub.plan = digest
    assert pipeline.retry(job.id).status is JobStatus.QUEUED
    made.drain()
    over = made.job(job.id)
    assert (over.status, over.error, over.progress.done, over.progress.failed) == (JobStatus.COMPLETED, None, 2, 0)
    assert pipeline.retry(job.id).status is JobStatus.COMPLETED


def test_an_outage_costs_time_and_no_attempt(pipeline: Pipeline, sql: Sql) -> None:
    class Away(WordEmbedder):
        def embed(self, texts: Any) -> Any:
            raise Unavailable("the encoder does not answer")

    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, digest)
    job = made.ask()
    (ref,) = made.published()
    pipeline.embedder = Away()
    for _ in range(4):
        with pytest.raises(Unavailable):
            made.work(ref)
        sql("UPDATE consolidation_runs SET not_before = now(), published_at = '-infinity' WHERE job = %s", job.id)
        (ref,) = made.published(lost=True)
    pipeline.embedder = WordEmbedder()
    assert made.work(ref) is None
    assert made.job(job.id).status is JobStatus.COMPLETED


def test_a_lost_message_is_sent_again_and_the_window_bounds_what_is_under_way(pipeline: Pipeline, sql: Sql) -> None:
    for agent in "abc":
        put(pipeline, LYON, agent=agent)
    made = Consolidations(pipeline, nothing)
    automatic = made.ask(pipeline.scope(agent="a"), trigger=Trigger.IDLE)
    made.ask(pipeline.scope(agent="b"), trigger=Trigger.IDLE)
    asked = made.ask(pipeline.scope(agent="c"))
    under_way = sql("SELECT count(*) FROM consolidation_runs WHERE state = 'open' AND publishes > 0")[0][0]
    first = dispatch.consolidations(pipeline.sweeper, window=under_way + 2)

    assert [ref.job for ref in first if ref.tenant == pipeline.caller.tenant] == [asked.id, automatic.id]
    assert dispatch.consolidations(pipeline.sweeper, window=under_way + 2) == []
    assert made.published(lost=True) == []
    sql("UPDATE consolidation_runs SET published_at = now() - interval '31 seconds' WHERE job = %s", asked.id)
    assert [ref.job for ref in made.published(lost=True)] == [asked.id]
    made.drain()


def test_who_may_ask_and_where(pipeline: Pipeline) -> None:
    made = Consolidations(pipeline, nothing)
    with pytest.raises(NotFound):
        made.ask()
    put(pipeline, LYON)
    pipeline.caller = replace(
        pipeline.caller, permissions=frozenset(Permission) - {Permission.CONSOLIDATE, Permission.ADMIN}
    )
    with pytest.raises(Unauthorized):
        made.ask()
    with pytest.raises(Unauthorized):
        made.ask(Scope("another tenant", "notes"))


def previews(made: Consolidations) -> Previews:
    return Previews(lambda part: plans.propose(made.stub, part), made.pipeline.counters, Bounds(500, 256))


def look(made: Consolidations, own: Previews) -> Any:
    pipeline = made.pipeline
    request = ConsolidateRequest(pipeline.scope())
    return own.preview(pipeline.app, pipeline.keyring, pipeline.embedder.model, pipeline.caller, request)


def test_a_preview_shows_the_plan_and_changes_nothing(pipeline: Pipeline, sql: Sql) -> None:
    def plan(request: ConsolidationInput) -> Plan:
        lyon, turin = key_of(request, LYON), key_of(request, TURIN)
        return Plan([Digest("Rosa", "Rosa moved.", [lyon, turin])], [Supersession(lyon, turin, "moved")])

    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, plan)
    before = fingerprint(sql, pipeline), waiting(sql, pipeline), sql("SELECT count(*) FROM jobs")
    shown = look(made, previews(made))

    assert (fingerprint(sql, pipeline), waiting(sql, pipeline), sql("SELECT count(*) FROM jobs")) == before
    assert (shown.memories, shown.complete) == (2, True)
    assert [(one.title, one.content, len(one.sources)) for one in shown.digests] == [("Rosa", "Rosa moved.", 2)]
    ((pair),) = shown.supersessions
    assert (pipeline.content(pair.first), pipeline.content(pair.second), pair.reason) == (LYON, TURIN, "moved")
    assert (pair.content, pair.second_content) == (LYON, TURIN)


def test_two_previews_at_once_and_each_place_comes_free(pipeline: Pipeline) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, raising)
    own = previews(made)
    for _ in range(AT_ONCE + 1):
        with pytest.raises(PluginFailed):
            look(made, own)
    inside, ended = threading.Semaphore(0), threading.Event()

    def slow(_request: ConsolidationInput) -> Plan:
        inside.release()
        assert ended.wait(60)
        return Plan()

    made.stub.plan = slow

    def third() -> None:
        for _ in range(AT_ONCE):
            assert inside.acquire(timeout=60)
        with pytest.raises(Overloaded):
            look(made, own)
        ended.set()

    together(*[lambda: look(made, own)] * AT_ONCE, third)
    assert look(made, own).memories == 2
