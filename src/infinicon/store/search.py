"""The two legs of a query over the shared exact space, and how what they find hangs together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import text

from infinicon.domain import ScopeKey
from infinicon.store.database import Transaction

COVERED_DIMENSION = (
    1280  # the widest vector that the covering index holds; stands in the statements and in the migration
)

K1 = 1.2
B = 0.4  # short turns want little length normalisation, and long text is cut into chunks


@dataclass(frozen=True, slots=True)
class Match:
    """A row of the lexical leg, and the query's lexemes that it has.

    The score is BM25 (Robertson and Zaragoza 2009) as a share of what a text of average length gets that has every lexeme of the query
    once, also those that no text of the namespace has: 1 is a full answer, more is possible for short texts and repeats.
    """

    row: int
    score: float
    lexemes: frozenset[int]


CURRENT_MODEL = text("SELECT id FROM embedding_models WHERE current AND dimension = :dimension")

NEAREST = text("""
    SELECT row_id, -(vector <#> CAST(:vector AS halfvec)) AS similarity
    FROM space_rows
    WHERE tenant = :tenant AND namespace = :namespace AND model = :model AND vector_dims(vector) <= 1280
      AND (CAST(:agent_id AS text) IS NULL OR agent_key = hashtextextended(:agent_id, 0))
      AND (CAST(:session_id AS text) IS NULL OR session_key = hashtextextended(:session_id, 0))
    ORDER BY vector <#> CAST(:vector AS halfvec), row_id
    LIMIT :limit
""")

NEAREST_WIDE = text("""
    SELECT row_id, -(vector <#> CAST(:vector AS halfvec)) AS similarity
    FROM space_rows
    WHERE tenant = :tenant AND namespace = :namespace AND model = :model AND vector_dims(vector) > 1280
      AND (CAST(:agent_id AS text) IS NULL OR agent_key = hashtextextended(:agent_id, 0))
      AND (CAST(:session_id AS text) IS NULL OR session_key = hashtextextended(:session_id, 0))
    ORDER BY vector <#> CAST(:vector AS halfvec), row_id
    LIMIT :limit
""")

MATCHING = text("""
    WITH matched AS (
        SELECT p.lexeme, p.row_id, p.frequency, p.length, count(*) OVER (PARTITION BY p.lexeme) AS documents
        FROM postings p
        WHERE p.tenant = :tenant AND p.namespace = :namespace AND p.lexeme = ANY(CAST(:lexemes AS integer[]))
    ), counted AS (
        SELECT greatest(index_rows, 1)::float8 AS number, greatest(index_lexemes, 1)::float8 / greatest(index_rows, 1) AS length
        FROM namespace_counters WHERE tenant = :tenant AND namespace = :namespace
    ), known AS (
        SELECT lexeme, max(documents) AS documents FROM matched GROUP BY lexeme
    ), weighed AS (
        SELECT q.lexeme,
               ln(1 + (greatest(c.number - coalesce(k.documents, 0), 0) + 0.5) / (coalesce(k.documents, 0) + 0.5)) AS weight
        FROM unnest(CAST(:lexemes AS integer[])) AS q (lexeme) LEFT JOIN known k ON k.lexeme = q.lexeme CROSS JOIN counted c
    ), ideal AS (
        SELECT sum(weight) AS score FROM weighed
    )
    SELECT m.row_id, array_agg(m.lexeme) AS lexemes,
           sum(w.weight * m.frequency * (:k1 + 1) / (m.frequency + :k1 * (1 - :b + :b * m.length / c.length))) / min(i.score) AS score
    FROM matched m JOIN weighed w ON w.lexeme = m.lexeme CROSS JOIN counted c CROSS JOIN ideal i
    WHERE (CAST(:rows AS bigint[]) IS NULL OR m.row_id = ANY(CAST(:rows AS bigint[])))
      AND ((CAST(:agent_id AS text) IS NULL AND CAST(:session_id AS text) IS NULL)
           OR EXISTS (SELECT FROM space_rows s
                      WHERE s.tenant = :tenant AND s.namespace = :namespace AND s.row_id = m.row_id
                        AND (CAST(:agent_id AS text) IS NULL OR s.agent_key = hashtextextended(:agent_id, 0))
                        AND (CAST(:session_id AS text) IS NULL OR s.session_key = hashtextextended(:session_id, 0))))
    GROUP BY m.row_id
    ORDER BY score DESC, m.row_id
    LIMIT :limit
""")

SIMILARITIES = text("""
    SELECT row_id, -(vector <#> CAST(:vector AS halfvec)) AS similarity
    FROM space_rows
    WHERE tenant = :tenant AND row_id = ANY(CAST(:rows AS bigint[])) AND model = :model
      AND vector IS NOT NULL
""")

TOLD = text("""
    SELECT l.from_id AS atom, l.to_id AS episode
    FROM unnest(CAST(:episodes AS uuid[])) AS listed (id)
    JOIN links l ON l.tenant = :tenant AND l.to_id = listed.id
    WHERE l.namespace = :namespace AND l.link_type = 'derived_from' AND l.from_id = ANY(CAST(:atoms AS uuid[]))
""")

# The words of a memory are those of its rows; of an episode that has none, those of the atom that says all of it.
SHARED = text("""
    SELECT shown.memory, array_agg(DISTINCT word.lexeme) AS lexemes
    FROM (SELECT id AS memory, id AS found FROM unnest(CAST(:memories AS uuid[])) AS own (id)
          UNION ALL
          SELECT l.to_id, l.from_id
          FROM unnest(CAST(:memories AS uuid[])) AS told (id)
          JOIN links l ON l.tenant = :tenant AND l.to_id = told.id
          WHERE l.namespace = :namespace AND l.link_type = 'derived_from' AND l.whole) shown
    JOIN space_rows s ON s.tenant = :tenant AND s.memory = shown.found AND s.namespace = :namespace,
         LATERAL unnest(s.lexemes) AS word (lexeme)
    WHERE word.lexeme = ANY(CAST(:lexemes AS integer[]))
    GROUP BY shown.memory
""")

SOURCES = text("""
    SELECT wanted.id AS atom, source.to_id AS episode
    FROM unnest(CAST(:atoms AS uuid[])) AS wanted (id),
         LATERAL (SELECT l.to_id FROM links l
                  WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.from_id = wanted.id AND l.link_type = 'derived_from'
                  ORDER BY l.to_id DESC LIMIT :limit) source
""")


def current_model(scope: ScopeKey, tx: Transaction, dimension: int) -> int | None:
    """The model that the space is built with, if it has this dimension; None while nothing was ever embedded."""
    found: int | None = tx.execute(CURRENT_MODEL, {"dimension": dimension, "tenant": scope.tenant}).scalar()
    return found


def nearest(scope: ScopeKey, tx: Transaction, model: int, vector: NDArray[np.float16], limit: int) -> dict[int, float]:
    """The rows nearest to a unit vector, exactly: cosine similarity by row."""
    statement = NEAREST if len(vector) <= COVERED_DIMENSION else NEAREST_WIDE
    rows = tx.execute(statement, {**_scoped(scope), "model": model, "vector": HalfVector(vector), "limit": limit})
    return {row.row_id: float(row.similarity) for row in rows}


def matching(
    scope: ScopeKey, tx: Transaction, lexemes: Collection[int], limit: int, rows: Collection[int] | None = None
) -> list[Match]:
    """The rows that score highest by BM25 over the query's lexemes, any of them; with `rows` those among these.

    A row scores the same either way: how rare a word is is counted over the whole namespace.
    """
    if not lexemes:
        return []
    among = None if rows is None else list(rows)
    found = tx.execute(
        MATCHING, {**_scoped(scope), "lexemes": list(lexemes), "k1": K1, "b": B, "limit": limit, "rows": among}
    )
    return [Match(row.row_id, float(row.score), frozenset(row.lexemes)) for row in found]


def similarities(
    scope: ScopeKey, tx: Transaction, model: int, vector: NDArray[np.float16], rows: Collection[int]
) -> dict[int, float]:
    """Cosine similarity of those of the rows that have a vector of this model; a search of this scope found them."""
    if not rows:
        return {}
    found = tx.execute(
        SIMILARITIES, {"tenant": scope.tenant, "model": model, "vector": HalfVector(vector), "rows": list(rows)}
    )
    return {row.row_id: float(row.similarity) for row in found}


def shared(
    scope: ScopeKey, tx: Transaction, memories: Collection[UUID], lexemes: Collection[int]
) -> dict[UUID, frozenset[int]]:
    """Which of the query's lexemes each of the memories has, as far as it has any."""
    if not memories or not lexemes:
        return {}
    found = tx.execute(SHARED, {**_scoped(scope), "memories": list(memories), "lexemes": list(lexemes)})
    return {row.memory: frozenset(row.lexemes) for row in found}


def told(
    scope: ScopeKey, tx: Transaction, atoms: Collection[UUID], episodes: Collection[UUID]
) -> Mapping[UUID, set[UUID]]:
    """For each of the atoms, those of the episodes that it comes from."""
    found: dict[UUID, set[UUID]] = {}
    if atoms and episodes:
        for row in tx.execute(TOLD, {**_scoped(scope), "atoms": list(atoms), "episodes": list(episodes)}):
            found.setdefault(row.atom, set()).add(row.episode)
    return found


def sources(scope: ScopeKey, tx: Transaction, atoms: Collection[UUID], limit: int = 8) -> Mapping[UUID, list[UUID]]:
    """The episodes that atoms come from, newest first, at most `limit` for each."""
    if not atoms:
        return {}
    found: dict[UUID, list[UUID]] = {}
    for row in tx.execute(SOURCES, {**_scoped(scope), "atoms": list(atoms), "limit": limit}):
        found.setdefault(row.atom, []).append(row.episode)
    return found


def _scoped(scope: ScopeKey) -> dict[str, object]:
    return {
        "tenant": scope.tenant,
        "namespace": scope.namespace,
        "agent_id": scope.agent_id,
        "session_id": scope.session_id,
    }
