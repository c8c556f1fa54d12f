"""Slices: what a reindex carries instead of episodes. A slice is a range of a namespace's memories, and all slices together cover every
id that is there when they are cut. What comes later comes through the pipeline, with the model and the counters of that time.

The stage embed derives a slice's rows anew, and the stage index puts them in the place of the old ones in one transaction, so that a
search finds either. Truth is in `memories` and `links` (the view indexable_memories); of the index nothing is believed, vectors neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import NIL_ID, MemoryType, ScopeKey
from infinicon.store.database import Transaction
from infinicon.store.spaces import Unembedded

MEMORIES = 64
TOKENS = 4_000
"""About how much a slice holds, by the estimate that sizes batches: small enough to fail alone, large enough to be few."""

GROWN = 2
"""Parts that a slice may be cut into without being too long: counted from its own beginning, one may fall into two."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The memories of a namespace with after < id <= upto. The first slice begins at the nil id."""

    namespace: int
    after: UUID
    upto: UUID


# The last id there is, of a memory or of a row that is left of one. No slice is open: under an ingest that never stops it would grow
# for as long as it waits.
END = text("""
    SELECT greatest(
        (SELECT last.id FROM (VALUES ('episode'), ('atom'), ('consolidation')) AS types (type),
             LATERAL (SELECT m.id FROM memories m WHERE m.tenant = :tenant AND m.namespace = :namespace AND m.type = types.type
                      ORDER BY m.id DESC LIMIT 1) last
         ORDER BY last.id DESC LIMIT 1),
        (SELECT r.memory FROM space_rows r WHERE r.tenant = :tenant AND r.namespace = :namespace ORDER BY r.memory DESC LIMIT 1))
""")

# A memory weighs at least a slice's share, so that neither number nor size runs away; one that is larger than a slice has its own.
# Pending ones weigh as well: by the time the slice has its turn they will be visible.
PARTS = text("""
    WITH weighed AS (
        SELECT id, least(octet_length(text) / 4 + 1, 1000000) AS tokens FROM indexable_memories
        WHERE tenant = :tenant AND namespace = :namespace AND id > :after AND id <= :upto
    ), placed AS (
        SELECT id, tokens, (sum(greatest(tokens, CAST(:least AS integer))) OVER (ORDER BY id) - 1) / CAST(:tokens AS integer) AS slice
        FROM weighed
    )
    SELECT (array_agg(id ORDER BY id DESC))[1] AS upto, least(sum(tokens), 1000000) AS tokens
    FROM placed GROUP BY slice ORDER BY slice
""")

# Slices take their turn after every episode, whenever that came: a back-fill does not wait for a reindex, and no reader does.
INSERT = text("""
    INSERT INTO queued_episodes (tenant, namespace, job, lane, episode, tokens, queued_at, after, upto)
    SELECT :tenant, :namespace, :job, 'bulk', gen_random_uuid(), p.tokens, '3000-01-01T00:00:00Z', p.after, p.upto
    FROM unnest(CAST(:after AS uuid[]), CAST(:upto AS uuid[]), CAST(:tokens AS integer[])) AS p (after, upto, tokens)
""")

NARROW = text("""
    UPDATE queued_episodes SET upto = :first
    WHERE tenant = :tenant AND batch = :batch AND namespace = :namespace AND after = :after AND upto = :upto
    RETURNING job
""")
ADD_TO_TOTAL = text("UPDATE jobs SET total = total + :number, updated_at = now() WHERE tenant = :tenant AND id = :job")

OF_BATCH = text("""
    SELECT namespace, after, upto FROM queued_episodes
    WHERE tenant = :tenant AND batch = :batch AND upto IS NOT NULL ORDER BY namespace, upto
""")

# A statement for each slice: with its bounds in sight, the planner knows how little lies between them.
MEMORIES_OF = text("""
    SELECT id, namespace, type, speaker, text FROM indexable_memories
    WHERE tenant = :tenant AND namespace = :namespace AND id > :after AND id <= :upto AND status <> 'pending'
    ORDER BY id
""")

# Of what lies in the slice, rows stay that the truth has and the batch did not derive: of a memory that became visible meanwhile.
CLEAR = text("""
    DELETE FROM space_rows r
    WHERE r.tenant = :tenant AND r.namespace = :namespace AND r.memory > :after AND r.memory <= :upto
      AND (EXISTS (SELECT FROM staged_vectors s WHERE s.tenant = :tenant AND s.batch = :batch AND s.memory = r.memory)
           OR NOT EXISTS (SELECT FROM indexable_memories m
                          WHERE m.tenant = :tenant AND m.id = r.memory AND m.namespace = r.namespace))
    RETURNING r.row_id, r.lexemes
""")

