"""getJob: what a job has become, or what it is doing."""

from __future__ import annotations

from uuid import UUID

from infinicon.domain import Caller, Job, Permission, Scope
from infinicon.errors import NotFound
from infinicon.operations import scopes
from infinicon.store import jobs
from infinicon.store.database import Database


def get_job(database: Database, caller: Caller, scope: Scope, job_id: str) -> Job:
    """The job's state, folded from its row, its episodes and its Celery tasks in one statement.

    Raises:
        NotFound: unknown, foreign and malformed ids are all the same answer.
        Unauthorized: the key may not read jobs of this scope.
    """
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.JOBS)
        wanted = _uuid(job_id)
        job = None if wanted is None else jobs.fold(key, tx, wanted)
    if job is None:
        raise NotFound("there is no such job in this scope")
    return job


def _uuid(text: str) -> UUID | None:
    """Only the canonical form: other spellings of an id are other ids."""
    try:
        value = UUID(text)
    except ValueError:
        return None
    return value if str(value) == text.lower() else None
