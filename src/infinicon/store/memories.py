"""Whole memories, with where they come from."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import (
    ActorRef,
    Json,
    Memory,
    MemoryRef,
    MemoryType,
    Provenance,
    Scope,
    ScopeKey,
    SourceRef,
    Span,
    Status,
)
from infinicon.store.database import Transaction

LOAD = text("""
    SELECT id, type, status, agent_id, session_id, filters, content_type, content, speaker, atom_type, title, confidence, created_by,
           producer, metadata, tags, dedupe_key, occurred_at, expires_at, created_at, updated_at
    FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[]))
      AND status <> 'tombstoned' AND (expires_at IS NULL OR expires_at > now())
      AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR session_id = :session_id)
""")

EXPIRED = text("""
    SELECT id FROM memories
    WHERE expires_at IS NOT NULL AND status <> 'tombstoned' AND expires_at <= now() AND tenant = :tenant AND namespace = :namespace
    ORDER BY expires_at LIMIT :limit
""")

SOURCES = text("""
    SELECT l.from_id, l.to_id, l.to_type, l.span_start, l.span_end, l.span_path, l.created_at, m.agent_id, m.session_id, m.filters
    FROM links l
    JOIN memories m ON m.tenant = l.tenant AND m.id = l.to_id
    WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.link_type = 'derived_from'
      AND l.from_id = ANY(CAST(:ids AS uuid[]))
    ORDER BY l.from_id, l.to_id
""")


def load(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, Memory]:
    """Living memories of the scope by id, derived ones with their provenance."""
    rows = tx.execute(
        LOAD,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
            "ids": list(ids),
        },
    ).all()
    derived = [row.id for row in rows if row.type != MemoryType.EPISODE]
    sources = _sources(scope, tx, derived) if derived else {}
    return {row.id: _memory(scope, row, sources.get(row.id, [])) for row in rows}


def _sources(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, list[SourceRef]]:
    found: dict[UUID, list[SourceRef]] = {}
    for row in tx.execute(SOURCES, {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids)}):
        span = None if row.span_start is None else Span(row.span_start, row.span_end, row.span_path or "")
        ref = MemoryRef(row.to_id, MemoryType(row.to_type), _own_scope(scope, row))
        found.setdefault(row.from_id, []).append(SourceRef(ref, span))
    return found


def _own_scope(scope: ScopeKey, row: Any) -> Scope:
    return Scope(scope.named.tenant_id, scope.named.namespace_id, row.agent_id, row.session_id, row.filters)


def _memory(scope: ScopeKey, row: Any, sources: Sequence[SourceRef]) -> Memory:
    provenance = None
    if sources:
        producer = ActorRef(row.producer or "unknown", "plugin")
        provenance = Provenance(sources, producer, row.created_at, "extract", row.confidence)
    return Memory(
        id=row.id,
        type=MemoryType(row.type),
        scope=_own_scope(scope, row),
        status=Status(row.status),
        created_at=row.created_at,
        updated_at=row.updated_at,
        created_by=ActorRef(row.created_by["id"], row.created_by["kind"]),
        content=_content(row),
        content_type=row.content_type,
        metadata=_metadata(row),
        tags=row.tags,
        dedupe_key=row.dedupe_key,
        atom_type=row.atom_type,
        title=row.title,
        confidence=row.confidence,
        occurred_at=row.occurred_at,
        expires_at=row.expires_at,
        provenance=provenance,
    )


def _content(row: Any) -> Json:
    if row.type == MemoryType.EPISODE and row.content is not None and not row.content_type.lower().startswith("text/"):
        value: Json = json.loads(row.content)
        return value
    content: Json = row.content
    return content


def _metadata(row: Any) -> dict[str, Json]:
    """An atom says who spoke, also where the episode's metadata does not."""
    metadata: dict[str, Json] = dict(row.metadata)
    if row.type == MemoryType.ATOM and row.speaker is not None:
        metadata.setdefault("speaker", row.speaker)
    return metadata


def expired(scope: ScopeKey, tx: Transaction, limit: int) -> list[UUID]:
    """Memories of the namespace whose time is over, and that are not tombstoned yet."""
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "limit": limit}
    return [row.id for row in tx.execute(EXPIRED, key)]
