"""Lists of jobs: pages without repeats, the statuses of getJob, and one summary for all that fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import event

from infinicon.domain import IngestEpisode, JobStatus, Lane, Permission, Progress, Scope
from infinicon.errors import InvalidCursor, ScopeMismatch, Unauthorized
from infinicon.operations.dispatch import LaneLimits
from infinicon.store import results
from infinicon.store.database import Database
from tests.conftest import Cluster
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline


def put(pipeline: Pipeline, text: str, label: str | None = None, scope: Scope | None = None, number: int = 1) -> UUID:
    notes = [IngestEpisode("text/plain", f"{text} {n}.") for n in range(number)]
    return pipeline.ingest(*notes, label=label, scope=scope, lane=Lane.BULK).job_id


def test_pages_newest_first_without_repeats(pipeline: Pipeline) -> None:
    made = [put(pipeline, f"Fact {number}") for number in range(7)]
    first = pipeline.jobs(limit=3)
    put(pipeline, "One that comes in between")
    second = pipeline.jobs(limit=3, cursor=first.cursor)
    third = pipeline.jobs(limit=3, cursor=second.cursor)

    assert [job.id for page in (first, second, third) for job in page.jobs] == made[::-1]
    assert third.cursor is None
    assert pipeline.jobs(limit=8).cursor is None
    assert len(pipeline.jobs().jobs) == 8


def test_each_is_what_get_job_shows(pipeline: Pipeline, cluster: Cluster) -> None:
    """Done, failed, cancelled, in every stage, taken by Celery only, and waiting."""
    pipeline.limits = LaneLimits(1, 10_000, 100)
    done = put(pipeline, "Done")
    pipeline.drain()
    made = {name: put(pipeline, name) for name in ("extract", "embed", "index", "started")}
    for ref, name in zip(pipeline.claim(Lane.BULK), made, strict=True):
        if name == "started":
            celery = Database(cluster.results_url, pool_size=1, vectors=False)
            with celery.transaction(None) as tx:
                results.upsert(tx, f"{ref.batch}-extract-1", None, "STARTED", None, done=False)
            celery.close()
        if name in {"embed", "index"}:
            extracted = pipeline.extract(ref)
            if name == "index":
                pipeline.embed(extracted)
    cancelled = put(pipeline, "Cancelled")
    pipeline.cancel(cancelled)
    waiting = put(pipeline, "Waiting", number=3)

    listed = pipeline.jobs().jobs

    assert list(listed) == [pipeline.job(job.id) for job in listed]
    seen = {job.id: (job.status.value, job.stage.value if job.stage else None) for job in listed}
    assert seen == {
        done: ("completed", None),
        made["extract"]: ("queued", "extract"),
        made["embed"]: ("running", "embed"),
        made["index"]: ("running", "index"),
        made["started"]: ("running", "extract"),
        cancelled: ("cancelled", None),
        waiting: ("queued", None),
    }
    for status in JobStatus:
        page = pipeline.jobs(status=status)
        assert {job.id for job in page.jobs} == {job for job, (name, _) in seen.items() if name == status}
        assert page.summary.jobs[status] == len(page.jobs) == sum(page.summary.jobs.values())


def test_a_label_rolls_up_its_jobs(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.limits = LaneLimits(4, 10_000, 100)
    for number in range(3):
        put(pipeline, f"Early {number}", "back-fill", number=4)
    put(pipeline, "Of another label", "other", number=5)
    first, second, third, _ = pipeline.claim(Lane.BULK)[:4]
    pipeline.run(first)
    pipeline.embed(pipeline.extract(second))
    late = put(pipeline, "Late", "back-fill", number=5)
    pipeline.cancel(put(pipeline, "Not wanted", "back-fill", number=2))

    page = pipeline.jobs(label="back-fill", limit=2)

    assert len(page.jobs) == 2
    assert page.jobs[1].id == late
    assert {job.label for job in page.jobs} == {"back-fill"}
    assert page.summary.jobs == {
        JobStatus.QUEUED: 2,
        JobStatus.RUNNING: 1,
        JobStatus.COMPLETED: 1,
        JobStatus.FAILED: 0,
        JobStatus.CANCELLED: 1,
    }
    assert page.summary.progress == Progress(done=4, failed=0, total=19, waiting=5, extract=4, embed=0, index=4)
    assert pipeline.jobs(label="back-fill", limit=2, cursor=page.cursor).summary == page.summary
    assert pipeline.jobs(label="back").summary.progress.total == 0
    assert pipeline.jobs(type="reindex").jobs == []
    assert len(pipeline.jobs(type="ingest", label="other").jobs) == 1
    assert third.lane is Lane.BULK


def test_a_page_takes_two_statements_however_long(pipeline: Pipeline) -> None:
    for number in range(12):
        put(pipeline, f"Fact {number}")
    counts = []
    engine = pipeline.app._engine
    seen: list[str] = []

    def record(_c: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(engine, "before_cursor_execute", record)
    try:
        for limit in (1, 12):
            seen.clear()
            pipeline.jobs(limit=limit)
            counts.append(sum("folded_jobs" in statement for statement in seen))
            assert len(seen) <= 4  # the tenant, the namespace, and these
    finally:
        event.remove(engine, "before_cursor_execute", record)
    assert counts == [2, 2]


def test_only_the_scope_is_listed(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]) -> None:
    other = new_pipeline()
    put(other, "Theirs")
    elsewhere = put(pipeline, "Elsewhere", scope=pipeline.scope("elsewhere"))
    plain = put(pipeline, "Plain")
    a = put(pipeline, "An agent's", scope=pipeline.scope(agent="a"))
    a_s = put(pipeline, "A session's", scope=pipeline.scope(agent="a", session="s"))

    def listed(scope: Scope) -> set[UUID]:
        page = pipeline.jobs(scope)
        assert sum(page.summary.jobs.values()) == len(page.jobs)
        return {job.id for job in page.jobs}

    assert listed(pipeline.scope()) == {plain, a, a_s}
    assert listed(pipeline.scope(agent="a")) == {a, a_s}
    assert listed(pipeline.scope(agent="a", session="s")) == {a_s}
    assert listed(pipeline.scope(session="t")) == set()
    assert listed(pipeline.scope("elsewhere")) == {elsewhere}
    assert listed(pipeline.scope("nowhere")) == set()
    with pytest.raises(Unauthorized):
        pipeline.jobs(other.scope())
    pipeline.caller = replace(pipeline.caller, permissions=frozenset({Permission.QUERY}))
    with pytest.raises(Unauthorized):
        pipeline.jobs()


def test_a_cursor_is_good_for_its_scope_and_its_filter(pipeline: Pipeline) -> None:
    for number in range(3):
        put(pipeline, f"Fact {number}", "one")
        put(pipeline, f"Fact {number}", scope=pipeline.scope(agent="a"))
    cursor = pipeline.jobs(label="one", limit=1).cursor
    assert cursor is not None

    for scope in (pipeline.scope("elsewhere"), pipeline.scope(agent="a"), pipeline.scope(session="a")):
        with pytest.raises(ScopeMismatch):
            pipeline.jobs(scope, label="one", cursor=cursor)
    others: list[dict[str, Any]] = [
        {},
        {"label": "two"},
        {"label": "one", "status": JobStatus.QUEUED},
        {"label": "one", "type": "ingest"},
    ]
    for wanted in others:
        with pytest.raises(InvalidCursor):
            pipeline.jobs(cursor=cursor, **wanted)
    for other in ("", "zzz", cursor[:-2], cursor + "A"):
        with pytest.raises(InvalidCursor):
            pipeline.jobs(label="one", cursor=other)
    assert len(pipeline.jobs(label="one", limit=5, cursor=cursor).jobs) == 2
