"""Tombstones: memories that are gone, and what must go with them.

Locks are taken in the order in which index takes them: queued episodes, then memories by id, then jobs, then counters.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import Cascade, MemoryType, ScopeKey, Status
from infinicon.store import retractions
from infinicon.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Held:
    """A memory whose row is locked until the transaction ends."""

    id: UUID
    type: MemoryType
    status: Status
    agent_id: str | None
    session_id: str | None


@dataclass(frozen=True, slots=True)
class Mark:
    """What a tombstone says. `key` None: nobody asked, time did. `audit_seconds`: how long the content is kept for an audit."""

    reason: str
    cascade: Cascade
    key: UUID | None
    audit_seconds: int = 0


# A tombstone has no filters any more, and a second request for it is answered as such.
FIND = text("""
    SELECT id FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[]))
      AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR session_id = :session_id)
      AND (CAST(:filters AS jsonb) IS NULL OR filters @> CAST(:filters AS jsonb) OR status = 'tombstoned')
""")

# Whoever works on these episodes has them locked while it publishes, and finds them gone afterwards.
HOLD_QUEUED = text("""
    SELECT episode FROM queued_episodes
    WHERE tenant = :tenant AND episode = ANY(CAST(:ids AS uuid[])) ORDER BY episode FOR UPDATE
""")

HOLD = text("""
    SELECT id, type, status, agent_id, session_id FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[]))
    ORDER BY id FOR UPDATE
""")

DERIVED = text("""
    SELECT DISTINCT l.from_id AS derived, l.to_id AS source
    FROM links l
    WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.to_id = ANY(CAST(:ids AS uuid[])) AND l.link_type = 'derived_from'
    ORDER BY 1, 2
""")

# An atom is a statement, and whoever else makes it keeps it alive.
TOLD_ELSEWHERE = text("""
    SELECT DISTINCT l.from_id AS id
    FROM links l JOIN memories m ON m.tenant = l.tenant AND m.id = l.to_id
    WHERE l.tenant = :tenant AND l.namespace = :namespace AND l.from_id = ANY(CAST(:ids AS uuid[])) AND l.link_type = 'derived_from'
      AND m.status <> 'tombstoned' AND l.to_id <> ALL(CAST(:going AS uuid[]))
""")

MARK_STALE = text("""
    UPDATE memories SET stale = true, updated_at = now()
    WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND status <> 'tombstoned' AND NOT stale
""")

RECORD = text("""
    INSERT INTO tombstones (tenant, memory, namespace, key, reason, root, cascade, kept, kept_until)
    SELECT :tenant, m.id, m.namespace, :key, :reason, m.id = ANY(CAST(:roots AS uuid[])), :cascade,
           CASE WHEN :audit > 0 THEN jsonb_build_object(
               'content', m.content, 'contentType', m.content_type, 'createdBy', m.created_by, 'metadata', m.metadata, 'tags', m.tags,
               'title', m.title, 'dedupeKey', m.dedupe_key, 'speaker', m.speaker, 'filters', m.filters) END,
           CASE WHEN :audit > 0 THEN now() + make_interval(secs => :audit) END
    FROM memories m WHERE m.tenant = :tenant AND m.id = ANY(CAST(:ids AS uuid[]))
    ON CONFLICT (tenant, memory) DO NOTHING
""")

SHORTEN_AUDITS = text("""
    UPDATE tombstones
    SET kept = CASE WHEN :seconds > 0 THEN kept END,
        kept_until = CASE WHEN :seconds > 0 THEN least(kept_until, created_at + make_interval(secs => :seconds)) END
    WHERE tenant = :tenant AND namespace = :namespace AND kept_until IS NOT NULL
""")

# The fingerprint goes, so that a later source states the same anew; the dedupeKey's digest stays, so that a replay is known for one.
HIDE = text("""
    UPDATE memories SET status = 'tombstoned', fingerprint = NULL, content_hmac = NULL, stale = false, purge_job = :job, updated_at = now()
    WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))
