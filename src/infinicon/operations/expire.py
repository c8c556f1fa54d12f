"""expire: what has had its time is tombstoned, with what was derived from it. No read has shown it since the moment it ran out."""

from __future__ import annotations

import time

from infinicon.domain import Scope, ScopeKey
from infinicon.operations.erase import remove
from infinicon.store import memories, sweeps
from infinicon.store.database import Database, retry_conflicts

LOOK = 1_000
SLICE = 200
SECONDS = 20.0
REASON = "expired"


def expire(sweeper: Database, database: Database) -> int:
    """Tombstone what has expired, for at most `SECONDS`, and forget what audits no longer need; how many memories went."""
    with sweeper.transaction(None) as tx:
        sweeps.end_audits(tx)
        due = sweeps.expired(tx, LOOK)
    began, gone = time.monotonic(), 0
    for tenant, namespace in due:
        scope = ScopeKey(tenant, namespace, Scope("", ""))
        while time.monotonic() - began < SECONDS:
            number = _slice(database, scope)
            gone += number
            if not number:
                break
    return gone


@retry_conflicts
def _slice(database: Database, scope: ScopeKey) -> int:
    with database.transaction(scope.tenant) as tx:
        ids = memories.expired(scope, tx, SLICE)
        if ids:
            remove(scope, tx, ids, REASON, None)
    return len(ids)
