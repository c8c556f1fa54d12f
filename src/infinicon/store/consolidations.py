"""What a consolidation is made of, and how it comes into memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import text

from infinicon.domain import ConsolidationScope, Json, MemoryType, Status, TokenCounts
from infinicon.ids import new_id
from infinicon.store.database import Transaction
from infinicon.store.spaces import Vector

BLOCK = 4_096
"""Rows of the index that are compared at once."""


@dataclass(frozen=True, slots=True)
class Material:
    """An atom or consolidation that a consolidator may see. Times are those when it was said last."""

    id: UUID
    type: MemoryType
    status: Status
    content: str
    title: str | None
    speaker: str | None
    occurred_at: datetime | None
    created_at: datetime
    expires_at: datetime | None
    agent_id: str | None
    session_id: str | None
    tags: Sequence[str]
    filters: Mapping[str, Json] | None


@dataclass(frozen=True, slots=True)
class NewConsolidation:
    """A consolidation to insert. `filters`: a JSON document as text. `sources` are the memories that it is made of, by their types."""

    id: UUID
    title: str
    content: str
    filters: str | None
    tags: Sequence[str]
    fingerprint: bytes
    occurred_at: datetime | None
    expires_at: datetime | None
    created_at: datetime
    unit: TokenCounts
    own: TokenCounts
    sources: Mapping[UUID, MemoryType]


# Where several episodes say the same, the last of them says when it held.
DESCRIBE = text("""
    SELECT m.id, m.type, m.status, m.content, m.title,
           coalesce(m.speaker, CASE WHEN m.created_by ->> 'kind' IN ('user', 'agent') THEN m.created_by ->> 'id' END) AS speaker,
           greatest(m.occurred_at, said.occurred_at) AS occurred_at, greatest(m.created_at, said.created_at) AS created_at, m.expires_at,
           m.agent_id, m.session_id, m.tags, m.filters
    FROM memories m,
         LATERAL (SELECT max(l.occurred_at) AS occurred_at, max(l.created_at) AS created_at FROM links l
                  WHERE l.tenant = m.tenant AND l.from_id = m.id AND l.link_type = 'derived_from' AND l.to_type = 'episode') said
    WHERE m.tenant = :tenant AND m.namespace = :namespace AND m.id = ANY(CAST(:ids AS uuid[]))
      AND m.type IN ('atom', 'consolidation') AND m.status IN ('active', 'disputed') AND NOT m.stale AND m.content IS NOT NULL
      AND (m.expires_at IS NULL OR m.expires_at > now())
      AND (:width = 'namespace' OR coalesce(m.agent_id, '') = coalesce(CAST(:agent_id AS text), ''))
      AND (:width <> 'session' OR coalesce(m.session_id, '') = coalesce(CAST(:session_id AS text), ''))
    ORDER BY m.id
""")

# A memory is compared by how it begins: longer ones are cut into chunks.
VECTORS = text("""
    SELECT memory, vector FROM space_rows
    WHERE tenant = :tenant AND memory = ANY(CAST(:ids AS uuid[])) AND model = :model AND chunk = 0 AND vector IS NOT NULL
""")

# The hash narrows; `described` decides. An absent agent has no hash.
SCAN = text("""
    SELECT memory, vector FROM space_rows
    WHERE tenant = :tenant AND namespace = :namespace AND model = :model AND type <> 'episode' AND vector IS NOT NULL
      AND (:width = 'namespace' OR agent_key IS NOT DISTINCT FROM hashtextextended(CAST(:agent_id AS text), 0))
      AND (:width <> 'session' OR session_key IS NOT DISTINCT FROM hashtextextended(CAST(:session_id AS text), 0))
""")

MADE_OF = text("""
    SELECT DISTINCT l.from_id AS id FROM links l
    WHERE l.tenant = :tenant AND l.to_id = ANY(CAST(:ids AS uuid[])) AND l.link_type = 'derived_from' AND l.from_type = 'consolidation'
    ORDER BY 1 DESC LIMIT :limit