""")

# A statement that others make as well is theirs now: nothing of who is gone stays on it. What it costs as a unit is counted at read.
INHERIT = text("""
    WITH held AS (
        SELECT m.id FROM memories m
        WHERE m.tenant = :tenant AND m.type = 'atom' AND m.status <> 'tombstoned'
          AND m.id IN (SELECT l.from_id FROM links l
                       WHERE l.tenant = :tenant AND l.to_id = ANY(CAST(:ids AS uuid[])) AND l.link_type = 'derived_from')
        ORDER BY m.id FOR UPDATE
    ), heirs AS (
        SELECT held.id, heir.* FROM held,
        LATERAL (SELECT e.created_by, e.metadata, e.tags, l.occurred_at
                 FROM links l JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id
                 WHERE l.tenant = :tenant AND l.from_id = held.id AND l.link_type = 'derived_from'
                   AND e.status NOT IN ('tombstoned', 'failed')
                 ORDER BY e.status <> 'active', e.id LIMIT 1) heir
    )
    UPDATE memories m
    SET created_by = heirs.created_by, metadata = heirs.metadata, tags = heirs.tags, occurred_at = heirs.occurred_at, updated_at = now(),
        renderer = NULL, unit_o200k_base = NULL, unit_cl100k_base = NULL, unit_chars = NULL
    FROM heirs
    WHERE m.tenant = :tenant AND m.id = heirs.id
      AND (m.created_by, m.metadata, m.tags, m.occurred_at)
          IS DISTINCT FROM (heirs.created_by, heirs.metadata, heirs.tags, heirs.occurred_at)
""")

EMPTY = text("""
    UPDATE memories
    SET content = NULL, content_type = split_part(content_type, ';', 1),
        search_text = NULL, speaker = NULL, title = NULL, metadata = '{}', tags = '{}', filters = NULL, dedupe_key = NULL,
        created_by = jsonb_build_object('id', 'erased', 'kind', created_by -> 'kind'), purge_job = NULL, renderer = NULL,
        unit_o200k_base = NULL, unit_cl100k_base = NULL, unit_chars = NULL,
        content_o200k_base = NULL, content_cl100k_base = NULL, content_chars = NULL, content_host = NULL, host_counter = NULL
    WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND status = 'tombstoned'
""")

# Who said it stands on the edge as well. And a place in a text that is gone leads nowhere: its path may be made of names that stood there.
EMPTY_LINKS = text("""
    UPDATE links
    SET speaker = NULL,
        span_start = CASE WHEN to_id = ANY(CAST(:ids AS uuid[])) THEN NULL ELSE span_start END,
        span_end = CASE WHEN to_id = ANY(CAST(:ids AS uuid[])) THEN NULL ELSE span_end END,
        span_path = CASE WHEN to_id = ANY(CAST(:ids AS uuid[])) THEN NULL ELSE span_path END
    WHERE tenant = :tenant AND (speaker IS NOT NULL OR span_start IS NOT NULL OR span_path IS NOT NULL)
      AND (from_id = ANY(CAST(:ids AS uuid[])) OR to_id = ANY(CAST(:ids AS uuid[])))
""")

UNSTAGE = text("DELETE FROM staged_vectors WHERE tenant = :tenant AND memory = ANY(CAST(:ids AS uuid[]))")

UNINDEX = text("""
    WITH cleared AS (
        DELETE FROM space_rows WHERE tenant = :tenant AND memory = ANY(CAST(:ids AS uuid[]))
        RETURNING namespace, row_id, lexemes
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

# What waited or was being worked on needs no work any more; what had failed or was cancelled is counted already.
LEAVE_QUEUE = text("""
    DELETE FROM queued_episodes WHERE tenant = :tenant AND episode = ANY(CAST(:ids AS uuid[]))
    RETURNING job, state IN ('waiting', 'claimed') AS pending
""")

PURGEABLE = text("""
    SELECT id FROM memories WHERE tenant = :tenant AND purge_job = :job ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED
""")


def find(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> set[UUID]:
    """Those of the ids that are memories of the scope, in whatever state."""
    rows = tx.execute(
        FIND,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
            "filters": None if scope.named.filters is None else json.dumps(scope.named.filters),
            "ids": list(ids),
        },
    )
    return {row.id for row in rows}


def hold(scope: ScopeKey, tx: Transaction, ids: Collection[UUID], *, queued: bool) -> dict[UUID, Held]:
    """Lock memories of the namespace, `queued` with their places in the pipeline."""
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "ids": sorted(ids)}
    if queued:
        tx.execute(HOLD_QUEUED, key)
    return {
        row.id: Held(row.id, MemoryType(row.type), Status(row.status), row.agent_id, row.session_id)
        for row in tx.execute(HOLD, key)
    }