UNPOST = text("""
    DELETE FROM postings p
    USING unnest(CAST(:lexemes AS integer[]), CAST(:rows AS bigint[])) AS u (lexeme, row_id)
    WHERE p.tenant = :tenant AND p.namespace = :namespace AND p.lexeme = u.lexeme AND p.row_id = u.row_id
    RETURNING p.frequency
""")

TAKE_TURN = text("SELECT pg_advisory_xact_lock(hashtextextended('index ' || :tenant || ' ' || :namespace, 0))")

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
    last = tx.execute(END, {"tenant": scope.tenant, "namespace": scope.namespace}).scalar() or NIL_ID
    whole = Slice(scope.namespace, NIL_ID, last)
    parts = _parts(scope.tenant, tx, whole) or [(whole, 1)]
    _insert(scope.tenant, tx, job, parts)
    return len(parts)


def shortened(tenant: int, tx: Transaction, batch: UUID, held: Slice) -> Slice:
    """The slice that the batch, whose lease the caller holds, is to work on: of one that has become much longer than it was meant to be,
    the beginning, while the rest waits in line again as further slices of its job."""
    parts = _parts(tenant, tx, held)
    if len(parts) <= GROWN:
        return held
    (first, _), *rest = parts
    job = tx.execute(NARROW, {"tenant": tenant, "batch": batch, "first": first.upto, **asdict(held)}).scalar()
    if job is not None:
        _insert(tenant, tx, job, rest)
        tx.execute(ADD_TO_TOTAL, {"tenant": tenant, "job": job, "number": len(rest)})
    return first


def _parts(tenant: int, tx: Transaction, whole: Slice) -> list[tuple[Slice, int]]:
    """What a range is to be cut into, with the tokens of each; nothing where it holds no memory."""
    parameters = {"tenant": tenant, **asdict(whole), "least": TOKENS // MEMORIES, "tokens": TOKENS}
    rows = tx.execute(PARTS, parameters).all()
    ends = [row.upto for row in rows[:-1]] + [whole.upto]
    starts = [whole.after, *ends]
    return [(Slice(whole.namespace, starts[n], ends[n]), int(row.tokens)) for n, row in enumerate(rows)]


def _insert(tenant: int, tx: Transaction, job: UUID, parts: Sequence[tuple[Slice, int]]) -> None:
    tx.execute(
        INSERT,
        {
            "tenant": tenant,
            "namespace": parts[0][0].namespace,
            "job": job,
            "after": [part.after for part, _ in parts],
            "upto": [part.upto for part, _ in parts],
            "tokens": [tokens for _, tokens in parts],
        },
    )


def of_batch(tenant: int, tx: Transaction, batch: UUID) -> list[Slice]:
    """The slices that the batch carries."""
    rows = tx.execute(OF_BATCH, {"tenant": tenant, "batch": batch})
    return [Slice(row.namespace, row.after, row.upto) for row in rows]


def memories(tenant: int, tx: Transaction, held: Slice) -> list[Unembedded]:
    """What is to be embedded anew of a slice, in the order of ids."""
    rows = tx.execute(MEMORIES_OF, {"tenant": tenant, **asdict(held)})
    return [Unembedded(row.id, row.namespace, MemoryType(row.type), row.speaker, row.text) for row in rows]


def clear(tenant: int, tx: Transaction, batch: UUID, held: Slice) -> tuple[int, int]:
    """Remove the rows whose place the batch's staged ones take, and those of memories that are gone; rows and lexemes that went."""
    cleared = tx.execute(CLEAR, {"tenant": tenant, "batch": batch, **asdict(held)}).all()
    postings = [(lexeme, row.row_id) for row in cleared for lexeme in row.lexemes]
    if not postings:
        return len(cleared), 0
    lexemes, rows = zip(*postings, strict=True)
    parameters = {"tenant": tenant, "namespace": held.namespace, "lexemes": list(lexemes), "rows": list(rows)}
    return len(cleared), sum(row.frequency for row in tx.execute(UNPOST, parameters))


def take_turn(tenant: int, tx: Transaction, namespace: int) -> None:
    """Wait until nobody else sets the namespace's counters right: a drift that two find is one. The turn ends with the transaction."""
    tx.execute(TAKE_TURN, {"tenant": str(tenant), "namespace": str(namespace)})


def drop_orphans(tenant: int, tx: Transaction, namespace: int) -> int:
    """Remove postings whose row is gone; how many there were."""
    return tx.execute(DROP_ORPHANS, {"tenant": tenant, "namespace": namespace}).rowcount


def drift(tenant: int, tx: Transaction, namespace: int) -> tuple[int, int]:
    """Rows and lexemes that the namespace's counters lack of what is there."""
    row = tx.execute(DRIFT, {"tenant": tenant, "namespace": namespace}).one()
    return int(row.rows), int(row.lexemes)
