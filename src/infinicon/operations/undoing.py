"""Undoing: what a consolidation made is taken back. Nothing is lost by it: what had given way is active again, unless something else
stands in its place by now, and what it had been made of waits for a person to ask again."""

from __future__ import annotations

from uuid import UUID

from infinicon.domain import Caller, Cascade, Job, Permission, Scope, ScopeKey
from infinicon.errors import InvalidRequest, NotFound
from infinicon.ids import parse_id
from infinicon.operations import scopes
from infinicon.operations.jobs import OPEN
from infinicon.operations.tombstone import reach, take_away
from infinicon.store import (
    backlog,
    consolidation_changes,
    consolidation_runs,
    jobs,
    policies,
    tombstones,
)
from infinicon.store.consolidation_changes import Change, Kind
from infinicon.store.database import Database, Transaction, retry_conflicts
from infinicon.store.tombstones import Mark

REASON = "the consolidation was undone"


@retry_conflicts
def undo(database: Database, caller: Caller, scope: Scope, job_id: str) -> Job:
    """Take back what a consolidation job changed: once done, doing it again changes nothing. The job's result says what it came to.

    Consolidations that it made are tombstoned, with those that others made of them. A memory that it had superseded, folded or disputed
    is active again, where nothing that lives stands in its place or contradicts it.

    Raises:
        InvalidRequest: it is no consolidation, or not over yet.
        NotFound: unknown, foreign and malformed ids are all the same answer.
        Unauthorized: the key may not consolidate in this scope.
    """
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.CONSOLIDATE)
        job = _closed(key, tx, job_id)
        changes = consolidation_changes.of_job(key.tenant, tx, job.id)
        if changes:
            _take_back(key, tx, caller.key, job.id, changes)
        found = jobs.fold(key, tx, job.id)
    assert found is not None  # it was there in this transaction
    return found


def _closed(scope: ScopeKey, tx: Transaction, job_id: str) -> Job:
    wanted = parse_id(job_id.lower())
    job = None if wanted is None else jobs.fold(scope, tx, wanted)
    if job is None:
        raise NotFound("there is no such job in this scope")
    if job.type != jobs.CONSOLIDATE:
        raise InvalidRequest("only a consolidation can be undone", details={"field": "jobId"})
    if job.status in OPEN:
        raise InvalidRequest("the consolidation is not over: cancel it first", details={"field": "jobId"})
    return job


def _take_back(scope: ScopeKey, tx: Transaction, key: UUID, job: UUID, changes: list[Change]) -> None:
    made = {one.memory for one in changes if one.kind is Kind.CREATED}
    gave_way = {one.memory for one in changes if one.kind is not Kind.CREATED}
    held = tombstones.hold(scope, tx, made, queued=False)
    consolidation_changes.undo(scope.tenant, tx, [(job, one.memory) for one in changes], refused=True)
    mark = Mark(REASON, Cascade.TOMBSTONE_DERIVED, key, policies.audit_seconds(scope, tx))
    reached = reach(scope, tx, held, mark.cascade)
    pairs = {memory for one in changes if one.kind is not Kind.CREATED for memory in (one.memory, one.other)}
    backlog.add(scope.tenant, tx, pairs, undone=True)
    take_away(scope, tx, reached, made, mark, gave_way, undone=True)
    counts = {"undone": len(reached.going), "revived": len(reached.revived)}
    consolidation_runs.progress(scope.tenant, tx, job, counts=counts)
