"""Which memories may be shown: those of the scope that live, in the states and under the filters that were asked for.

A derived memory has the metadata and tags of its first source only, so those of any living source of it count as well. An episode that
an atom says in full has no rows of its own: where it may be shown and the atom may not, it is found by the atom's rows.

An episode that says what was retracted is shown only where what was retracted may be (docs/decisions/0018).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import SEARCHABLE, MemoryFilters, MemoryType, ScopeKey, Status
from infinicon.store.database import Transaction

FEW_MEMORIES = 2_000
FEW_ROWS = 8_000
"""Filters that no more memories pass are selective: what passes is ranked whole, instead of a pool that is filled and sifted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may be shown."""

    memory: UUID
    type: MemoryType
    status: Status
    stale: bool
    agent_id: str | None
    session_id: str | None


# Metadata is compared as it is shown: an atom says who spoke.
CANDIDATES = text("""
    WITH found AS (
        SELECT s.row_id, m.id, m.type, m.status, m.stale, m.agent_id, m.session_id,
               m.status = ANY(CAST(:statuses AS text[])) AND (NOT m.stale OR CAST(:stale AS boolean))
               AND (m.type <> 'episode'
                    OR NOT EXISTS (SELECT FROM links r WHERE r.tenant = :tenant AND r.to_id = m.id AND r.retracted IS NOT NULL
                                     AND r.retracted <> ALL(CAST(:statuses AS text[]))))
               AND (CAST(:types AS text[]) IS NULL OR m.type = ANY(CAST(:types AS text[])))
               AND (CAST(:created_after AS timestamptz) IS NULL OR m.created_at > :created_after)
               AND (CAST(:created_before AS timestamptz) IS NULL OR m.created_at < :created_before)
               AND (NOT CAST(:described AS boolean)
                    OR (m.tags @> CAST(:tags AS text[])
                        AND CASE WHEN m.type = 'atom' AND m.speaker IS NOT NULL THEN jsonb_build_object('speaker', m.speaker) || m.metadata
                                 ELSE m.metadata END @> CAST(:metadata AS jsonb))
                    OR (m.type <> 'episode' AND EXISTS (
                            SELECT FROM links l JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id
                            WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.from_id = m.id AND l.link_type = 'derived_from'
                              AND e.status IN ('active', 'disputed', 'superseded') AND (e.expires_at IS NULL OR e.expires_at > now())
                              AND e.tags @> CAST(:tags AS text[]) AND e.metadata @> CAST(:metadata AS jsonb)))) AS fits
        FROM space_rows s
        JOIN memories m ON m.tenant = s.tenant AND m.id = s.memory
        WHERE s.tenant = :tenant AND s.row_id = ANY(CAST(:rows AS bigint[]))
          AND m.namespace = :namespace
          AND m.status IN ('active', 'disputed', 'superseded')
          AND (m.expires_at IS NULL OR m.expires_at > now())
          AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
          AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)
          AND (CAST(:filters AS jsonb) IS NULL OR m.filters @> CAST(:filters AS jsonb))
    )
    SELECT row_id, id, type, status, stale, agent_id, session_id FROM found WHERE fits
    UNION ALL
    SELECT f.row_id, e.id, e.type, e.status, e.stale, e.agent_id, e.session_id
    FROM found f
    JOIN links l ON l.tenant = :tenant AND l.namespace = :namespace AND l.from_id = f.id AND l.link_type = 'derived_from' AND l.whole
    JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id
    WHERE CAST(:whole AS boolean) AND NOT f.fits AND e.type = 'episode' AND e.namespace = :namespace
      AND e.status IN ('active', 'disputed', 'superseded') AND e.status = ANY(CAST(:statuses AS text[]))
      AND (e.expires_at IS NULL OR e.expires_at > now()) AND (NOT e.stale OR CAST(:stale AS boolean))
      AND NOT EXISTS (SELECT FROM links r WHERE r.tenant = :tenant AND r.to_id = e.id AND r.retracted IS NOT NULL
                        AND r.retracted <> ALL(CAST(:statuses AS text[])))
      AND (CAST(:agent_id AS text) IS NULL OR e.agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR e.session_id = :session_id)
      AND (CAST(:filters AS jsonb) IS NULL OR e.filters @> CAST(:filters AS jsonb))
      AND (CAST(:created_after AS timestamptz) IS NULL OR e.created_at > :created_after)
      AND (CAST(:created_before AS timestamptz) IS NULL OR e.created_at < :created_before)
      AND (NOT CAST(:described AS boolean) OR (e.tags @> CAST(:tags AS text[]) AND e.metadata @> CAST(:metadata AS jsonb)))
