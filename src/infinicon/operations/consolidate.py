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
    Job,
    Lane,
    Permission,
    ScopeKey,
    Trigger,
)
from infinicon.errors import NotFound
from infinicon.ids import new_id
from infinicon.operations import scopes
from infinicon.operations.selecting import spec_of, undone
from infinicon.store import consolidation_runs, jobs
from infinicon.store.consolidation_runs import CONSOLIDATE
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
    jobs.insert(scope, tx, job, CONSOLIDATE, Lane.BULK, None, max(waiting, 1) if claimed else 0)
    consolidation_runs.describe(scope.tenant, tx, job, {"trigger": trigger.value, **dict.fromkeys(COUNTS, 0)})
    if claimed:
        consolidation_runs.insert(scope.tenant, tx, job, given, urgent=trigger is Trigger.MANUAL)
    return job


COUNTS = ("memories", "slices", "consolidations", "superseded", "duplicates", "disputed")
"""What the result of a job counts."""
