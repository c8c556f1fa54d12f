"""What people and agents say about memory: this takes the place of that, these two contradict each other, this one holds.

A correction is a link from the new memory. It waits until the new one is indexed: what it retires stays active until then.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import LinkType, MemoryType, ScopeKey, Status
from infinicon.ids import new_id
from infinicon.store import retractions
from infinicon.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Changed:
    """A memory whose status a correction changed."""

    id: UUID
    type: MemoryType
    namespace: int
    agent_id: str | None
    session_id: str | None


@dataclass(frozen=True, slots=True)
class Edge:
    """A link that a caller states. Types are those of the memories at its ends."""

    type: LinkType
    start: UUID
    start_type: MemoryType
    end: UUID
    end_type: MemoryType


TAKE_TURN = text("SELECT pg_advisory_xact_lock(hashtextextended('contradictions ' || :tenant || ' ' || :namespace, 0))")

KNOWN = text("""
    SELECT id, type, status FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[])) AND status <> 'tombstoned'
      AND (expires_at IS NULL OR expires_at > now())
      AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR session_id = :session_id)
      AND (CAST(:filters AS jsonb) IS NULL OR filters @> CAST(:filters AS jsonb))
""")

HOLD = text("""
    SELECT id, type, status FROM memories
    WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) ORDER BY id FOR UPDATE
""")

INSERT = text("""
    INSERT INTO links (tenant, id, namespace, link_type, from_id, from_type, to_id, to_type, status)
    SELECT :tenant, e.id, :namespace, e.type, e.start, e.start_type, e.finish, e.end_type, :status
    FROM unnest(CAST(:ids AS uuid[]), CAST(:types AS text[]), CAST(:starts AS uuid[]), CAST(:start_types AS text[]),
                CAST(:ends AS uuid[]), CAST(:end_types AS text[])) AS e (id, type, start, start_type, finish, end_type)
    ORDER BY e.start, e.finish
    ON CONFLICT ON CONSTRAINT links_edge_key DO UPDATE SET status = excluded.status
""")

# What the new ones retire; and what is retired by somebody who was there before it.
RETIRED = text("""
    SELECT l.to_id AS id FROM links l
    WHERE l.tenant = :tenant AND l.from_id = ANY(CAST(:ids AS uuid[])) AND l.link_type IN ('supersedes', 'corrects')
      AND l.status = 'pending'
    UNION
    SELECT l.to_id FROM links l
    WHERE l.tenant = :tenant AND l.to_id = ANY(CAST(:ids AS uuid[])) AND l.link_type IN ('supersedes', 'corrects')
      AND l.status = 'active'
""")

# What only retired episodes say is retired with them.
STATED = text("""
    SELECT DISTINCT l.from_id AS id
    FROM links l JOIN memories a ON a.tenant = l.tenant AND a.id = l.from_id AND a.type = 'atom'
    WHERE l.tenant = :tenant AND l.to_id = ANY(CAST(:ids AS uuid[])) AND l.link_type = 'derived_from'
      AND NOT EXISTS (
          SELECT FROM links o JOIN memories m ON m.tenant = o.tenant AND m.id = o.to_id
          WHERE o.tenant = l.tenant AND o.from_id = l.from_id AND o.link_type = 'derived_from'
            AND o.to_id <> ALL(CAST(:ids AS uuid[])) AND m.status NOT IN ('tombstoned', 'superseded', 'failed'))
""")

STATED_ANEW = text("""
    SELECT DISTINCT m.id
    FROM queued_episodes q
    JOIN links l ON l.tenant = q.tenant AND l.to_id = q.episode AND l.link_type = 'derived_from'
    JOIN memories m ON m.tenant = l.tenant AND m.id = l.from_id
    WHERE q.tenant = :tenant AND q.batch = :batch AND m.type = 'atom'
      AND (m.status IN ('superseded', 'disputed') OR (m.stale AND m.status <> 'tombstoned'))
""")

FRESHEN = text("""
    UPDATE memories SET stale = false, updated_at = now() WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND stale
""")

SUPERSEDE = text("""
    UPDATE memories SET status = 'superseded', updated_at = now()
    WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND status IN ('active', 'disputed')
    RETURNING id, type, namespace, agent_id, session_id
""")

CONFIRM = text("""
    UPDATE links SET status = 'active'
    WHERE tenant = :tenant AND from_id = ANY(CAST(:ids AS uuid[])) AND status = 'pending'
""")

SET_STATUS = text("""
    UPDATE memories SET status = :status, updated_at = now()
    WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND status = ANY(CAST(:was AS text[]))
    RETURNING id, type, namespace, agent_id, session_id
""")

CONTRADICTORS = text("""
    SELECT l.id, l.from_id, l.from_type, l.to_id, l.to_type FROM links l
    WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.link_type = 'contradicts' AND l.status = 'active'
      AND (l.from_id = ANY(CAST(:ids AS uuid[])) OR l.to_id = ANY(CAST(:ids AS uuid[])))
    ORDER BY l.id
