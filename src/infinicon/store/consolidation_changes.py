"""What consolidation jobs changed, and how it is taken back: by a person, or because what took a memory's place is gone.

A memory that gave way is active again when nothing that lives stands in its place any more, and somebody still says what it says. An
atom that only disputed episodes say is disputed with them.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import MemoryType, Status
from infinicon.store import retractions
from infinicon.store.corrections import Changed
from infinicon.store.database import Transaction


class Kind(enum.StrEnum):
    CREATED = "created"
    SUPERSEDED = "superseded"
    FOLDED = "folded"
    DISPUTED = "disputed"


@dataclass(frozen=True, slots=True)
class Change:
    """`other`: what took the memory's place, or contradicts it; of one that was created itself, and its fingerprint. `was`: its status
    before."""

    kind: Kind
    memory: UUID
    other: UUID
    was: Status
    reason: str | None = None
    fingerprint: bytes | None = None


RECORD = text("""
    INSERT INTO consolidation_changes (tenant, job, kind, memory, other, was, reason, fingerprint)
    SELECT :tenant, :job, c.kind, c.memory, c.other, c.was, c.reason, c.fingerprint
    FROM unnest(CAST(:kinds AS text[]), CAST(:memories AS uuid[]), CAST(:others AS uuid[]), CAST(:was AS text[]),
                CAST(:reasons AS text[]), CAST(:fingerprints AS bytea[]))
         AS c (kind, memory, other, was, reason, fingerprint)
    ON CONFLICT DO NOTHING
""")

OF_JOB = text("""
    SELECT kind, memory, other, was, reason FROM consolidation_changes
    WHERE tenant = :tenant AND job = :job AND NOT undone ORDER BY kind, memory, other
    FOR UPDATE
""")

GAVE_WAY = text("""
    SELECT DISTINCT memory FROM consolidation_changes
    WHERE tenant = :tenant AND other = ANY(CAST(:ids AS uuid[])) AND kind <> 'created' AND NOT undone
""")

# What a later statement had taken the place of, and an episode that is being indexed says again.
RESTATED = text("""
    SELECT DISTINCT c.job, c.memory
    FROM memories m
    JOIN consolidation_changes c ON c.tenant = m.tenant AND c.memory = m.id AND c.kind = 'superseded' AND NOT c.undone
    WHERE m.tenant = :tenant AND m.id = ANY(CAST(:ids AS uuid[])) AND m.status = 'superseded'
""")

UNDO = text("""
    WITH undone AS (
        UPDATE consolidation_changes SET undone = true, refused = :refused
        WHERE tenant = :tenant AND NOT undone
          AND (job, memory) IN (SELECT * FROM unnest(CAST(:jobs AS uuid[]), CAST(:memories AS uuid[])))
        RETURNING kind, memory, other
    )
    UPDATE links l SET status = 'tombstoned'
    FROM undone u
    WHERE l.tenant = :tenant AND l.status = 'active'
      AND ((u.kind = 'superseded' AND l.link_type = 'supersedes' AND l.from_id = u.other AND l.to_id = u.memory)
           OR (u.kind = 'folded' AND l.link_type = 'same_as' AND l.from_id = u.other AND l.to_id = u.memory)
           OR (u.kind = 'disputed' AND l.link_type = 'contradicts' AND l.from_id = u.other AND l.to_id = u.memory)
           OR (u.kind = 'disputed' AND l.link_type = 'contradicts' AND l.from_id = u.memory AND l.to_id = u.other))
""")

HOLD = text("""
    SELECT id FROM memories WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) ORDER BY id FOR NO KEY UPDATE
