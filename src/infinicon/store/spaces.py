"""The shared exact space: vectors staged by embed, published by index, read by query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import text

from infinicon.domain import MemoryType
from infinicon.errors import MissingDependency
from infinicon.store.database import Transaction, raw, unscoped

Vector: TypeAlias = NDArray[np.float16]

WIDEST = 4_000
"""Dimensions of a vector: more do not fit on a page of 8 KiB beside the rest of its row."""


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A memory of a batch that has no vector yet, with the text by which it is found."""

    id: UUID
    namespace: int
    type: MemoryType
    speaker: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a memory's text, [start, end), under one vector. `digest` names the text that was embedded."""

    memory: UUID
    chunk: int
    start: int
    end: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class StagedChunk:
    """A staged piece with its text, for the lexical index."""

    memory: UUID
    chunk: int
    speaker: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Published:
    """A memory that became visible, through work of `job`: one of them, where several had it in this batch."""

    id: UUID
    type: MemoryType
    namespace: int
    job: UUID
    agent_id: str | None
    session_id: str | None


CURRENT_MODEL = text("SELECT id, name, revision, dimension FROM embedding_models WHERE current")

ADD_MODEL = text("""
    INSERT INTO embedding_models (name, revision, dimension) VALUES (:name, :revision, :dimension) ON CONFLICT DO NOTHING
""")

# Atoms that another batch inserted and has not finished yet are embedded here too: this episode's visibility must not hang on that batch.
# An atom of put is active from the beginning, and has no rows either.
UNEMBEDDED = text("""
    SELECT m.id, m.namespace, m.type, m.speaker, coalesce(m.search_text, m.content) AS text
    FROM queued_episodes q
    JOIN memories m ON m.tenant = q.tenant AND m.id = q.episode
    WHERE q.tenant = :tenant AND q.batch = :batch AND q.embed_self AND m.status = 'pending'
    UNION
    SELECT a.id, a.namespace, a.type, a.speaker, coalesce(a.search_text, a.content)
    FROM queued_episodes q
    JOIN links l ON l.tenant = q.tenant AND l.to_id = q.episode AND l.link_type = 'derived_from'
    JOIN memories a ON a.tenant = l.tenant AND a.id = l.from_id
    WHERE q.tenant = :tenant AND q.batch = :batch AND (a.status = 'pending' OR (a.put AND a.status <> 'tombstoned'))
    ORDER BY id
""")

KNOWN_VECTORS = text("""
    SELECT DISTINCT ON (s.digest) s.digest, s.vector
    FROM unnest(CAST(:digests AS bytea[])) AS wanted (digest)
    JOIN space_rows s ON s.tenant = :tenant AND s.namespace = :namespace AND s.model = :model AND s.digest = wanted.digest
    WHERE s.vector IS NOT NULL
""")

MAKE_INCOMING_VECTORS = text("""
    CREATE TEMPORARY TABLE IF NOT EXISTS incoming_vectors (
        memory uuid, chunk smallint, span_start integer, span_end integer, digest bytea, vector halfvec
    ) ON COMMIT DELETE ROWS
""")
COPY_VECTORS = (
    "COPY incoming_vectors (memory, chunk, span_start, span_end, digest, vector) FROM STDIN WITH (FORMAT BINARY)"
)
CLEAR_STAGE = text("DELETE FROM staged_vectors WHERE tenant = :tenant AND batch = :batch")
STAGE = text("""
    INSERT INTO staged_vectors (tenant, batch, model, memory, chunk, span_start, span_end, digest, vector)
    SELECT :tenant, :batch, :model, memory, chunk, span_start, span_end, digest, vector FROM incoming_vectors
    ORDER BY memory, chunk
""")

STAGED = text("""
    SELECT s.memory, s.chunk, m.speaker,
           substring(coalesce(m.search_text, m.content) FROM s.span_start + 1 FOR s.span_end - s.span_start) AS text
    FROM staged_vectors s
    JOIN memories m ON m.tenant = s.tenant AND m.id = s.memory AND m.status NOT IN ('failed', 'tombstoned')
    WHERE s.tenant = :tenant AND s.batch = :batch
    ORDER BY s.memory, s.chunk
""")

MAKE_INCOMING_LEXEMES = text("""
    CREATE TEMPORARY TABLE IF NOT EXISTS incoming_lexemes (
        memory uuid, chunk smallint, lexemes integer[], frequencies smallint[], length smallint
    ) ON COMMIT DELETE ROWS
""")
COPY_LEXEMES = "COPY incoming_lexemes (memory, chunk, lexemes, frequencies, length) FROM STDIN WITH (FORMAT BINARY)"

# First of all: whoever cancels a job takes its episodes out of their batches, and so waits from here on and finds them gone.
HOLD_EPISODES = text("""
    SELECT episode FROM queued_episodes WHERE tenant = :tenant AND batch = :batch ORDER BY episode FOR UPDATE
""")

