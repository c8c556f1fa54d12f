"""consolidate: what waits in a scope is made into fewer and better memories, as a job; or is shown what would be made of it.

One job at a time has a consolidation scope. Whoever asks for a scope that is being worked on gets the job that works on it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from infinicon.domain import (
    Caller,
    ConsolidateRequest,
    EventType,
    Fault,
    Job,
    JobStatus,
    Lane,
    Permission,
    ScopeKey,
    Trigger,
)
from infinicon.errors import NotFound
from infinicon.ids import new_id
from infinicon.operations import scopes
from infinicon.operations.selecting import spec_of, undone
from infinicon.store import consolidation_runs, events, jobs, spaces
from infinicon.store.database import Database, Transaction, retry_conflicts


@retry_conflicts
def consolidate(database: Database, caller: Caller, request: ConsolidateRequest) -> Job:
    """Start a consolidation of what waits in the scope, or answer with the one that runs. Wake the dispatcher afterwards.

    Where nothing waits, the job is completed at once.

    Raises:
        NotFound: there is no such namespace.
        Unauthorized: the key may not consolidate in this scope.
    """
    with database.transaction(caller.tenant) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.CONSOLIDATE)
        if not scope.namespace:
            raise NotFound("there is no such namespace")
        spec = spec_of(request)
        found = consolidation_runs.find(scope, tx, undone=undone(spec))
        job = start(scope, tx, found, request.trigger, spec)
        # The job that works there may be one of a wider scope.
        whole = replace(scope, named=replace(scope.named, agent_id=None, session_id=None))
        shown = jobs.fold(whole, tx, job)
    assert shown is not None  # it was written or found in this transaction
    return shown


def standing(database: Database, caller: Caller, job: Job) -> Job:
    """What has become of a job meanwhile. One that `run_now` waited for runs, until it is over."""
    with database.transaction(caller.tenant) as tx:
        status, error = consolidation_runs.status(caller.tenant, tx, job.id)
    return replace(job, status=JobStatus.RUNNING if status is JobStatus.QUEUED else status, error=error)


def start(
    scope: ScopeKey, tx: Transaction, found: Collection[int], trigger: Trigger, spec: Mapping[str, Any] | None = None
) -> UUID:
    """Give these consolidation scopes to a new job, as far as they are free; where none of them is, the job is the one that works there.

    `scope` is what the job shows as its own. Whatever publishes (dispatch) comes after the commit. The scopes' rows are locked, behind
    memories and jobs, before the counters of the namespace.
    """
    job = new_id()
    claimed = consolidation_runs.claim(scope.tenant, tx, job, found)
    if not claimed:
        holder = consolidation_runs.holder(scope.tenant, tx, found) if found else None
        if holder is not None:
            return holder
    given = dict(spec or {"undone": False})
    waiting = consolidation_runs.count(scope.tenant, tx, job, undone=undone(given)) if claimed else 0
    # Something may wait that is not counted any more: the job finds out.
    jobs.insert(scope, tx, job, jobs.CONSOLIDATE, Lane.BULK, None, max(waiting, 1) if claimed else 0)
    consolidation_runs.describe(scope.tenant, tx, job, {"trigger": trigger.value, **dict.fromkeys(COUNTS, 0)})
    if claimed:
        consolidation_runs.insert(scope.tenant, tx, job, given, urgent=trigger is Trigger.MANUAL)
    return job


def cancel(scope: ScopeKey, tx: Transaction, job: UUID, reason: Fault) -> None:
    """End a consolidation job: the slice that is being worked on is not applied; what was applied stays (undo takes it back)."""
    began = consolidation_runs.stop(scope.tenant, tx, job)
    jobs.cancel(scope, tx, job, reason)
    consolidation_runs.free(scope.tenant, tx, job, None)
    if began:
        own = consolidation_runs.scope_of(scope.tenant, tx, job)
        spaces.add_to_counters(scope.tenant, tx, {own.namespace: (0, 0)})
        events.append(scope.tenant, tx, [job_event(EventType.CONSOLIDATION_FAILED, own, job)])


def retry(scope: ScopeKey, tx: Transaction, job: UUID) -> None:
    """Queue a job that failed or was cancelled again, for what waits in its scope and nobody else works on; else nothing changes."""
    spec = consolidation_runs.spec_of(scope.tenant, tx, job)
    if spec is None:
        return
    own = consolidation_runs.scope_of(scope.tenant, tx, job)
    found = consolidation_runs.find(own, tx, undone=undone(spec))
    if consolidation_runs.claim(scope.tenant, tx, job, found):
        waiting = consolidation_runs.count(scope.tenant, tx, job, undone=undone(spec))
        consolidation_runs.reopen(scope.tenant, tx, job, max(waiting, 1))


def job_event(kind: EventType, scope: ScopeKey, job: UUID) -> events.NewEvent:
    """An event of the job itself."""
    return events.NewEvent(scope.namespace, kind, None, None, job, scope.agent_id, scope.session_id)


COUNTS = ("memories", "slices", "consolidations", "superseded", "duplicates", "disputed", "refused")
"""What the result of a job counts."""