""")

# Chains are followed to their end: what took the place of its successor stands in its place, too.
REVIVE = text("""
    WITH RECURSIVE above (start, id) AS (
        SELECT l.to_id, l.from_id FROM links l
        WHERE l.tenant = :tenant AND l.to_id = ANY(CAST(:ids AS uuid[])) AND l.link_type IN ('supersedes', 'corrects', 'same_as')
          AND l.status = 'active'
        UNION
        SELECT a.start, l.from_id FROM above a
        JOIN links l ON l.tenant = :tenant AND l.to_id = a.id AND l.link_type IN ('supersedes', 'corrects', 'same_as')
                    AND l.status = 'active'
    ), standing AS (
        SELECT m.id,
               EXISTS (SELECT FROM links l
                       JOIN memories o ON o.tenant = l.tenant AND o.id = CASE WHEN l.from_id = m.id THEN l.to_id ELSE l.from_id END
                       WHERE l.tenant = m.tenant AND (l.from_id = m.id OR l.to_id = m.id) AND l.link_type = 'contradicts'
                         AND l.status = 'active' AND o.status IN ('active', 'disputed'))
               OR (m.type = 'atom'
                   AND NOT EXISTS (SELECT FROM links l JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id
                                   WHERE l.tenant = m.tenant AND l.from_id = m.id AND l.link_type = 'derived_from'
                                     AND e.status NOT IN ('tombstoned', 'superseded', 'failed', 'disputed'))) AS contradicted
        FROM memories m
        WHERE m.tenant = :tenant AND m.id = ANY(CAST(:ids AS uuid[])) AND m.status IN ('superseded', 'disputed')
          AND (m.type <> 'atom'
               OR EXISTS (SELECT FROM links l JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id
                          WHERE l.tenant = m.tenant AND l.from_id = m.id AND l.link_type = 'derived_from'
                            AND e.status NOT IN ('tombstoned', 'superseded', 'failed')))
          AND NOT EXISTS (SELECT FROM above a JOIN memories s ON s.tenant = :tenant AND s.id = a.id
                          WHERE a.start = m.id AND a.id <> m.id AND s.status IN ('active', 'disputed')
                            AND (s.expires_at IS NULL OR s.expires_at > now()))
    )
    UPDATE memories m SET status = CASE WHEN s.contradicted THEN 'disputed' ELSE 'active' END, updated_at = now()
    FROM standing s
    WHERE m.tenant = :tenant AND m.id = s.id AND m.status <> CASE WHEN s.contradicted THEN 'disputed' ELSE 'active' END
    RETURNING m.id, m.type, m.namespace, m.agent_id, m.session_id, m.status
""")

# What is active again has nothing in its place.
SETTLE = text("""
    UPDATE consolidation_changes SET undone = true
    WHERE tenant = :tenant AND NOT undone
      AND (memory = ANY(CAST(:ids AS uuid[])) AND kind IN ('superseded', 'folded')
           OR memory = ANY(CAST(:active AS uuid[])) AND kind = 'disputed')
""")


def record(tenant: int, tx: Transaction, job: UUID, changes: Sequence[Change]) -> None:
    """Keep what a job changed."""
    if changes:
        tx.execute(
            RECORD,
            {
                "tenant": tenant,
                "job": job,
                "kinds": [change.kind for change in changes],
                "memories": [change.memory for change in changes],
                "others": [change.other for change in changes],
                "was": [change.was for change in changes],
                "reasons": [change.reason for change in changes],
                "fingerprints": [change.fingerprint for change in changes],
            },
        )


def of_job(tenant: int, tx: Transaction, job: UUID) -> list[Change]:
    """What a job changed and nobody has taken back, held until commit."""
    rows = tx.execute(OF_JOB, {"tenant": tenant, "job": job})
    return [Change(Kind(row.kind), row.memory, row.other, Status(row.was), row.reason) for row in rows]


def gave_way(tenant: int, tx: Transaction, successors: Collection[UUID]) -> set[UUID]:
    """Memories in whose place one of these stands, or that one of them contradicts, by a consolidation."""
    if not successors:
        return set()
    return {row.memory for row in tx.execute(GAVE_WAY, {"tenant": tenant, "ids": sorted(successors)})}


def restated(tenant: int, tx: Transaction, memories: Collection[UUID]) -> list[tuple[UUID, UUID]]:
    """(job, memory) for every one of these statements, which are made again, that a consolidation has superseded."""
    if not memories:
        return []
    return [(row.job, row.memory) for row in tx.execute(RESTATED, {"tenant": tenant, "ids": sorted(memories)})]


def undo(tenant: int, tx: Transaction, changes: Collection[tuple[UUID, UUID]], *, refused: bool = False) -> None:
    """What these jobs did to these memories counts no more, nor do the links that say so; their states are `revive`'s. `refused`: a
    person says so, and nobody does it again."""
    if changes:
        ordered = sorted(changes)
        jobs, memories = [job for job, _ in ordered], [memory for _, memory in ordered]
        tx.execute(UNDO, {"tenant": tenant, "jobs": jobs, "memories": memories, "refused": refused})


def revive(tenant: int, tx: Transaction, memories: Collection[UUID]) -> list[Changed]:
    """Those of the memories that are superseded or disputed for no reason any more are active again, or disputed at least."""
    if not memories:
        return []
    key = {"tenant": tenant, "ids": sorted(memories)}
    tx.execute(HOLD, key)
    rows = tx.execute(REVIVE, key).all()
    revived = [Changed(row.id, MemoryType(row.type), row.namespace, row.agent_id, row.session_id) for row in rows]
    retractions.mark(tenant, tx, [one.id for one in revived])
    if revived:
        active = sorted(row.id for row in rows if row.status == Status.ACTIVE)
        tx.execute(SETTLE, {"tenant": tenant, "ids": sorted(one.id for one in revived), "active": active})
    return revived
