"""Whole memories, with where they come from."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import (
    ActorRef,
    Cascade,
    Json,
    LinkEnds,
    LinkType,
    Memory,
    MemoryRef,
    MemoryType,
    Provenance,
    Scope,
    ScopeKey,
    SourceRef,
    Span,
    Status,
    Tombstone,
)
from infinicon.store.database import Transaction

LOAD = text("""
    SELECT id, type, status, agent_id, session_id, filters, content_type, content, speaker, atom_type, title, confidence, created_by,
           producer, metadata, tags, dedupe_key, occurred_at, expires_at, created_at, updated_at, stale
    FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[]))
      AND status <> 'tombstoned' AND (expires_at IS NULL OR expires_at > now())
      AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR session_id = :session_id)
      AND (CAST(:filters AS jsonb) IS NULL OR filters @> CAST(:filters AS jsonb))
""")

EXPIRED = text("""
    SELECT id FROM memories
    WHERE expires_at IS NOT NULL AND status <> 'tombstoned' AND expires_at <= now() AND tenant = :tenant AND namespace = :namespace
    ORDER BY expires_at LIMIT :limit
""")

# A source that is gone is named, and nothing of it is said.
SOURCES = text("""
    SELECT newest.*, m.agent_id, m.session_id, CASE WHEN gone.status <> 'tombstoned' THEN m.filters END AS filters, gone.status
    FROM unnest(CAST(:ids AS uuid[])) AS wanted (id),
         LATERAL (SELECT l.from_id, l.to_id, l.to_type, l.span_start, l.span_end, l.span_path FROM links l
                  WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.from_id = wanted.id AND l.link_type = 'derived_from'
                  ORDER BY l.to_id DESC LIMIT :limit) newest
    JOIN memories m ON m.tenant = :tenant AND m.id = newest.to_id,
         LATERAL (SELECT CASE WHEN m.expires_at <= now() THEN 'tombstoned' ELSE m.status END AS status) gone
    ORDER BY newest.from_id, newest.to_id
""")

# It lives as long as the memory that it starts from, and in its scope.
LINKS = text("""
    SELECT l.id, l.link_type, l.status, l.created_at, m.id AS start, m.type AS start_type, m.agent_id, m.session_id, m.filters,
           m.producer, m.created_by, e.id AS finish, e.type AS finish_type, e.agent_id AS finish_agent, e.session_id AS finish_session
    FROM links l
    JOIN memories m ON m.tenant = l.tenant AND m.id = l.from_id
    JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id
    WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.id = ANY(CAST(:ids AS uuid[])) AND l.status <> 'tombstoned'
      AND m.namespace = :namespace AND m.status <> 'tombstoned' AND (m.expires_at IS NULL OR m.expires_at > now())
      AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)
      AND (CAST(:filters AS jsonb) IS NULL OR m.filters @> CAST(:filters AS jsonb))
""")

# Content only from what is kept for an audit: where a deletion goes on in a job, the row may still hold it, and must not be asked.
# Filters go with the content: where nothing is kept, no filters find it.
TOMBSTONED = text("""
    SELECT m.id, m.type, m.status, m.agent_id, m.session_id, m.content_type, m.atom_type, m.confidence, m.producer, m.occurred_at,
           m.expires_at, m.created_at, m.updated_at, m.created_by ->> 'kind' AS kind,
           t.reason, t.cascade, t.key, t.created_at AS gone_at, t.kept_until, CASE WHEN t.kept_until > now() THEN t.kept END AS kept
    FROM memories m
    JOIN tombstones t ON t.tenant = m.tenant AND t.memory = m.id
    WHERE m.tenant = :tenant AND m.namespace = :namespace AND m.id = ANY(CAST(:ids AS uuid[])) AND m.status = 'tombstoned'
      AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)
      AND (CAST(:filters AS jsonb) IS NULL OR CASE WHEN t.kept_until > now() THEN t.kept -> 'filters' END @> CAST(:filters AS jsonb))
