"""reindex: derives the index of a namespace anew from its memories, while search goes on answering from what is there."""

from __future__ import annotations

from infinicon.domain import Caller, Job, Lane, Permission, Scope
from infinicon.errors import NotFound
from infinicon.ids import new_id
from infinicon.operations import scopes
from infinicon.store import jobs, slices
from infinicon.store.database import Database, retry_conflicts


@retry_conflicts
def reindex(database: Database, caller: Caller, scope: Scope) -> Job:
    """Start a reindex of the scope's namespace, or answer with the one that runs. Wake the dispatcher afterwards.

    Its slices pass the same stages as episodes do, in the bulk lane and behind every episode.

    Raises:
        InvalidRequest: the scope is narrower than a namespace.
        NotFound: there is no such namespace.
        Unauthorized: the key may not administer this namespace.
    """
    scopes.check_whole(scope, "a namespace is indexed anew as a whole")
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.ADMIN)
        if not key.namespace:
            raise NotFound("there is no such namespace")
        jobs.take_turn(key, tx)
        job = jobs.open_reindex(key, tx)
        if job is None:
            job = new_id()
            total = slices.cut(key, tx, job)
            jobs.insert(key, tx, job, jobs.REINDEX, Lane.BULK, None, total)
        found = jobs.fold(key, tx, job)
    assert found is not None  # its row was locked or written in this transaction
    return found