""")

SOURCES = text("""
    SELECT l.from_id, l.to_id FROM links l
    WHERE l.tenant = :tenant AND l.from_id = ANY(CAST(:ids AS uuid[])) AND l.link_type = 'derived_from'
    ORDER BY 1, 2
""")

STALE = text("""
    SELECT l.from_id, l.to_id
    FROM memories c JOIN links l ON l.tenant = c.tenant AND l.from_id = c.id AND l.link_type = 'derived_from'
    WHERE c.tenant = :tenant AND c.namespace = :namespace AND c.stale AND c.type = 'consolidation' AND c.status IN ('active', 'disputed')
      AND l.to_id = ANY(CAST(:sources AS uuid[]))
    ORDER BY 1, 2
""")

# Nobody changes or deletes them until this commits; what became of them before is looked at again.
HOLD = text("""
    SELECT id, content FROM (
        SELECT m.id, m.content, m.status, m.stale, m.type, m.expires_at FROM memories m
        WHERE m.tenant = :tenant AND m.id = ANY(CAST(:ids AS uuid[]))
        ORDER BY m.id FOR NO KEY UPDATE) held
    WHERE status IN ('active', 'disputed') AND (expires_at IS NULL OR expires_at > now())
      AND (NOT stale OR id = ANY(CAST(:stale AS uuid[])))
""")

INSERT = text("""
    INSERT INTO memories (tenant, namespace, type, status, agent_id, session_id, filters, id, content_type, title, content, created_by,
                          producer, tags, fingerprint, occurred_at, expires_at, created_at, renderer,
                          unit_o200k_base, unit_cl100k_base, unit_chars, content_o200k_base, content_cl100k_base, content_chars,
                          content_host, host_counter)
    VALUES (:tenant, :namespace, 'consolidation', 'active', :agent_id, :session_id, CAST(:filters AS jsonb), :id, 'text/plain', :title,
            :content, jsonb_build_object('id', CAST(:producer AS text), 'kind', 'plugin'), :producer, CAST(:tags AS text[]),
            :fingerprint, :occurred_at, :expires_at, :created_at, :renderer, :unit_o200k_base, :unit_cl100k_base, :unit_chars,
            :content_o200k_base, :content_cl100k_base, :content_chars, :content_host, :host_counter)
    ON CONFLICT (tenant, namespace, fingerprint) WHERE fingerprint IS NOT NULL DO NOTHING
    RETURNING id
""")

LINK = text("""
    INSERT INTO links (tenant, id, namespace, link_type, from_id, from_type, to_id, to_type)
    SELECT :tenant, l.id, :namespace, 'derived_from', :consolidation, 'consolidation', l.source, l.type
    FROM unnest(CAST(:ids AS uuid[]), CAST(:sources AS uuid[]), CAST(:types AS text[])) AS l (id, source, type)
    ORDER BY l.source
    ON CONFLICT ON CONSTRAINT links_edge_key DO NOTHING