""")

SHOWN_SOURCES = 1_000
"""Of one memory, the newest; a statement may be made again and again."""


def load(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, Memory]:
    """Living memories of the scope by id, derived ones with their provenance."""
    rows = tx.execute(LOAD, _wanted(scope, ids)).all()
    sources = _sources(scope, tx, [row.id for row in rows if row.type != MemoryType.EPISODE])
    return {row.id: _memory(scope, row, sources.get(row.id, [])) for row in rows}


def load_links(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, Memory]:
    """Links of the scope by id, as objects."""
    if not ids:
        return {}
    return {row.id: _link(scope, row) for row in tx.execute(LINKS, _wanted(scope, ids))}


def load_tombstoned(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, Memory]:
    """Deleted memories of the scope by id, with what is kept of them for an audit: for those alone who may see that."""
    if not ids:
        return {}
    rows = tx.execute(TOMBSTONED, _wanted(scope, ids)).all()
    sources = _sources(scope, tx, [row.id for row in rows if row.type != MemoryType.EPISODE])
    return {row.id: _tombstoned(scope, row, sources.get(row.id, [])) for row in rows}


def _wanted(scope: ScopeKey, ids: Collection[UUID]) -> dict[str, object]:
    return {
        "tenant": scope.tenant,
        "namespace": scope.namespace,
        "agent_id": scope.agent_id,
        "session_id": scope.session_id,
        "filters": None if scope.named.filters is None else json.dumps(scope.named.filters),
        "ids": list(ids),
    }


def _sources(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, list[SourceRef]]:
    """The newest sources by derived memory, the oldest of them first: one more than are shown, where there are more."""
    if not ids:
        return {}
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids), "limit": SHOWN_SOURCES + 1}
    found: dict[UUID, list[SourceRef]] = {}
    for row in tx.execute(SOURCES, key):
        found.setdefault(row.from_id, []).append(source_of(scope, row))
    return found


def source_of(scope: ScopeKey, row: Any) -> SourceRef:
    """The source at the end of a derived_from link."""
    span = None if row.span_start is None else Span(row.span_start, row.span_end, row.span_path or "")
    ref = MemoryRef(row.to_id, MemoryType(row.to_type), _own_scope(scope, row))
    return SourceRef(ref, span, Status(row.status))


def _own_scope(scope: ScopeKey, row: Any) -> Scope:
    return Scope(scope.named.tenant_id, scope.named.namespace_id, row.agent_id, row.session_id, row.filters)


def _provenance(row: Any, sources: Sequence[SourceRef]) -> Provenance | None:
    if not sources:
        return None
    producer = ActorRef(row.producer or "unknown", "plugin")
    transformation = "extract" if row.type == MemoryType.ATOM else "consolidate"
    shown, more = sources[-SHOWN_SOURCES:], len(sources) > SHOWN_SOURCES
    return Provenance(shown, producer, row.created_at, transformation, row.confidence, truncated=more)


def _link(scope: ScopeKey, row: Any) -> Memory:
    """A link of the pipeline is its plug-in's; any other is its starting memory's author's."""
    made = row.link_type == LinkType.DERIVED_FROM and row.producer is not None
    own = _own_scope(scope, row)
    named = scope.named
    end = Scope(named.tenant_id, named.namespace_id, row.finish_agent, row.finish_session)
    return Memory(
        id=row.id,
        type=MemoryType.LINK,
        scope=own,
        status=Status(row.status),
        created_at=row.created_at,
        updated_at=None,
        created_by=ActorRef(row.producer, "plugin") if made else _actor(row.created_by),
        content=None,
        ends=LinkEnds(
            LinkType(row.link_type),
            MemoryRef(row.start, MemoryType(row.start_type), own),
            MemoryRef(row.finish, MemoryType(row.finish_type), end),
        ),
    )


def _tombstoned(scope: ScopeKey, row: Any, sources: Sequence[SourceRef]) -> Memory:
    kept: dict[str, Any] = row.kept or {}
    author = kept.get("createdBy") or {"id": "erased", "kind": row.kind or "system"}
    said = kept.get("content")
    content_type = kept.get("contentType") or row.content_type
    metadata = kept.get("metadata") or {}
    if row.type == MemoryType.ATOM and kept.get("speaker") is not None:
        metadata = {"speaker": kept["speaker"], **metadata}
    return Memory(
        id=row.id,
        type=MemoryType(row.type),
        scope=Scope(scope.named.tenant_id, scope.named.namespace_id, row.agent_id, row.session_id, kept.get("filters")),
        status=Status.TOMBSTONED,
        created_at=row.created_at,
        updated_at=row.updated_at,
        created_by=_actor(author),
        content=_content(MemoryType(row.type), content_type, said),
        content_type=content_type,
        metadata=metadata,
        tags=kept.get("tags") or (),
        dedupe_key=kept.get("dedupeKey"),
        atom_type=row.atom_type,
        title=kept.get("title"),
        confidence=row.confidence,
        occurred_at=row.occurred_at,
        expires_at=row.expires_at,
        provenance=_provenance(row, sources),
        tombstone=Tombstone(row.gone_at, row.reason, Cascade(row.cascade), row.key, row.kept_until),
    )


def _actor(stored: dict[str, str]) -> ActorRef:
    return ActorRef(stored["id"], stored["kind"])


def _memory(scope: ScopeKey, row: Any, sources: Sequence[SourceRef]) -> Memory:
    return Memory(
        id=row.id,
        type=MemoryType(row.type),
        scope=_own_scope(scope, row),
        status=Status(row.status),
        created_at=row.created_at,
        updated_at=row.updated_at,
        created_by=_actor(row.created_by),
        content=_content(MemoryType(row.type), row.content_type, row.content),
        content_type=row.content_type,
        metadata=_metadata(row),
        tags=row.tags,
        dedupe_key=row.dedupe_key,
        atom_type=row.atom_type,
        title=row.title,
        confidence=row.confidence,
        occurred_at=row.occurred_at,
        expires_at=row.expires_at,
        provenance=_provenance(row, sources),
        stale=row.stale,
    )


def _content(type_: MemoryType, content_type: str | None, stored: str | None) -> Json:
    if type_ is MemoryType.EPISODE and stored is not None and not (content_type or "").lower().startswith("text/"):
        value: Json = json.loads(stored)
        return value
    return stored


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
