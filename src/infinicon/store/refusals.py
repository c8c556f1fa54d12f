"""What people took back of consolidations, which nobody makes again; and single merges, as they are taken back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from infinicon.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Merge:
    """`memory` gave way to `other` by a consolidation: it was superseded by it, or folded into it."""

    memory: UUID
    other: UUID


@dataclass(frozen=True, slots=True)
class Refused:
    """Pairs without an order: of which neither may give way to the other, and which are no contradiction."""

    merges: frozenset[frozenset[UUID]]
    disputes: frozenset[frozenset[UUID]]


BETWEEN = text("""
    SELECT DISTINCT memory, other FROM consolidation_changes
    WHERE tenant = :tenant AND memory = ANY(CAST(:ids AS uuid[])) AND other = ANY(CAST(:ids AS uuid[]))
      AND kind IN ('superseded', 'folded') AND NOT undone
    ORDER BY 1, 2
""")

REPAIR = text("""
    WITH undone AS (
        UPDATE consolidation_changes SET undone = true, refused = true
        WHERE tenant = :tenant AND kind IN ('superseded', 'folded') AND NOT undone
          AND (memory, other) IN (SELECT * FROM unnest(CAST(:memories AS uuid[]), CAST(:others AS uuid[])))
        RETURNING kind, memory, other
    )
    UPDATE links l SET status = 'tombstoned'
    FROM undone u
    WHERE l.tenant = :tenant AND l.status = 'active' AND l.from_id = u.other AND l.to_id = u.memory
      AND l.link_type = CASE u.kind WHEN 'folded' THEN 'same_as' ELSE 'supersedes' END
""")

PAIRS = text("""
    SELECT DISTINCT memory, other, kind = 'disputed' AS disputed FROM consolidation_changes
    WHERE tenant = :tenant AND refused AND kind <> 'created'
      AND memory = ANY(CAST(:ids AS uuid[])) AND other = ANY(CAST(:ids AS uuid[]))
""")

DIGESTS = text("""
    SELECT DISTINCT fingerprint FROM consolidation_changes
    WHERE tenant = :tenant AND refused AND fingerprint = ANY(CAST(:fingerprints AS bytea[]))
""")


def between(tenant: int, tx: Transaction, memories: Collection[UUID]) -> list[Merge]:
    """Merges of one of these into another that hold still."""
    rows = tx.execute(BETWEEN, {"tenant": tenant, "ids": sorted(memories)})
    return [Merge(row.memory, row.other) for row in rows]


def repair(tenant: int, tx: Transaction, merges: Sequence[Merge]) -> None:
    """These merges count no more and are refused from now on; the states of the memories are `consolidation_changes.revive`'s."""
    memories, others = [one.memory for one in merges], [one.other for one in merges]
    tx.execute(REPAIR, {"tenant": tenant, "memories": memories, "others": others})


def pairs(tenant: int, tx: Transaction, memories: Collection[UUID]) -> Refused:
    """What is refused between any two of these."""
    rows = tx.execute(PAIRS, {"tenant": tenant, "ids": sorted(memories)}).all() if memories else []
    return Refused(
        frozenset(frozenset({row.memory, row.other}) for row in rows if not row.disputed),
        frozenset(frozenset({row.memory, row.other}) for row in rows if row.disputed),
    )


def digests(tenant: int, tx: Transaction, fingerprints: Collection[bytes]) -> set[bytes]:
    """Those of the fingerprints whose consolidations a person took back."""
    if not fingerprints:
        return set()
    rows = tx.execute(DIGESTS, {"tenant": tenant, "fingerprints": sorted(fingerprints)})
    return {bytes(row.fingerprint) for row in rows}
