"""Erasures: jobs that tombstone everything in a scope that was there when they were asked for, slice by slice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import Json, Scope, ScopeKey
from infinicon.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Erasure:
    """An open erasure. `metadata`: only episodes that contain it; None: everything."""

    scope: ScopeKey
    reason: str
    key: UUID | None
    metadata: Mapping[str, Json] | None


SPECIFY = text("UPDATE jobs SET spec = CAST(:spec AS jsonb) WHERE tenant = :tenant AND id = :job")

# One at a time works on a job; the others find something else to do.
TAKE = text("""
    SELECT namespace, agent_id, session_id, spec FROM jobs
    WHERE tenant = :tenant AND id = :job AND type = 'erase' AND status IN ('queued', 'running')
    FOR NO KEY UPDATE SKIP LOCKED
""")

# Episodes first: what is derived from them follows. Whatever else is left then goes for its own sake, unless only some episodes were meant.
NEXT = text("""
    SELECT m.id FROM memories m
    WHERE m.tenant = :tenant AND m.namespace = :namespace AND m.status <> 'tombstoned' AND m.type = 'episode'
      AND m.created_at <= (SELECT j.created_at FROM jobs j WHERE j.tenant = :tenant AND j.id = :job)
      AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)
      AND (CAST(:filters AS jsonb) IS NULL OR m.filters @> CAST(:filters AS jsonb))
      AND (CAST(:metadata AS jsonb) IS NULL OR m.metadata @> CAST(:metadata AS jsonb))
    ORDER BY m.id LIMIT :limit
""")
NEXT_DERIVED = text("""
    SELECT m.id FROM memories m
    WHERE m.tenant = :tenant AND m.namespace = :namespace AND m.status <> 'tombstoned' AND m.type <> 'episode'
      AND m.created_at <= (SELECT j.created_at FROM jobs j WHERE j.tenant = :tenant AND j.id = :job)
      AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)
      AND (CAST(:filters AS jsonb) IS NULL OR m.filters @> CAST(:filters AS jsonb))
      AND CAST(:metadata AS jsonb) IS NULL
    ORDER BY m.id LIMIT :limit
""")
COUNT = text("""
    SELECT count(*) FROM memories m
    WHERE m.tenant = :tenant AND m.namespace = :namespace AND m.status <> 'tombstoned' AND m.type = 'episode'
      AND m.created_at <= (SELECT j.created_at FROM jobs j WHERE j.tenant = :tenant AND j.id = :job)
      AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)
      AND (CAST(:filters AS jsonb) IS NULL OR m.filters @> CAST(:filters AS jsonb))
      AND (CAST(:metadata AS jsonb) IS NULL OR m.metadata @> CAST(:metadata AS jsonb))
""")

SET_TOTAL = text("UPDATE jobs SET total = :total WHERE tenant = :tenant AND id = :job")
ADVANCE = text("""
    UPDATE jobs SET done = done + :number, total = greatest(total, done + :number), status = 'running', updated_at = now()
    WHERE tenant = :tenant AND id = :job
""")
COMPLETE = text("""
    UPDATE jobs SET total = done + failed, status = 'completed', spec = NULL, updated_at = now() WHERE tenant = :tenant AND id = :job
""")
# One that is over has nothing left to look for.
RESUME = text("""
    UPDATE jobs SET status = 'queued', cancelled = false, error = NULL, updated_at = now()
    WHERE tenant = :tenant AND namespace = :namespace AND id = :job AND type = 'erase' AND status IN ('failed', 'cancelled')
      AND spec IS NOT NULL
""")


def specify(scope: ScopeKey, tx: Transaction, job: UUID, erasure: Erasure) -> None:
    """Say what the job, which was inserted just now, erases, and how many episodes that are."""
    spec = {
        "reason": erasure.reason,
        "key": None if erasure.key is None else str(erasure.key),
        "metadata": erasure.metadata,
        "filters": scope.named.filters,
    }
    tx.execute(SPECIFY, {"tenant": scope.tenant, "job": job, "spec": json.dumps(spec)})
    total = tx.execute(COUNT, _parameters(scope, job, erasure)).scalar_one()
    tx.execute(SET_TOTAL, {"tenant": scope.tenant, "job": job, "total": total})


def take(tenant: int, tx: Transaction, job: UUID) -> Erasure | None:
    """The erasure, locked until commit; None where it is over, or in other hands."""
    row = tx.execute(TAKE, {"tenant": tenant, "job": job}).one_or_none()
    if row is None:
        return None
    named = Scope("", "", row.agent_id, row.session_id, row.spec["filters"])
    key = None if row.spec["key"] is None else UUID(row.spec["key"])
    return Erasure(ScopeKey(tenant, row.namespace, named), row.spec["reason"], key, row.spec["metadata"])


def following(scope: ScopeKey, tx: Transaction, job: UUID, erasure: Erasure, limit: int) -> list[UUID]:
    """What goes next."""
    for statement in (NEXT, NEXT_DERIVED):
        found = [row.id for row in tx.execute(statement, {**_parameters(scope, job, erasure), "limit": limit})]
        if found:
            return found
    return []


def advance(tenant: int, tx: Transaction, job: UUID, number: int) -> None:
    """So many went."""
    tx.execute(ADVANCE, {"tenant": tenant, "job": job, "number": number})


def complete(tenant: int, tx: Transaction, job: UUID) -> None:
    """Nothing is left; what was looked for is forgotten with it."""
    tx.execute(COMPLETE, {"tenant": tenant, "job": job})


def resume(scope: ScopeKey, tx: Transaction, job: UUID) -> None:
    """Put one that failed or was cancelled in line again; any other stays as it is."""
    tx.execute(RESUME, {"tenant": scope.tenant, "namespace": scope.namespace, "job": job})


def _parameters(scope: ScopeKey, job: UUID, erasure: Erasure) -> dict[str, object]:
    return {
        "tenant": scope.tenant,
        "namespace": scope.namespace,
        "agent_id": scope.agent_id,
        "session_id": scope.session_id,
        "filters": None if scope.named.filters is None else json.dumps(scope.named.filters),
        "metadata": None if erasure.metadata is None else json.dumps(erasure.metadata),
        "job": job,
    }