def derived(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> list[tuple[UUID, UUID]]:
    """(derived, source) for every memory that one of these is a source of."""
    rows = tx.execute(DERIVED, {"tenant": scope.tenant, "namespace": scope.namespace, "ids": sorted(ids)})
    return [(row.derived, row.source) for row in rows]


def told_elsewhere(scope: ScopeKey, tx: Transaction, ids: Collection[UUID], going: Collection[UUID]) -> set[UUID]:
    """Those that have a living source which is not among those that are going."""
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "ids": sorted(ids), "going": sorted(going)}
    return {row.id for row in tx.execute(TOLD_ELSEWHERE, key)}


def shorten_audits(scope: ScopeKey, tx: Transaction, seconds: int) -> None:
    """What is kept in the namespace for an audit is kept for no longer than this from its deletion on; with 0 it is gone at once."""
    tx.execute(SHORTEN_AUDITS, {"tenant": scope.tenant, "namespace": scope.namespace, "seconds": seconds})


def mark_stale(tenant: int, tx: Transaction, ids: Collection[UUID]) -> None:
    """A source of theirs is gone; they stay, and say so."""
    if ids:
        tx.execute(MARK_STALE, {"tenant": tenant, "ids": sorted(ids)})


def hide(
    tenant: int, tx: Transaction, ids: Collection[UUID], roots: Collection[UUID], mark: Mark, job: UUID | None
) -> dict[UUID, int]:
    """Tombstone memories: from the commit on no read finds them. With `job` their content and index rows go later, as its work.

    Answers with the number of episodes by job that leave the pipeline unfinished, for the jobs' counters.
    """
    key: dict[str, Any] = {"tenant": tenant, "ids": sorted(ids)}
    tx.execute(
        RECORD,
        {
            **key,
            "roots": sorted(roots),
            "key": mark.key,
            "reason": mark.reason,
            "cascade": mark.cascade,
            "audit": mark.audit_seconds,
        },
    )
    tx.execute(HIDE, {**key, "job": job})
    retractions.mark(tenant, tx, ids)
    tx.execute(INHERIT, key)
    left: dict[UUID, int] = {}
    for row in tx.execute(LEAVE_QUEUE, key):
        if row.pending:
            left[row.job] = left.get(row.job, 0) + 1
    return left


def purge(tenant: int, tx: Transaction, ids: Collection[UUID]) -> dict[int, tuple[int, int]]:
    """Remove what hidden memories said, and every trace of it in the index; rows and lexemes to take off the counters, by namespace."""
    key = {"tenant": tenant, "ids": sorted(ids)}
    tx.execute(UNSTAGE, key)
    removed = unindex(tenant, tx, ids)
    tx.execute(EMPTY, key)
    tx.execute(EMPTY_LINKS, key)
    return removed


def unindex(tenant: int, tx: Transaction, ids: Collection[UUID]) -> dict[int, tuple[int, int]]:
    """Remove the rows by which memories are found; rows and lexemes to take off the counters, by namespace."""
    rows = tx.execute(UNINDEX, {"tenant": tenant, "ids": sorted(ids)})
    return {row.namespace: (-int(row.rows), -int(row.lexemes)) for row in rows}


def purgeable(tenant: int, tx: Transaction, job: UUID, limit: int) -> list[UUID]:
    """Memories of the job that still hold something, locked; those that another process has in hand are passed over."""
    return [row.id for row in tx.execute(PURGEABLE, {"tenant": tenant, "job": job, "limit": limit})]