# Where episodes have left the batch, statements may be staged that none of the others makes. Nothing is looked at where none has left.
UNSTAGE_LEFT = text("""
    DELETE FROM staged_vectors s USING memories m
    WHERE s.tenant = :tenant AND s.batch = :batch
      AND (SELECT count(*) FROM queued_episodes q WHERE q.tenant = :tenant AND q.batch = :batch)
          < (SELECT b.episodes FROM batches b WHERE b.tenant = :tenant AND b.id = :batch)
      AND m.tenant = :tenant AND m.id = s.memory AND m.type = 'atom' AND m.status = 'pending'
      AND NOT EXISTS (SELECT FROM links l JOIN queued_episodes q ON q.tenant = l.tenant AND q.episode = l.to_id
                      WHERE l.tenant = :tenant AND l.from_id = s.memory AND l.link_type = 'derived_from' AND q.batch = :batch)
""")

# The memories' rows are locked in the order of their ids: a tombstone that comes meanwhile waits, and one that came before has
# taken the status that is asked for here, so that nothing late can bring a memory back.
LOCK_STAGED = text("""
    SELECT id FROM memories
    WHERE tenant = :tenant AND id IN (SELECT memory FROM staged_vectors WHERE tenant = :tenant AND batch = :batch)
    ORDER BY id FOR UPDATE
""")

PUBLISH = text("""
    WITH moved AS (
        DELETE FROM staged_vectors WHERE tenant = :tenant AND batch = :batch
        RETURNING memory, chunk, span_start, span_end, model, digest, vector
    ), rows AS (
        INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, agent_key, session_key, span_start, span_end, digest,
                                lexemes, vector)
        SELECT :tenant, m.namespace, s.model, s.memory, s.chunk, m.type, hashtextextended(m.agent_id, 0),
               hashtextextended(m.session_id, 0), s.span_start, s.span_end, s.digest, i.lexemes, s.vector
        FROM moved s
        JOIN memories m ON m.tenant = :tenant AND m.id = s.memory AND m.status NOT IN ('failed', 'tombstoned')
        JOIN incoming_lexemes i ON i.memory = s.memory AND i.chunk = s.chunk
        ORDER BY m.namespace, s.memory, s.chunk
        ON CONFLICT ON CONSTRAINT space_rows_chunk_key DO NOTHING
        RETURNING row_id, namespace, memory, chunk
    ), posted AS (
        INSERT INTO postings (tenant, namespace, lexeme, row_id, frequency, length)
        SELECT :tenant, r.namespace, u.lexeme, r.row_id, u.frequency, i.length
        FROM rows r
        JOIN incoming_lexemes i ON i.memory = r.memory AND i.chunk = r.chunk,
        LATERAL unnest(i.lexemes, i.frequencies) AS u (lexeme, frequency)
        ORDER BY r.namespace, u.lexeme, r.row_id
    )
    SELECT r.namespace, count(*) AS rows, sum(i.length) AS lexemes
    FROM rows r JOIN incoming_lexemes i ON i.memory = r.memory AND i.chunk = r.chunk
    GROUP BY r.namespace ORDER BY r.namespace
""")

# What put stored has been there before, and is indexed only now.
ACTIVATE_ATOMS = text("""
    UPDATE memories m SET status = CASE m.status WHEN 'pending' THEN 'active' ELSE m.status END, updated_at = now()
    FROM links l, queued_episodes q
    WHERE q.tenant = :tenant AND q.batch = :batch
      AND l.tenant = q.tenant AND l.to_id = q.episode AND l.link_type = 'derived_from'
      AND m.tenant = l.tenant AND m.id = l.from_id AND (m.status = 'pending' OR (m.put AND m.status <> 'tombstoned'))
      AND EXISTS (SELECT FROM space_rows s WHERE s.tenant = m.tenant AND s.memory = m.id)
    RETURNING m.id, m.type, m.namespace, q.job, m.agent_id, m.session_id
""")

ACTIVATE_EPISODES = text("""
    UPDATE memories m SET status = 'active', updated_at = now()
    FROM queued_episodes q
    WHERE q.tenant = :tenant AND q.batch = :batch AND m.tenant = q.tenant AND m.id = q.episode AND m.status = 'pending'
    RETURNING m.id, m.type, m.namespace, q.job, m.agent_id, m.session_id
""")

FINISH = text("""
    DELETE FROM queued_episodes WHERE tenant = :tenant AND batch = :batch RETURNING job
""")

ADD_TO_COUNTER = text("""
    UPDATE namespace_counters SET index_rows = index_rows + :rows, index_lexemes = index_lexemes + :lexemes
    WHERE tenant = :tenant AND namespace = :namespace
""")


@unscoped("models belong to no tenant")
def register_model(tx: Transaction, name: str, revision: str, dimension: int) -> int:
    """The number of the current model, set by the first process that embeds.

    Raises:
        MissingDependency: the index was built with another model; vectors of two models do not compare. Or the vectors are too wide.
    """
    if dimension > WIDEST:
        raise MissingDependency(
            "the vectors of this embedding model are too wide for the index: choose another INFINICON_MODEL",
            details={"dimension": dimension, "limit": WIDEST},
        )
    tx.execute(ADD_MODEL, {"name": name, "revision": revision, "dimension": dimension})
    row = tx.execute(CURRENT_MODEL).one()
    if (row.name, row.revision, row.dimension) != (name, revision, dimension):
        raise MissingDependency(
            "the index was built with another embedding model: set INFINICON_MODEL back, or build the index anew",
            details={"indexed": row.dimension, "configured": dimension},
        )
    number: int = row.id
    return number


