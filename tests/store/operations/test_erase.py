"""erase: everything of a person's scope, or of some metadata, and nothing of anybody else's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest

from infinicon.domain import Caller, IngestEpisode, Job, JobStatus, Json, Permission, Scope
from infinicon.errors import NotFound, Unauthorized
from infinicon.operations import erase as erasing
from infinicon.operations.dispatch import purges
from infinicon.operations.erase import carry_on, erase
from infinicon.store import sweeps
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.together import together

ROSA = "Rosa moved to Turin in March of last year."
ATOMS = "SELECT content FROM memories WHERE tenant = %s AND type = 'atom' AND status = 'active'"
GATE = "The orchard gate code is on the blue tag."


def start(
    pipeline: Pipeline,
    scope: Scope | None = None,
    metadata: dict[str, Json] | None = None,
    caller: Caller | None = None,
) -> Job:
    return erase(
        pipeline.app, pipeline.keyring, caller or pipeline.caller, scope or pipeline.scope(), "asked for", metadata
    )


def living(sql: Sql, pipeline: Pipeline) -> list[str]:
    rows = sql(
        "SELECT content FROM memories WHERE tenant = %s AND type = 'episode' AND status <> 'tombstoned' ORDER BY id",
        pipeline.caller.tenant,
    )
    return [row[0] for row in rows]


def test_an_erasure_goes_slice_by_slice_until_nothing_is_left(
    pipeline: Pipeline, sql: Sql, sweeper: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "SLICE", 2)
    pipeline.put(ROSA, GATE, f"{ROSA} {GATE}", "On its way.", scope=pipeline.scope(agent="a"))
    pipeline.drain()
    pipeline.put("Not indexed yet.", scope=pipeline.scope(agent="a"))
    pipeline.put("Of nobody.", "Of somebody else.", scope=pipeline.scope(agent="b"))
    job = start(pipeline, pipeline.scope(agent="a"))
    assert (job.type, job.status, job.progress.total) == ("erase", JobStatus.QUEUED, 5)
    pipeline.put("Came later.", scope=pipeline.scope(agent="a"))
    assert (pipeline.caller.tenant, job.id) in purges(sweeper)

    assert carry_on(pipeline.app, pipeline.caller.tenant, job.id) == 5
    done = pipeline.job(job.id, pipeline.scope(agent="a"))
    assert (done.status, done.progress.done, done.progress.total) == (JobStatus.COMPLETED, 5, 5)
    assert living(sql, pipeline) == ["Of nobody.", "Of somebody else.", "Came later."]
    assert (pipeline.caller.tenant, job.id) not in purges(sweeper)
    assert carry_on(pipeline.app, pipeline.caller.tenant, job.id) == 0
    left = sql(
        "SELECT count(*) FROM memories WHERE tenant = %s AND status <> 'tombstoned' AND agent_id = 'a'",
        pipeline.caller.tenant,
    )
    assert left == [(1,)]
    pipeline.drain()
    assert living(sql, pipeline) == ["Of nobody.", "Of somebody else.", "Came later."]


def test_by_metadata_and_what_others_say_too_stays(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.ingest(
        IngestEpisode("text/plain", f"{ROSA} {GATE}", metadata={"person": "p1", "n": 1}),
        IngestEpisode("text/plain", f"{GATE} It snowed all day in Lyon.", metadata={"person": "p2"}),
        IngestEpisode("text/plain", "Nobody's words.", metadata={}),
    )
    pipeline.drain()

    job = start(pipeline, metadata={"person": "p1"})
    carry_on(pipeline.app, pipeline.caller.tenant, job.id)
    assert living(sql, pipeline) == [f"{GATE} It snowed all day in Lyon.", "Nobody's words."]
    contents = {row[0] for row in sql(ATOMS, pipeline.caller.tenant)}
    assert GATE in contents
    assert ROSA not in contents
    assert sql("SELECT spec FROM jobs WHERE id = %s", job.id) == [(None,)]


def test_scope_filters_narrow_an_erasure(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("In the room.", scope=pipeline.scope(filters={"room": "r1", "x": 1}))
    pipeline.put("In the other room.", scope=pipeline.scope(filters={"room": "r2"}))

    job = start(pipeline, pipeline.scope(filters={"room": "r1"}))
    carry_on(pipeline.app, pipeline.caller.tenant, job.id)
    assert living(sql, pipeline) == ["In the other room."]


def test_answers_warn_until_it_is_over(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]) -> None:
    own, other = pipeline.scope(agent="a"), pipeline.scope(agent="b")
    pipeline.put(ROSA, scope=own)
    pipeline.drain()
    job = start(pipeline, own)

    def warns(scope: Scope, asked: Pipeline = pipeline) -> bool:
        of_query = [warning.code for warning in asked.query(ROSA, scope=scope).warnings]
        of_context = [warning.code for warning in asked.assemble(ROSA, scope=scope).warnings]
        assert ("deletion_pending" in of_query) == ("deletion_pending" in of_context)
        return "deletion_pending" in of_query

    assert [warns(scope) for scope in (own, pipeline.scope(), pipeline.scope(agent="a", session="s"))] == [True] * 3
    stranger = new_pipeline()
    assert not any([warns(other), warns(pipeline.scope("other")), warns(stranger.scope(), stranger)])
    carry_on(pipeline.app, pipeline.caller.tenant, job.id)
    assert not warns(own)


def test_many_workers_on_one_erasure_do_it_once(pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasing, "SLICE", 1)
    pipeline.put(*[f"Note number {number} of the day." for number in range(12)])
    pipeline.drain()
    job = start(pipeline)

    together(*[lambda: carry_on(pipeline.app, pipeline.caller.tenant, job.id)] * 6)
    carry_on(pipeline.app, pipeline.caller.tenant, job.id)
    assert living(sql, pipeline) == []
    assert pipeline.job(job.id).status is JobStatus.COMPLETED
    events = sql(
        "SELECT count(*), count(DISTINCT memory) FROM events WHERE tenant = %s AND type = 'memory.tombstoned'",
        pipeline.caller.tenant,
    )
    assert events[0][0] == events[0][1]


def test_a_cancelled_erasure_stops(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put(ROSA)
    job = start(pipeline)
    pipeline.cancel(job.id)

    assert carry_on(pipeline.app, pipeline.caller.tenant, job.id) == 0
    assert living(sql, pipeline) == [ROSA]


def test_who_may_not_and_what_is_not_there(pipeline: Pipeline) -> None:
    pipeline.put(ROSA)
    with pytest.raises(NotFound):
        start(pipeline, pipeline.scope("nothing here"))
    with pytest.raises(Unauthorized):
        start(pipeline, Scope("somebody else", "notes"))
    with pytest.raises(Unauthorized):
        start(pipeline, caller=replace(pipeline.caller, permissions=frozenset({Permission.INGEST})))
    assert carry_on(pipeline.app, pipeline.caller.tenant, UUID(int=7)) == 0


def test_who_may_not_delete_does_not_stop_a_deletion(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put(ROSA)
    job = start(pipeline)
    everything = pipeline.caller
    pipeline.caller = replace(everything, permissions=frozenset({Permission.JOBS}))
    for change in (pipeline.cancel, pipeline.retry):
        with pytest.raises(Unauthorized):
            change(job.id)
    assert pipeline.job(job.id).status is JobStatus.QUEUED
    pipeline.caller = replace(everything, permissions=frozenset({Permission.JOBS, Permission.TOMBSTONE}))
    assert pipeline.cancel(job.id).status is JobStatus.CANCELLED


def test_a_cancelled_erasure_is_taken_up_where_it_was(
    pipeline: Pipeline, sql: Sql, sweeper: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "SLICE", 1)
    notes = [IngestEpisode("text/plain", f"Note {n} of Rosa.", metadata={"person": "p17"}) for n in range(3)]
    pipeline.ingest(*notes)
    job = start(pipeline, metadata={"person": "p17"})
    with monkeypatch.context() as patched:
        patched.setattr(erasing, "_slice", once(erasing._slice))
        assert carry_on(pipeline.app, pipeline.caller.tenant, job.id) == 1
    cancelled = pipeline.cancel(job.id)
    assert cancelled.error is not None
    assert "indexed" not in cancelled.error.message
    assert "erasure" in cancelled.error.message
    assert (pipeline.caller.tenant, job.id) not in purges(sweeper)
    assert living(sql, pipeline) == ["Note 1 of Rosa.", "Note 2 of Rosa."]
    pipeline.ingest(IngestEpisode("text/plain", "Note that came later.", metadata={"person": "p17"}))

    again = pipeline.retry(job.id)
    assert (again.status, again.error) == (JobStatus.QUEUED, None)
    assert (pipeline.caller.tenant, job.id) in purges(sweeper)
    carry_on(pipeline.app, pipeline.caller.tenant, job.id)
    assert living(sql, pipeline) == ["Note that came later."]
    done = pipeline.job(job.id)
    assert (done.status, done.progress.done, done.progress.total) == (JobStatus.COMPLETED, 3, 3)
    assert sql("SELECT spec FROM jobs WHERE id = %s", job.id) == [(None,)]
    assert pipeline.retry(job.id).status is JobStatus.COMPLETED


def test_what_a_cancelled_erasure_looked_for_goes_with_its_job(pipeline: Pipeline, sql: Sql, sweeper: Database) -> None:
    pipeline.ingest(IngestEpisode("text/plain", ROSA, metadata={"person": "p17"}))
    job = start(pipeline, metadata={"person": "p17"})
    pipeline.cancel(job.id)
    sql("UPDATE jobs SET updated_at = now() - interval '2 days' WHERE id = %s", job.id)
    with sweeper.transaction(None) as tx:
        sweeps.forget_jobs(tx, 86_400)
    assert sql("SELECT spec FROM jobs WHERE id = %s", job.id) == []


def once(function: Callable[..., int]) -> Callable[..., int]:
    """Works the first time, and finds nothing to do from then on."""
    done: list[int] = []

    def run(*args: object) -> int:
        done.append(0 if done else function(*args))
        return done[-1]

    return run