""")

# What is gone takes nobody's place and contradicts nobody. Whatever gave way to something that is gone already gave way to its successor.
ANSWERED = text("""
    WITH RECURSIVE below (id) AS (
        SELECT unnest(CAST(:ids AS uuid[]))
        UNION
        SELECT l.to_id FROM below
        JOIN links l ON l.tenant = :tenant AND l.from_id = below.id AND l.link_type IN ('supersedes', 'corrects') AND l.status = 'active'
        JOIN memories m ON m.tenant = l.tenant AND m.id = below.id AND m.status = 'tombstoned'
    )
    SELECT id FROM below WHERE id <> ALL(CAST(:ids AS uuid[]))
    UNION
    SELECT CASE WHEN from_id = ANY(CAST(:ids AS uuid[])) THEN to_id ELSE from_id END FROM links
    WHERE tenant = :tenant AND link_type = 'contradicts' AND status = 'active'
      AND (from_id = ANY(CAST(:ids AS uuid[])) OR to_id = ANY(CAST(:ids AS uuid[])))
""")

SETTLE = text("""
    UPDATE links SET status = 'superseded' WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
""")


def take_turn(scope: ScopeKey, tx: Transaction) -> None:
    """Wait until nobody else states or ends contradictions in the namespace. Which memories an end concerns is known only once it is
    looked at: two that look at each other's would deadlock, and keep connections from everybody meanwhile. It ends with the transaction."""
    tx.execute(TAKE_TURN, {"tenant": str(scope.tenant), "namespace": str(scope.namespace)})


def known(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, tuple[MemoryType, Status]]:
    """Those of the ids that are living memories of the scope."""
    rows = tx.execute(
        KNOWN,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
            "filters": None if scope.named.filters is None else json.dumps(scope.named.filters),
            "ids": sorted(ids),
        },
    )
    return {row.id: (MemoryType(row.type), Status(row.status)) for row in rows}


def hold(tenant: int, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, tuple[MemoryType, Status]]:
    """Lock memories in the order of their ids."""
    rows = tx.execute(HOLD, {"tenant": tenant, "ids": sorted(ids)})
    return {row.id: (MemoryType(row.type), Status(row.status)) for row in rows}


def insert(scope: ScopeKey, tx: Transaction, edges: Sequence[Edge], status: Status) -> None:
    """State links. A pending one says nothing yet."""
    if edges:
        tx.execute(
            INSERT,
            {
                "tenant": scope.tenant,
                "namespace": scope.namespace,
                "status": status,
                "ids": [new_id() for _ in edges],
                "types": [edge.type for edge in edges],
                "starts": [edge.start for edge in edges],
                "start_types": [edge.start_type for edge in edges],
                "ends": [edge.end for edge in edges],
                "end_types": [edge.end_type for edge in edges],
            },
        )


def apply(tenant: int, tx: Transaction, active: Collection[UUID]) -> list[Changed]:
    """Retire what memories that have just become active take the place of; those that were retired before they came are retired too."""
    key = {"tenant": tenant, "ids": sorted(active)}
    retired = {row.id for row in tx.execute(RETIRED, key)}
    if not retired:
        return []
    tx.execute(CONFIRM, key)
    return retire(tenant, tx, retired)


def stated(tenant: int, tx: Transaction, episodes: Collection[UUID]) -> set[UUID]:
    """The atoms that these say and nobody else does who holds."""
    return {row.id for row in tx.execute(STATED, {"tenant": tenant, "ids": sorted(episodes)})}


def stated_anew(tenant: int, tx: Transaction, batch: UUID) -> set[UUID]:
    """Atoms that hold no more, or not for sure, or are stale, and that an episode of the batch says again."""
    return {row.id for row in tx.execute(STATED_ANEW, {"tenant": tenant, "batch": batch})}


def freshen(tenant: int, tx: Transaction, memories: Collection[UUID]) -> None:
    """These have a source that lives: they are not stale."""
    if memories:
        tx.execute(FRESHEN, {"tenant": tenant, "ids": sorted(memories)})


def retire(tenant: int, tx: Transaction, ids: Collection[UUID]) -> list[Changed]:
    """Supersede memories, and what nobody else says any more."""
    going = sorted({*ids, *stated(tenant, tx, ids)})
    hold(tenant, tx, going)
    changed = [_changed(row) for row in tx.execute(SUPERSEDE, {"tenant": tenant, "ids": going})]
    retractions.mark(tenant, tx, [one.id for one in changed])
    return changed


def set_status(
    tenant: int, tx: Transaction, ids: Collection[UUID], status: Status, was: Collection[Status]
) -> list[Changed]:
    """Give held memories another status, where they have one of these."""
    rows = tx.execute(SET_STATUS, {"tenant": tenant, "ids": sorted(ids), "status": status, "was": list(was)})
    changed = [_changed(row) for row in rows]
    retractions.mark(tenant, tx, [one.id for one in changed])
    return changed


def contradictions(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, Edge]:
    """Open contradictions that have one of these at an end, by the id of their link."""
    rows = tx.execute(CONTRADICTORS, {"tenant": scope.tenant, "namespace": scope.namespace, "ids": sorted(ids)})
    return {
        row.id: Edge(LinkType.CONTRADICTS, row.from_id, MemoryType(row.from_type), row.to_id, MemoryType(row.to_type))
        for row in rows
    }


def answered(tenant: int, tx: Transaction, ids: Collection[UUID]) -> set[UUID]:
    """Memories in whose place one of these stood, or that one of them contradicted. Call it when they are tombstoned."""
    return {row.id for row in tx.execute(ANSWERED, {"tenant": tenant, "ids": sorted(ids)})} if ids else set()


def settle(tenant: int, tx: Transaction, links: Collection[UUID]) -> None:
    """These contradictions are none any more."""
    tx.execute(SETTLE, {"tenant": tenant, "ids": sorted(links)})


def _changed(row: Any) -> Changed:
    return Changed(row.id, MemoryType(row.type), row.namespace, row.agent_id, row.session_id)
