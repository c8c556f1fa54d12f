"""Jobs: what became of accepted work, one or many; and what can be done about it: cancel, retry."""

from __future__ import annotations

from uuid import UUID

from infinicon.cursors import Position, seal, unseal
from infinicon.domain import (
    Caller,
    Fault,
    Job,
    JobFilter,
    JobsPage,
    JobsRequest,
    JobStatus,
    Permission,
    Scope,
    ScopeKey,
)
from infinicon.errors import Cancelled, InvalidCursor, NotFound
from infinicon.ids import parse_id
from infinicon.keyring import Keyring
from infinicon.operations import consolidate, scopes
from infinicon.store import erasures, jobs
from infinicon.store.database import Database, Transaction, retry_conflicts

KIND = "jobs"

CANCELLED = {
    jobs.ERASE: "the erasure was cancelled: what it had not come to is still there, and a retry goes on with it",
    jobs.REINDEX: "the reindex was cancelled: what it had not come to is found by the index as it was",
    jobs.CONSOLIDATE: "the consolidation was cancelled before anything of it was stored",
}
"""What becomes of the work of a job that is cancelled, where that is not episodes."""

OPEN = frozenset({JobStatus.QUEUED, JobStatus.RUNNING})


def get_job(database: Database, caller: Caller, scope: Scope, job_id: str) -> Job:
    """The job's state, folded from its row, its episodes and its Celery tasks in one statement.

    Raises:
        NotFound: unknown, foreign and malformed ids are all the same answer.
        Unauthorized: the key may not read jobs of this scope.
    """
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.JOBS)
        return _found(key, tx, job_id)


def list_jobs(database: Database, keyring: Keyring, caller: Caller, request: JobsRequest) -> JobsPage:
    """A page of jobs, each as get_job shows it at that moment, and all of them summed up: two statements, however many there are.

    Raises:
        InvalidCursor: not one of ours, or of another filter.
        ScopeMismatch: the cursor is of another scope.
        Unauthorized: the key may not read jobs of this scope.
    """
    wanted = request.wanted
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, request.scope, Permission.JOBS)
        before = None if request.cursor is None else _unsealed(keyring, key, wanted, request.cursor)
        found = jobs.page(key, tx, wanted, before, request.limit + 1)
        summary = jobs.roll_up(key, tx, wanted)
    page = found[: request.limit]
    more = len(found) > request.limit
    return JobsPage(page, _sealed(keyring, key, wanted, page[-1].id) if more else None, summary)


@retry_conflicts
def cancel_job(database: Database, caller: Caller, scope: Scope, job_id: str) -> Job:
    """End a job: nothing of it that is not visible yet becomes visible. One that is over stays as it is.

    Its episodes fail with the error `cancelled`; those of other jobs in the same batches go on. Of an erasure, what it has not come to
    stays.

    Raises:
        NotFound: as get_job.
        Unauthorized: the key may not change jobs of this scope, or, where the job is an erasure, not delete in it.
    """
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.JOBS)
        job = _found(key, tx, job_id)
        _check_kind(tx, caller, scope, job)
        # What is deleted is hidden already, and a secret that is known is to go: neither comes back, and what is left is to empty it.
        if job.status in OPEN and job.type not in {jobs.TOMBSTONE, jobs.REDACT}:
            jobs.take_turn(key, tx)
            end = consolidate.cancel if job.type == jobs.CONSOLIDATE else jobs.cancel
            end(
                key,
                tx,
                job.id,
                Fault.of(Cancelled(CANCELLED.get(job.type, "the job was cancelled before this was indexed"))),
            )
            job = _found(key, tx, job_id)
    return job


@retry_conflicts
def retry_job(database: Database, caller: Caller, scope: Scope, job_id: str) -> Job:
    """Queue a job's failed and cancelled episodes again, or a consolidation or an erasure that failed or was cancelled; a job without any
    stays as it is. Wake the dispatcher afterwards. An erasure goes on with what was there when it was asked for.

    Raises:
        NotFound: as get_job.
        Unauthorized: the key may not change jobs of this scope, or, where the job is an erasure, not delete in it.
    """
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.JOBS)
        job = _found(key, tx, job_id)
        _check_kind(tx, caller, scope, job)
        if job.type == jobs.REDACT:
            return job  # no episode is its work
        jobs.take_turn(key, tx)
        if job.type == jobs.ERASE:
            erasures.resume(key, tx, job.id)
        elif job.type != jobs.CONSOLIDATE:
            jobs.retry(key, tx, job.id)
        elif job.status in {JobStatus.FAILED, JobStatus.CANCELLED}:
            consolidate.retry(key, tx, job.id)
        return _found(key, tx, job_id)


def _check_kind(tx: Transaction, caller: Caller, scope: Scope, job: Job) -> None:
    """Who may not delete may not stop a deletion either, nor take it up again."""
    if job.type == jobs.ERASE:
        scopes.resolve(tx, caller, scope, Permission.TOMBSTONE)


def _found(scope: ScopeKey, tx: Transaction, job_id: str) -> Job:
    wanted = parse_id(job_id.lower())
    job = None if wanted is None else jobs.fold(scope, tx, wanted)
    if job is None:
        raise NotFound("there is no such job in this scope")
    return job


def _bound(scope: ScopeKey) -> Position:
    """The name of the namespace, which is there before the namespace is."""
    return [scope.tenant, scope.named.namespace_id, scope.agent_id, scope.session_id]


def _sealed(keyring: Keyring, scope: ScopeKey, wanted: JobFilter, last: UUID) -> str:
    # The digest stands for the filter: a label may be long, and is a caller's text.
    return seal(keyring, KIND, _bound(scope), [str(last), _digest(keyring, wanted)])


def _unsealed(keyring: Keyring, scope: ScopeKey, wanted: JobFilter, cursor: str) -> UUID:
    last, digest = unseal(keyring, KIND, _bound(scope), cursor)
    if digest != _digest(keyring, wanted):
        raise InvalidCursor("the cursor was given for another filter", details={"field": "cursor"})
    return UUID(str(last))


def _digest(keyring: Keyring, wanted: JobFilter) -> str:
    parts = [b"" if part is None else b"=" + str(part).encode() for part in (wanted.status, wanted.label, wanted.type)]
    return keyring.mac("cursor-filter", *parts)[:8].hex()
