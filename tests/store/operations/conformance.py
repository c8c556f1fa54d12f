"""Conformance runs for tests: two tenants, and a pipeline that is driven whenever a run puts something."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from infinicon.domain import ConformanceRun, Lane, Permission
from infinicon.operations.dispatch import dispatch
from infinicon.operations.run_memory import Parts, RunMemory
from infinicon.operations.runs import get_run, play, start_run
from infinicon.store import conformance
from tests.store.operations.conftest import Pipeline


def parts_of(pipeline: Pipeline, other: Pipeline | None = None) -> Parts:
    def drain() -> None:
        while batches := dispatch(pipeline.sweeper, Lane.INTERACTIVE, pipeline.limits):  # of both tenants
            for batch in batches:
                pipeline.run(batch)

    stranger = None
    if other is not None:
        stranger = replace(other.caller, permissions=frozenset({Permission.INGEST, Permission.HYDRATE}))
    return Parts(
        pipeline.app, pipeline.keyring, pipeline.counters, pipeline.embedder, stranger, drain, semantic=lambda: True
    )


def played(pipeline: Pipeline, workflow: str, parts: Parts) -> ConformanceRun:
    """A run that was played, as it stands."""
    run = start_run(pipeline.app, pipeline.caller, workflow)
    play(parts, pipeline.caller, run.id)
    return get_run(pipeline.app, pipeline.caller, str(run.id))


def begun(pipeline: Pipeline, parts: Parts) -> tuple[UUID, RunMemory]:
    """A run that has begun, and its memory."""
    run = start_run(pipeline.app, pipeline.caller, "conformance-noop").id
    with pipeline.app.transaction(pipeline.caller.tenant) as tx:
        started = conformance.start(pipeline.caller.tenant, tx, run)
    assert started is not None
    return run, RunMemory(parts, pipeline.caller, run, started[1])