""")


def described(tenant: int, tx: Transaction, within: ConsolidationScope, ids: Collection[UUID]) -> dict[UUID, Material]:
    """Those of the memories that a consolidation of this scope may use, in the order of their ids."""
    if not ids:
        return {}
    rows = tx.execute(DESCRIBE, {**_within(tenant, within), "ids": list(ids)})
    return {row.id: _material(row) for row in rows}


def vectors(tenant: int, tx: Transaction, model: int, ids: Collection[UUID]) -> dict[UUID, Vector]:
    """The vectors of memories, of those that have one."""
    if not ids:
        return {}
    rows = tx.execute(VECTORS, {"tenant": tenant, "model": model, "ids": list(ids)})
    return {row.memory: row.vector.to_numpy() for row in rows}


def scan(
    tenant: int, tx: Transaction, within: ConsolidationScope, model: int
) -> Iterator[tuple[list[UUID], NDArray[np.float32]]]:
    """All that the index has of the scope, block by block: the memories, and a vector of each in a row."""
    rows = tx.execution_options(yield_per=BLOCK).execute(SCAN, {**_within(tenant, within), "model": model})
    for block in rows.partitions(BLOCK):
        yield [row.memory for row in block], np.stack([row.vector.to_numpy() for row in block]).astype(np.float32)


def made_of(tenant: int, tx: Transaction, sources: Collection[UUID], limit: int) -> list[UUID]:
    """Consolidations, in whatever state, that one of these is a source of; the newest first."""
    if not sources:
        return []
    return [row.id for row in tx.execute(MADE_OF, {"tenant": tenant, "ids": list(sources), "limit": limit})]


def sources(tenant: int, tx: Transaction, consolidations: Collection[UUID]) -> dict[UUID, list[UUID]]:
    """What each of these is made of."""
    found: dict[UUID, list[UUID]] = {}
    if consolidations:
        for row in tx.execute(SOURCES, {"tenant": tenant, "ids": list(consolidations)}):
            found.setdefault(row.from_id, []).append(row.to_id)
    return found


def stale(tenant: int, tx: Transaction, namespace: int, sources: Collection[UUID]) -> dict[UUID, set[UUID]]:
    """Stale consolidations with those of these sources that they are made of."""
    found: dict[UUID, set[UUID]] = {}
    if sources:
        for row in tx.execute(STALE, {"tenant": tenant, "namespace": namespace, "sources": list(sources)}):
            found.setdefault(row.from_id, set()).add(row.to_id)
    return found


def hold(tenant: int, tx: Transaction, ids: Collection[UUID], stale: Collection[UUID] = ()) -> dict[UUID, str | None]:
    """Lock memories in the order of their ids; what those say that may be used still. Of stale ones only these `stale`."""
    rows = tx.execute(HOLD, {"tenant": tenant, "ids": sorted(ids), "stale": list(stale)})
    return {row.id: row.content for row in rows}


def insert(
    tenant: int, tx: Transaction, within: ConsolidationScope, producer: str, renderer: int, new: NewConsolidation
) -> bool:
    """Insert a consolidation with its links to its sources; False where there is an equal one.

    It is active, and must enter the index in the same transaction. `renderer` is the version by which its unit was rendered.
    """
    key = {
        "tenant": tenant,
        "namespace": within.namespace,
        "agent_id": within.agent_id,
        "session_id": within.session_id,
        "producer": producer,
        "renderer": renderer,
        "id": new.id,
        "title": new.title,
        "content": new.content,
        "filters": new.filters,
        "tags": list(new.tags),
        "fingerprint": new.fingerprint,
        "occurred_at": new.occurred_at,
        "expires_at": new.expires_at,
        "created_at": new.created_at,
        **_counts("unit", new.unit),
        **_counts("content", new.own),
        "content_host": new.own.host,
        "host_counter": new.own.host_counter,
    }
    if tx.execute(INSERT, key).scalar() is None:
        return False
    tx.execute(
        LINK,
        {
            "tenant": tenant,
            "namespace": within.namespace,
            "consolidation": new.id,
            "ids": [new_id() for _ in new.sources],
            "sources": list(new.sources),
            "types": list(new.sources.values()),
        },
    )
    return True


def _within(tenant: int, within: ConsolidationScope) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "namespace": within.namespace,
        "width": within.width,
        "agent_id": within.agent_id,
        "session_id": within.session_id,
    }


def _material(row: Any) -> Material:
    return Material(
        id=row.id,
        type=MemoryType(row.type),
        status=Status(row.status),
        content=row.content,
        title=row.title,
        speaker=row.speaker,
        occurred_at=row.occurred_at,
        created_at=row.created_at,
        expires_at=row.expires_at,
        agent_id=row.agent_id,
        session_id=row.session_id,
        tags=row.tags,
        filters=row.filters,
    )


def _counts(of: str, counts: TokenCounts) -> dict[str, int | None]:
    return {
        f"{of}_o200k_base": counts.o200k_base,
        f"{of}_cl100k_base": counts.cl100k_base,
        f"{of}_chars": counts.chars,
    }
