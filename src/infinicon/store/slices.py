"""Slices: what a reindex carries instead of episodes. A slice is a range of a namespace's memories, and all slices cover all ids.

The stage embed derives a slice's rows anew, and the stage index puts them in the place of the old ones in one transaction, so that a
search finds either. Truth is in `memories` and `links` (the view indexable_memories); of the index nothing is believed, vectors neither.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import text

from infinicon.domain import MemoryType, ScopeKey
from infinicon.store.database import Transaction
from infinicon.store.spaces import Unembedded

MEMORIES = 64
TOKENS = 4_000
"""About how much a slice holds, by the estimate that sizes batches: small enough to fail alone, large enough to be few."""

# A memory weighs at least a slice's share, so that neither number nor size runs away; one that is larger than a slice has its own.
# Slices take their turn after every episode, whenever that came: a back-fill does not wait for a reindex, and no reader does.
CUT = text("""
    WITH weighed AS (
        SELECT id, least(octet_length(text) / 4 + 1, 1000000) AS tokens FROM indexable_memories
        WHERE tenant = :tenant AND namespace = :namespace AND status <> 'pending'
    ), placed AS (
        SELECT id, tokens, (sum(greatest(tokens, CAST(:least AS integer))) OVER (ORDER BY id) - 1) / CAST(:tokens AS integer) AS slice
        FROM weighed
    ), cut AS (
        SELECT slice, (array_agg(id ORDER BY id DESC))[1] AS upto, least(sum(tokens), 1000000) AS tokens
        FROM placed GROUP BY slice
        UNION ALL
        SELECT 9223372036854775807, CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), 1
    )
    INSERT INTO queued_episodes (tenant, namespace, job, lane, episode, tokens, queued_at, after, upto)
    SELECT :tenant, :namespace, :job, 'bulk', gen_random_uuid(), tokens, '3000-01-01T00:00:00Z',
           lag(upto, 1, CAST('00000000-0000-0000-0000-000000000000' AS uuid)) OVER (ORDER BY upto), upto
    FROM cut
""")

SLICED = text("""
    SELECT m.id, m.namespace, m.type, m.speaker, m.text
    FROM queued_episodes q
    JOIN indexable_memories m ON m.tenant = q.tenant AND m.namespace = q.namespace AND m.id > q.after AND m.id <= q.upto
    WHERE q.tenant = :tenant AND q.batch = :batch AND m.status <> 'pending'
    ORDER BY m.id
""")

# Of what lies in the slices, rows stay that the truth has and the batch did not derive: of a memory that became visible meanwhile.
CLEAR = text("""
    WITH cleared AS (
        DELETE FROM space_rows r USING queued_episodes q
        WHERE q.tenant = :tenant AND q.batch = :batch
          AND r.tenant = q.tenant AND r.namespace = q.namespace AND r.memory > q.after AND r.memory <= q.upto
          AND (EXISTS (SELECT FROM staged_vectors s WHERE s.tenant = :tenant AND s.batch = :batch AND s.memory = r.memory)
               OR NOT EXISTS (SELECT FROM indexable_memories m
                              WHERE m.tenant = :tenant AND m.id = r.memory AND m.namespace = r.namespace))
        RETURNING r.namespace, r.row_id, r.lexemes
    ), unposted AS (
        DELETE FROM postings p USING cleared, LATERAL unnest(cleared.lexemes) AS u (lexeme)
        WHERE p.tenant = :tenant AND p.namespace = cleared.namespace AND p.lexeme = u.lexeme AND p.row_id = cleared.row_id
        RETURNING p.namespace, p.frequency
    ), gone AS (
        SELECT namespace, 1 AS rows, 0 AS lexemes FROM cleared
        UNION ALL
        SELECT namespace, 0, frequency FROM unposted
    )
    SELECT namespace, sum(rows) AS rows, sum(lexemes) AS lexemes FROM gone GROUP BY namespace
""")

FIRST = text("""
    SELECT namespace FROM queued_episodes
    WHERE tenant = :tenant AND batch = :batch AND after = CAST('00000000-0000-0000-0000-000000000000' AS uuid)
    ORDER BY namespace
""")

DROP_ORPHANS = text("""
    DELETE FROM postings p
    WHERE p.tenant = :tenant AND p.namespace = :namespace
      AND NOT EXISTS (SELECT FROM space_rows s WHERE s.tenant = p.tenant AND s.row_id = p.row_id AND s.namespace = p.namespace)
""")

# One snapshot of the counters and of what they count: rows and counters change in the same transactions, so the difference is the fault.
DRIFT = text("""
    SELECT (SELECT count(*) FROM space_rows s WHERE s.tenant = :tenant AND s.namespace = :namespace) - c.index_rows AS rows,
           (SELECT coalesce(sum(p.frequency), 0) FROM postings p WHERE p.tenant = :tenant AND p.namespace = :namespace)
           - c.index_lexemes AS lexemes
    FROM namespace_counters c WHERE c.tenant = :tenant AND c.namespace = :namespace
""")


def cut(scope: ScopeKey, tx: Transaction, job: UUID) -> int:
    """Put the whole namespace in line as slices of `job`; how many there are, one at least."""
    parameters = {"tenant": scope.tenant, "namespace": scope.namespace, "job": job}
    return tx.execute(CUT, {**parameters, "least": TOKENS // MEMORIES, "tokens": TOKENS}).rowcount


def sliced(tenant: int, tx: Transaction, batch: UUID) -> list[Unembedded]:
    """What the batch has to embed anew, in the order of ids."""
    rows = tx.execute(SLICED, {"tenant": tenant, "batch": batch})
    return [Unembedded(row.id, row.namespace, MemoryType(row.type), row.speaker, row.text) for row in rows]


def clear(tenant: int, tx: Transaction, batch: UUID) -> dict[int, tuple[int, int]]:
    """Remove the rows whose place the batch's staged ones take, and those of memories that are gone; rows and lexemes by namespace."""
    rows = tx.execute(CLEAR, {"tenant": tenant, "batch": batch})
    return {row.namespace: (int(row.rows), int(row.lexemes)) for row in rows}


def first(tenant: int, tx: Transaction, batch: UUID) -> list[int]:
    """Namespaces whose first slice the batch carries: with it goes what is done once for a reindex."""
    return [row.namespace for row in tx.execute(FIRST, {"tenant": tenant, "batch": batch})]


def drop_orphans(tenant: int, tx: Transaction, namespace: int) -> int:
    """Remove postings whose row is gone; how many there were."""
    return tx.execute(DROP_ORPHANS, {"tenant": tenant, "namespace": namespace}).rowcount


def drift(tenant: int, tx: Transaction, namespace: int) -> tuple[int, int]:
    """Rows and lexemes that the namespace's counters lack of what is there."""
    row = tx.execute(DRIFT, {"tenant": tenant, "namespace": namespace}).one()
    return int(row.rows), int(row.lexemes)
