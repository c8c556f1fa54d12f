"""erase: everything of a scope, or the episodes in it that carry some metadata, with all that was derived from them.

People ask for the erasure of a person, not of refs. It is a job, which holds no lock for long; what is ingested after it was asked for
stays.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from uuid import UUID

from infinicon.domain import Caller, Cascade, Job, Json, Lane, Permission, Scope, ScopeKey
from infinicon.errors import NotFound
from infinicon.ids import new_id
from infinicon.keyring import Keyring
from infinicon.operations import redaction, scopes
from infinicon.operations.tombstone import reach, take_away
from infinicon.store import erasures, jobs, policies, tombstones
from infinicon.store.database import Database, Transaction, retry_conflicts
from infinicon.store.erasures import Erasure
from infinicon.store.tombstones import Mark

SLICE = 200
SECONDS = 20.0
"""Then another task goes on: no worker's thread is held for long."""


@retry_conflicts
def erase(
    database: Database, keyring: Keyring, caller: Caller, scope: Scope, reason: str, metadata: Mapping[str, Json] | None
) -> Job:
    """Start an erasure, and answer with its job.

    Raises:
        NotFound: there is no such namespace.
        Unauthorized: the key may not delete in this scope.
    """
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.TOMBSTONE)
        if not key.namespace:
            raise NotFound("there is no such namespace")
        # What is looked for is redacted as what is stored was.
        redactor = redaction.in_scope(key, tx, keyring)
        key = redactor.scope(key)
        wanted = None if metadata is None else redactor.mapping(metadata)
        job = new_id()
        jobs.insert(key, tx, job, jobs.ERASE, Lane.BULK, None, 1)
        erasures.specify(key, tx, job, Erasure(key, redactor.text(reason), caller.key, wanted))
        found = jobs.fold(key, tx, job)
    assert found is not None  # it was inserted in this transaction
    return found


def carry_on(database: Database, tenant: int, job: UUID) -> int:
    """Erase for at most `SECONDS`; how many memories were taken by name. 0: it is over, or in other hands."""
    began, erased = time.monotonic(), 0
    while time.monotonic() - began < SECONDS:
        number = _slice(database, tenant, job)
        erased += number
        if not number:
            break
    return erased


@retry_conflicts
def _slice(database: Database, tenant: int, job: UUID) -> int:
    with database.transaction(tenant) as tx:
        erasure = erasures.take(tenant, tx, job)
        if erasure is None:
            return 0
        ids = erasures.following(erasure.scope, tx, job, erasure, SLICE)
        if not ids:
            erasures.complete(tenant, tx, job)
            return 0
        remove(erasure.scope, tx, ids, erasure.reason, erasure.key)
        erasures.advance(tenant, tx, job, len(ids))
    return len(ids)


def remove(scope: ScopeKey, tx: Transaction, ids: list[UUID], reason: str, key: UUID | None) -> None:
    """Tombstone these with all that was derived from them."""
    held = tombstones.hold(scope, tx, ids, queued=True)
    mark = Mark(reason, Cascade.TOMBSTONE_DERIVED, key, policies.audit_seconds(scope, tx))
    take_away(scope, tx, reach(scope, tx, held, mark.cascade), held.keys(), mark)
