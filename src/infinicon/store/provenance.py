"""Provenance chains, from derived memories back to their episodes, over any number of steps; and what else links say of memories."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import LinkType, MemoryRef, MemoryType, Relation, Scope, ScopeKey, Status, Step
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

# Like a link as an object, it is there as long as the memory that it starts from. A pending one says nothing yet.
RELATED = text("""
    SELECT wanted.id AS memory, l.id, l.link_type, l.status, l.from_id, l.from_type, l.to_id, l.to_type,
           f.agent_id AS from_agent, f.session_id AS from_session, t.agent_id AS to_agent, t.session_id AS to_session
    FROM unnest(CAST(:ids AS uuid[])) AS wanted (id),
         LATERAL (
             (SELECT * FROM links o
              WHERE o.tenant = :tenant AND o.namespace = :namespace AND o.from_id = wanted.id
                AND o.link_type IN ('supersedes', 'corrects', 'contradicts', 'same_as') AND o.status <> 'pending'
                AND o.status <> 'tombstoned' ORDER BY o.id DESC LIMIT :limit)
             UNION ALL
             (SELECT * FROM links o
              WHERE o.tenant = :tenant AND o.namespace = :namespace AND o.to_id = wanted.id
                AND o.link_type IN ('supersedes', 'corrects', 'contradicts', 'same_as') AND o.status <> 'pending'
                AND o.status <> 'tombstoned' ORDER BY o.id DESC LIMIT :limit)
             ORDER BY id DESC LIMIT :limit) l
    JOIN memories f ON f.tenant = :tenant AND f.id = l.from_id
    JOIN memories t ON t.tenant = :tenant AND t.id = l.to_id
    WHERE f.status <> 'tombstoned' AND (f.expires_at IS NULL OR f.expires_at > now())
    ORDER BY wanted.id, l.id DESC
""")


SUPERSEDED = text("""
    SELECT wanted.id AS from_id, old.to_id, old.to_type, m.agent_id, m.session_id
    FROM unnest(CAST(:ids AS uuid[])) AS wanted (id),
         LATERAL (SELECT l.to_id, l.to_type FROM links l
                  WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.from_id = wanted.id AND l.link_type = 'supersedes'
                    AND l.status = 'active'
                  ORDER BY l.to_id DESC LIMIT :limit) old
    JOIN memories m ON m.tenant = :tenant AND m.id = old.to_id
    ORDER BY wanted.id, old.to_id DESC
""")

STATED = text("""
    SELECT from_id, link_type, to_id FROM links
    WHERE tenant = :tenant AND namespace = :namespace AND from_id = ANY(CAST(:ids AS uuid[]))
      AND link_type IN ('supersedes', 'corrects')
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


def superseded(scope: ScopeKey, tx: Transaction, ids: Collection[UUID], limit: int) -> dict[UUID, list[MemoryRef]]:
    """Whose place these memories took: at most `limit` for each, the newest first."""
    if not ids:
        return {}
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids), "limit": limit}
    named = scope.named
    found: dict[UUID, list[MemoryRef]] = {}
    for row in tx.execute(SUPERSEDED, key):
        own = Scope(named.tenant_id, named.namespace_id, row.agent_id, row.session_id)
        found.setdefault(row.from_id, []).append(MemoryRef(row.to_id, MemoryType(row.to_type), own))
    return found


def related(scope: ScopeKey, tx: Transaction, ids: Collection[UUID], limit: int) -> dict[UUID, list[Relation]]:
    """How these memories stand to others that supersede, correct, contradict or repeat them, and the reverse: at most `limit` for each, the
    newest first."""
    if not ids:
        return {}
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids), "limit": limit}
    named = scope.named
    found: dict[UUID, list[Relation]] = {}
    for row in tx.execute(RELATED, key):
        start = Scope(named.tenant_id, named.namespace_id, row.from_agent, row.from_session)
        end = Scope(named.tenant_id, named.namespace_id, row.to_agent, row.to_session)
        relation = Relation(
            MemoryRef(row.id, MemoryType.LINK, start),
            LinkType(row.link_type),
            Status(row.status),
            MemoryRef(row.from_id, MemoryType(row.from_type), start),
            MemoryRef(row.to_id, MemoryType(row.to_type), end),
        )
        found.setdefault(row.memory, []).append(relation)
    return found


def stated(scope: ScopeKey, tx: Transaction, episodes: Collection[UUID]) -> set[tuple[UUID, LinkType, UUID]]:
    """What these take the place of, or will once they are indexed: (episode, link type, what it corrects or supersedes)."""
    if not episodes:
        return set()
    rows = tx.execute(STATED, {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(episodes)})
    return {(row.from_id, LinkType(row.link_type), row.to_id) for row in rows}
