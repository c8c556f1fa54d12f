"""The backlog: atoms that no consolidation has looked at yet, by the consolidation scope that they belong to.

A scope counts what waits in it. The counter moves in the transaction that moves the atoms, as one of its last statements: behind memories
and jobs, before the counters of the namespace.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from infinicon.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Waiting:
    """A consolidation scope whose counter moved, and where it stands now."""

    scope: int
    namespace: int
    waiting: int


# A scope is made once; after that nothing is written here, and nobody waits for anybody.
MAKE_SCOPES = text("""
    INSERT INTO consolidation_scopes (tenant, namespace, width, agent_id, session_id)
    SELECT DISTINCT n.tenant, n.namespace, n.width, n.agent_id, n.session_id
    FROM consolidation_names n
    WHERE n.tenant = :tenant AND n.memory = ANY(CAST(:ids AS uuid[]))
      AND NOT EXISTS (SELECT FROM consolidation_scopes s
                      WHERE s.tenant = n.tenant AND s.namespace = n.namespace AND s.width = n.width AND s.agent_id = n.agent_id
                        AND s.session_id = n.session_id)
    ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT ON CONSTRAINT consolidation_scopes_names_key DO NOTHING
""")

ADD = text("""
    WITH added AS (
        INSERT INTO consolidation_backlog (tenant, memory, scope, undone)
        SELECT n.tenant, n.memory, s.id, :undone
        FROM consolidation_names n
        JOIN consolidation_scopes s ON s.tenant = n.tenant AND s.namespace = n.namespace AND s.width = n.width
                                   AND s.agent_id = n.agent_id AND s.session_id = n.session_id
        WHERE n.tenant = :tenant AND n.memory = ANY(CAST(:ids AS uuid[]))
        ORDER BY n.memory
        ON CONFLICT (tenant, memory) DO NOTHING
        RETURNING scope, undone
    ), counted AS (
        SELECT scope, count(*) AS number FROM added WHERE NOT undone GROUP BY scope
    ), held AS (
        SELECT s.id FROM consolidation_scopes s JOIN counted ON counted.scope = s.id
        WHERE s.tenant = :tenant ORDER BY s.id FOR NO KEY UPDATE OF s
    )
    UPDATE consolidation_scopes s
    SET waiting = s.waiting + counted.number, oldest_at = coalesce(s.oldest_at, now()), last_indexed_at = now()
    FROM counted JOIN held ON held.id = counted.scope
    WHERE s.tenant = :tenant AND s.id = counted.scope
    RETURNING s.id, s.namespace, s.waiting
""")

LEAVE = text("""
    WITH gone AS (
        DELETE FROM consolidation_backlog WHERE tenant = :tenant AND memory = ANY(CAST(:ids AS uuid[])) RETURNING scope, undone
    ), counted AS (
        SELECT scope, count(*) AS number FROM gone WHERE NOT undone GROUP BY scope
    ), held AS (
        SELECT s.id FROM consolidation_scopes s JOIN counted ON counted.scope = s.id
        WHERE s.tenant = :tenant ORDER BY s.id FOR NO KEY UPDATE OF s
    )
    UPDATE consolidation_scopes s
    SET waiting = s.waiting - counted.number, oldest_at = CASE WHEN s.waiting > counted.number THEN s.oldest_at END
    FROM counted JOIN held ON held.id = counted.scope
    WHERE s.tenant = :tenant AND s.id = counted.scope
    RETURNING s.id, s.namespace, s.waiting
""")

# Chronological: ids are in the order of time.
FIRST = text("""
    SELECT memory FROM consolidation_backlog
    WHERE tenant = :tenant AND scope = :scope AND memory > :after AND (:undone OR NOT undone)
    ORDER BY memory LIMIT :limit
""")

# What consolidations are made of, as far as it lives and is a statement: material for another one.
MATERIAL = text("""
    SELECT DISTINCT l.to_id AS id
    FROM links l
    JOIN memories c ON c.tenant = l.tenant AND c.id = l.from_id AND c.type = 'consolidation'
    JOIN memories m ON m.tenant = l.tenant AND m.id = l.to_id AND m.type = 'atom' AND m.status IN ('active', 'disputed')
    WHERE l.tenant = :tenant AND l.from_id = ANY(CAST(:ids AS uuid[])) AND l.link_type = 'derived_from'
""")


def add(tenant: int, tx: Transaction, memories: Collection[UUID], *, undone: bool = False) -> list[Waiting]:
    """Atoms among these that are active or disputed wait from now on; those that wait already do so once.

    `undone`: they wait until a person asks, and are not counted; what waits already waits as it did.
    """
    if not memories:
        return []
    key = {"tenant": tenant, "ids": sorted(memories)}
    tx.execute(MAKE_SCOPES, key)
    rows = tx.execute(ADD, {**key, "undone": undone})
    return [Waiting(row.id, row.namespace, row.waiting) for row in rows]


def leave(tenant: int, tx: Transaction, memories: Collection[UUID]) -> list[Waiting]:
    """These wait no more: they were looked at, or are gone."""
    if not memories:
        return []
    rows = tx.execute(LEAVE, {"tenant": tenant, "ids": sorted(memories)})
    return [Waiting(row.id, row.namespace, row.waiting) for row in rows]


def first(tenant: int, tx: Transaction, scope: int, after: UUID, limit: int, *, undone: bool) -> list[UUID]:
    """What has waited longest in a consolidation scope, behind `after`; with `undone` also what waits for a person."""
    key = {"tenant": tenant, "scope": scope, "after": after, "limit": limit, "undone": undone}
    return [row.memory for row in tx.execute(FIRST, key)]


def material(tenant: int, tx: Transaction, consolidations: Collection[UUID]) -> set[UUID]:
    """The living atoms of which those of these memories are made that are consolidations."""
    if not consolidations:
        return set()
    return {row.id for row in tx.execute(MATERIAL, {"tenant": tenant, "ids": sorted(consolidations)})}