""")

# More than pass, never fewer: `candidates` decides about each. A memory that passes only for a source of its own is reached from there.
SELECTED = text("""
    WITH own AS MATERIALIZED (
        SELECT id, plain FROM (
            SELECT m.id,
                   m.status = ANY(CAST(:statuses AS text[]))
                   AND (CAST(:filters AS jsonb) IS NULL OR m.filters @> CAST(:filters AS jsonb))
                   AND (CAST(:types AS text[]) IS NULL OR m.type = ANY(CAST(:types AS text[])))
                   AND (CAST(:created_after AS timestamptz) IS NULL OR m.created_at > :created_after)
                   AND (CAST(:created_before AS timestamptz) IS NULL OR m.created_at < :created_before) AS plain
            FROM memories m
            WHERE m.tenant = :tenant AND m.namespace = :namespace
              AND m.status IN ('active', 'disputed', 'superseded') AND (m.expires_at IS NULL OR m.expires_at > now())
              AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
              AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)
              AND (NOT CAST(:described AS boolean)
                   OR (m.tags @> CAST(:tags AS text[])
                       AND CASE WHEN m.type = 'atom' AND m.speaker IS NOT NULL THEN jsonb_build_object('speaker', m.speaker) || m.metadata
                                ELSE m.metadata END @> CAST(:metadata AS jsonb)))
        ) m
        WHERE plain OR CAST(:described AS boolean)
        LIMIT :memories
    ), reached AS (
        SELECT id FROM own WHERE plain
        UNION
        SELECT l.from_id FROM own JOIN links l ON l.tenant = :tenant AND l.to_id = own.id
        WHERE l.namespace = :namespace AND l.link_type = 'derived_from'
          AND (CAST(:described AS boolean) OR (CAST(:whole AS boolean) AND l.whole))
    )
    SELECT counted.memories, found.row_id
    FROM (SELECT count(*) AS memories FROM own) counted
    LEFT JOIN (SELECT s.row_id FROM reached JOIN space_rows s ON s.tenant = :tenant AND s.memory = reached.id
               WHERE s.namespace = :namespace LIMIT :rows) found ON true
""")

# Those of a list that was made before, at this moment.
LISTED = text("""
    SELECT m.id, m.type, m.status, m.stale, m.agent_id, m.session_id
    FROM memories m
    WHERE m.tenant = :tenant AND m.namespace = :namespace AND m.id = ANY(CAST(:memories AS uuid[]))
      AND m.status IN ('active', 'disputed', 'superseded') AND m.status = ANY(CAST(:statuses AS text[]))
      AND (m.expires_at IS NULL OR m.expires_at > now()) AND (NOT m.stale OR CAST(:stale AS boolean))
      AND (m.type <> 'episode'
           OR NOT EXISTS (SELECT FROM links r WHERE r.tenant = :tenant AND r.to_id = m.id AND r.retracted IS NOT NULL
                            AND r.retracted <> ALL(CAST(:statuses AS text[]))))
      AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)
      AND (CAST(:filters AS jsonb) IS NULL OR m.filters @> CAST(:filters AS jsonb))
      AND (CAST(:types AS text[]) IS NULL OR m.type = ANY(CAST(:types AS text[])))
      AND (CAST(:created_after AS timestamptz) IS NULL OR m.created_at > :created_after)
      AND (CAST(:created_before AS timestamptz) IS NULL OR m.created_at < :created_before)
      AND (NOT CAST(:described AS boolean)
           OR (m.tags @> CAST(:tags AS text[])
               AND CASE WHEN m.type = 'atom' AND m.speaker IS NOT NULL THEN jsonb_build_object('speaker', m.speaker) || m.metadata
                        ELSE m.metadata END @> CAST(:metadata AS jsonb))
           OR (m.type <> 'episode' AND EXISTS (
                   SELECT FROM links l JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id
                   WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.from_id = m.id AND l.link_type = 'derived_from'
                     AND e.status IN ('active', 'disputed', 'superseded') AND (e.expires_at IS NULL OR e.expires_at > now())
                     AND e.tags @> CAST(:tags AS text[]) AND e.metadata @> CAST(:metadata AS jsonb))))
""")


def candidates(
    scope: ScopeKey, tx: Transaction, rows: Collection[int], filters: MemoryFilters
) -> list[tuple[int, Candidate]]:
    """The memories behind these rows that may be shown, each with its row, or with that of an atom that says all of it."""
    found = tx.execute(CANDIDATES, {**_asked(scope, filters), "rows": list(rows)})
    return [(row.row_id, _candidate(row)) for row in found]


def selected(scope: ScopeKey, tx: Transaction, filters: MemoryFilters) -> list[int] | None:
    """All rows behind which there can be what passes the filters, and some more; None where they are too many to look at each."""
    limits = {"memories": FEW_MEMORIES + 1, "rows": FEW_ROWS + 1}
    found = tx.execute(SELECTED, {**_asked(scope, filters), **limits}).all()
    if len(found) > FEW_ROWS or found[0].memories > FEW_MEMORIES:
        return None
    return [row.row_id for row in found if row.row_id is not None]


def listed(
    scope: ScopeKey, tx: Transaction, memories: Collection[UUID], filters: MemoryFilters
) -> dict[UUID, Candidate]:
    """Those of the memories that may be shown now."""
    found = tx.execute(LISTED, {**_asked(scope, filters), "memories": list(memories)})
    return {row.id: _candidate(row) for row in found}


def _candidate(row: Any) -> Candidate:
    return Candidate(row.id, MemoryType(row.type), Status(row.status), row.stale, row.agent_id, row.session_id)


def _asked(scope: ScopeKey, filters: MemoryFilters) -> dict[str, Any]:
    """What the statements have in common. Stand-ins for whole episodes are looked for only where they can pass."""
    types = filters.types
    return {
        "tenant": scope.tenant,
        "namespace": scope.namespace,
        "agent_id": scope.agent_id,
        "session_id": scope.session_id,
        "filters": None if scope.named.filters is None else json.dumps(scope.named.filters),
        "statuses": sorted(filters.statuses & SEARCHABLE),
        "types": None if types is None else sorted(types),
        "created_after": filters.created_after,
        "created_before": filters.created_before,
        "described": bool(filters.tags or filters.metadata),
        "metadata": json.dumps(filters.metadata or {}),
        "tags": sorted(filters.tags),
        "stale": filters.stale,
        "whole": types is None or MemoryType.EPISODE in types,
    }
