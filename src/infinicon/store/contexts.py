"""What assembleContext asks about memories: what they cost, how old and how sure they are, and what they say."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import ScopeKey, TokenCounts
from infinicon.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Described:
    """`when` it was, or was stored. `unit` is what it costs as the renderer of this version renders it, None if that was not counted."""

    when: datetime
    confidence: float | None
    unit: TokenCounts | None


@dataclass(frozen=True, slots=True)
class Said:
    """What a memory says, as text, and who says it."""

    who: str | None
    occurred_at: datetime | None
    created_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """An episode that an atom comes from; `whole`: the atom says all that it says."""

    episode: UUID
    whole: bool


DESCRIBE = text("""
    SELECT id, coalesce(occurred_at, created_at) AS when, confidence, renderer, unit_o200k_base, unit_cl100k_base, unit_chars
    FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[])) AND status <> 'tombstoned'
""")

# What JSON says is what it is found by. A system or plug-in that made a memory does not say it.
SAY = text("""
    SELECT id, coalesce(speaker, CASE WHEN created_by ->> 'kind' IN ('user', 'agent') THEN created_by ->> 'id' END) AS who,
           occurred_at, created_at,
           CASE WHEN type = 'episode' AND lower(content_type) NOT LIKE 'text/%' THEN coalesce(search_text, content) ELSE content END AS text
    FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[])) AND status <> 'tombstoned'
      AND content IS NOT NULL
""")

SOURCES = text("""
    SELECT wanted.id AS atom, source.to_id AS episode, source.whole
    FROM unnest(CAST(:ids AS uuid[])) AS wanted (id),
         LATERAL (SELECT l.to_id, l.whole FROM links l
                  WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.from_id = wanted.id AND l.link_type = 'derived_from'
                    AND l.from_type = 'atom' AND l.to_type = 'episode'
                  ORDER BY l.to_id DESC LIMIT 8) source
""")


# A consolidation may be made of others; cycles end.
QUOTES = text("""
    WITH RECURSIVE parts (whole, part, type) AS (
        SELECT l.from_id, l.to_id, l.to_type FROM links l
        WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.from_id = ANY(CAST(:ids AS uuid[]))
          AND l.link_type = 'derived_from' AND l.from_type = 'consolidation'
        UNION
        SELECT p.whole, l.to_id, l.to_type
        FROM parts p JOIN links l ON l.tenant = :tenant AND l.from_id = p.part
        WHERE l.namespace = :namespace AND l.link_type = 'derived_from' AND p.type = 'consolidation'
    )
    SELECT whole, part FROM parts
""")


def described(scope: ScopeKey, tx: Transaction, renderer: int, ids: Collection[UUID]) -> dict[UUID, Described]:
    """Age, confidence and cost of memories that a search of this scope found."""
    if not ids:
        return {}
    rows = tx.execute(DESCRIBE, {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids)})
    return {
        row.id: Described(
            row.when,
            row.confidence,
            TokenCounts(row.unit_o200k_base, row.unit_cl100k_base, row.unit_chars)
            if row.renderer == renderer
            else None,
        )
        for row in rows
    }


def said(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, Said]:
    """What memories say that a search of this scope found."""
    if not ids:
        return {}
    rows = tx.execute(SAY, {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids)})
    return {row.id: Said(row.who, row.occurred_at, row.created_at, row.text) for row in rows}


def sources(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, list[Source]]:
    """The episodes of those of the memories that are atoms, newest first, at most 8 of each."""
    found: dict[UUID, list[Source]] = {}
    if ids:
        for row in tx.execute(SOURCES, {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids)}):
            found.setdefault(row.atom, []).append(Source(row.episode, row.whole))
    return found


def quotes(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, set[UUID]]:
    """What those of the memories are made of that are consolidations, over any number of steps, down to atoms."""
    found: dict[UUID, set[UUID]] = {}
    if ids:
        for row in tx.execute(QUOTES, {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids)}):
            found.setdefault(row.whole, set()).add(row.part)
    return found