def unembedded(tenant: int, tx: Transaction, batch: UUID) -> list[Unembedded]:
    """What the batch has to embed, in the order of ids."""
    rows = tx.execute(UNEMBEDDED, {"tenant": tenant, "batch": batch})
    return [Unembedded(row.id, row.namespace, MemoryType(row.type), row.speaker, row.text) for row in rows]


def known_vectors(
    tenant: int, tx: Transaction, namespace: int, model: int, digests: Collection[bytes]
) -> dict[bytes, Vector]:
    """Vectors that the namespace already holds for texts with these digests."""
    if not digests:
        return {}
    rows = tx.execute(
        KNOWN_VECTORS, {"tenant": tenant, "namespace": namespace, "model": model, "digests": list(digests)}
    )
    return {bytes(row.digest): row.vector.to_numpy() for row in rows}


def stage(
    tenant: int,
    tx: Transaction,
    batch: UUID,
    model: int,
    chunks: Sequence[Chunk],
    vectors: Mapping[bytes, Vector],
) -> None:
    """Keep the batch's vectors until it is indexed; what an earlier try left there goes.

    `vectors` by digest; a chunk whose digest is missing there gets none, and is found by its words alone.
    """
    key = {"tenant": tenant, "batch": batch}
    tx.execute(CLEAR_STAGE, key)
    tx.execute(MAKE_INCOMING_VECTORS)
    with raw(tx).cursor() as cursor, cursor.copy(COPY_VECTORS) as copy:
        copy.set_types(["uuid", "int2", "int4", "int4", "bytea", "halfvec"])
        for chunk in chunks:
            vector = vectors.get(chunk.digest)
            half = None if vector is None else HalfVector(vector)
            copy.write_row((chunk.memory, chunk.chunk, chunk.start, chunk.end, chunk.digest, half))
    tx.execute(STAGE, {**key, "model": model})


def staged(tenant: int, tx: Transaction, batch: UUID) -> list[StagedChunk]:
    """What the batch has staged of memories that still live."""
    rows = tx.execute(STAGED, {"tenant": tenant, "batch": batch})
    return [StagedChunk(row.memory, row.chunk, row.speaker, row.text) for row in rows]


def hold_episodes(tenant: int, tx: Transaction, batch: UUID) -> None:
    """Lock what the batch still carries until commit, and forget what was staged for the rest. A cancel waits from here on."""
    key = {"tenant": tenant, "batch": batch}
    for statement in (HOLD_EPISODES, UNSTAGE_LEFT, LOCK_STAGED):
        tx.execute(statement, key)


def publish(
    tenant: int, tx: Transaction, batch: UUID, lexemes: Mapping[tuple[UUID, int], Mapping[int, int]]
) -> tuple[list[Published], dict[UUID, int], dict[int, tuple[int, int]]]:
    """Make the batch's memories visible, all at once, after `hold_episodes`.

    `lexemes` maps (memory, chunk) to term frequencies. Answers with the memories that became active, the number of finished episodes
    by job, and rows and lexemes added by namespace; the counters are the caller's to move, at the end.
    """
    key = {"tenant": tenant, "batch": batch}
    tx.execute(MAKE_INCOMING_LEXEMES)
    with raw(tx).cursor() as cursor, cursor.copy(COPY_LEXEMES) as copy:
        copy.set_types(["uuid", "int2", "int4[]", "int2[]", "int2"])
        for (memory, chunk), terms in lexemes.items():
            frequencies = [min(number, 32_767) for number in terms.values()]
            copy.write_row((memory, chunk, list(terms), frequencies, min(sum(frequencies), 32_767)))
    added = {row.namespace: (row.rows, int(row.lexemes)) for row in tx.execute(PUBLISH, key)}
    active = [
        Published(row.id, MemoryType(row.type), row.namespace, row.job, row.agent_id, row.session_id)
        for statement in (ACTIVATE_ATOMS, ACTIVATE_EPISODES)
        for row in tx.execute(statement, key)
    ]
    finished: dict[UUID, int] = {}
    for row in tx.execute(FINISH, key):
        finished[row.job] = finished.get(row.job, 0) + 1
    return active, finished, added


def add_to_counters(tenant: int, tx: Transaction, added: Mapping[int, tuple[int, int]]) -> None:
    """Documents and lexemes of the lexical index, for BM25. Holds the counters' rows until commit: call it last but for events."""
    for namespace, (rows, lexemes) in sorted(added.items()):
        tx.execute(ADD_TO_COUNTER, {"tenant": tenant, "namespace": namespace, "rows": rows, "lexemes": lexemes})
