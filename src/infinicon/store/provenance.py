"""Provenance chains: from derived memories back to their episodes, over any number of steps."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import MemoryRef, MemoryType, Scope, ScopeKey, Step
from infinicon.store.database import Transaction
from infinicon.store.memories import source_of

# Every edge once, whoever is reached by it, and so cycles and diamonds end. A source that is gone is named, and nothing of it is said.
CHAIN = text("""
    WITH RECURSIVE reached (id, to_id) AS (
        SELECT l.id, l.to_id FROM links l
        WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.link_type = 'derived_from' AND l.from_id = ANY(CAST(:ids AS uuid[]))
        UNION
        SELECT l.id, l.to_id FROM reached r JOIN links l ON l.tenant = :tenant AND l.from_id = r.to_id
        WHERE l.namespace = :namespace AND l.link_type = 'derived_from'
    ), bounded AS MATERIALIZED (
        SELECT id FROM reached LIMIT :limit
    )
    SELECT l.id, l.from_id, l.from_type, l.to_id, l.to_type, l.span_start, l.span_end, l.span_path,
           d.agent_id AS derived_agent, d.session_id AS derived_session, m.agent_id, m.session_id,
           CASE WHEN gone.status <> 'tombstoned' THEN m.filters END AS filters, gone.status
    FROM bounded
    JOIN links l ON l.tenant = :tenant AND l.id = bounded.id
    JOIN memories d ON d.tenant = l.tenant AND d.id = l.from_id
    JOIN memories m ON m.tenant = l.tenant AND m.id = l.to_id,
         LATERAL (SELECT CASE WHEN m.expires_at <= now() THEN 'tombstoned' ELSE m.status END AS status) gone
    ORDER BY l.from_id, l.to_id
""")


def steps(scope: ScopeKey, tx: Transaction, ids: Collection[UUID], limit: int) -> dict[UUID, list[Step]]:
    """The steps that lead on from these memories and from whatever they lead to, at most `limit`, by the memory that each starts at."""
    if not ids:
        return {}
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids), "limit": limit}
    named = scope.named
    found: dict[UUID, list[Step]] = {}
    for row in tx.execute(CHAIN, key):
        own = Scope(named.tenant_id, named.namespace_id, row.derived_agent, row.derived_session)
        step = Step(
            MemoryRef(row.id, MemoryType.LINK, own),
            MemoryRef(row.from_id, MemoryType(row.from_type), own),
            source_of(scope, row),
        )
        found.setdefault(row.from_id, []).append(step)
    return found
