"""Episodes: written once, found again by their dedupeKey."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import ActorRef, Json, Lane, ScopeKey, Status
from infinicon.store.database import Transaction


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """An episode ready to be stored. `content` is text, or a JSON document as text; `tokens` is an estimate for batching."""

    id: UUID
    content_type: str
    content: str
    created_by: ActorRef
    metadata: Mapping[str, Json]
    tags: Sequence[str]
    dedupe_key: str | None
    dedupe_hmac: bytes | None
    content_hmac: bytes
    occurred_at: datetime | None
    expires_at: datetime | None
    tokens: int


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """What ingest needs to know of an episode that was there before. `idle`: it failed or was cancelled, and waits for nobody.
    `expired`: its time is over, and nobody has tombstoned it yet."""

    id: UUID
    status: Status
    content_hmac: bytes | None
    idle: bool
    expired: bool


# Sorted by the conflict key, so that two requests with the same keys in other orders wait for each other instead of deadlocking.
INSERT = text("""
    INSERT INTO memories (tenant, namespace, type, status, agent_id, session_id, filters, id, content_type, content, created_by,
                          metadata, tags, dedupe_key, dedupe_hmac, content_hmac, occurred_at, expires_at)
    SELECT :tenant, :namespace, 'episode', 'pending', :agent_id, :session_id, CAST(:filters AS jsonb),
           e.id, e.content_type, e.content, e.created_by::jsonb, e.metadata::jsonb,
           ARRAY(SELECT jsonb_array_elements_text(e.tags::jsonb)), e.dedupe_key, e.dedupe_hmac, e.content_hmac,
           e.occurred_at, e.expires_at
    FROM unnest(CAST(:ids AS uuid[]), CAST(:content_types AS text[]), CAST(:contents AS text[]), CAST(:created_bys AS text[]),
                CAST(:metadatas AS text[]), CAST(:tags AS text[]), CAST(:dedupe_keys AS text[]), CAST(:dedupe_hmacs AS bytea[]),
                CAST(:content_hmacs AS bytea[]), CAST(:occurred_ats AS timestamptz[]), CAST(:expires_ats AS timestamptz[]))
         AS e (id, content_type, content, created_by, metadata, tags, dedupe_key, dedupe_hmac, content_hmac, occurred_at, expires_at)
    ORDER BY e.dedupe_hmac NULLS LAST, e.id
    ON CONFLICT (tenant, namespace, dedupe_hmac) WHERE dedupe_hmac IS NOT NULL DO NOTHING
    RETURNING id
""")

FIND_BY_DEDUPE = text("""
    SELECT m.dedupe_hmac, m.id, m.status, m.content_hmac, coalesce(q.state IN ('failed', 'cancelled'), false) AS idle,
           coalesce(m.expires_at <= now(), false) AS expired
    FROM memories m
    LEFT JOIN queued_episodes q ON q.tenant = m.tenant AND q.episode = m.id
    WHERE m.tenant = :tenant AND m.namespace = :namespace AND m.dedupe_hmac = ANY(CAST(:hmacs AS bytea[]))
""")

QUEUE = text("""
    INSERT INTO queued_episodes (tenant, namespace, job, lane, episode, tokens)
    SELECT :tenant, :namespace, :job, :lane, e.id, e.tokens
    FROM unnest(CAST(:ids AS uuid[]), CAST(:tokens AS integer[])) AS e (id, tokens)
    ORDER BY e.id
""")

REQUEUE = text("""
    UPDATE queued_episodes q
    SET state = 'waiting', job = :job, lane = :lane, error = NULL, queued_at = now()
    FROM (SELECT episode FROM queued_episodes
          WHERE tenant = :tenant AND namespace = :namespace AND episode = ANY(CAST(:ids AS uuid[]))
            AND state IN ('failed', 'cancelled')
          ORDER BY episode FOR UPDATE) idle
    WHERE q.tenant = :tenant AND q.episode = idle.episode
    RETURNING q.episode
""")

REVIVE = text("""
    UPDATE memories SET status = 'pending', updated_at = now()
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[])) AND status = 'failed'
""")

PAGE = text("""
    SELECT id, size, sum(size) OVER (ORDER BY id) - size AS before
    FROM (SELECT id, coalesce(octet_length(content), 0) + 1 AS size
          FROM memories
          WHERE tenant = :tenant AND namespace = :namespace AND type = 'episode' AND status <> 'tombstoned'
            AND (expires_at IS NULL OR expires_at > now())
            AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
            AND (CAST(:session_id AS text) IS NULL OR session_id = :session_id)
            AND (CAST(:after AS uuid) IS NULL OR id > :after)
          ORDER BY id LIMIT :limit) AS sized
    ORDER BY id
""")


def insert(scope: ScopeKey, tx: Transaction, episodes: Sequence[NewEpisode]) -> set[UUID]:
    """Store episodes as pending; those whose dedupeKey is taken in the scope are left out of the answer.

    Where another transaction holds the same key uncommitted, this waits for it.
    """
    if not episodes:
        return set()
    rows = tx.execute(
        INSERT,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
            "filters": None if scope.named.filters is None else json.dumps(scope.named.filters),
            "ids": [e.id for e in episodes],
            "content_types": [e.content_type for e in episodes],
            "contents": [e.content for e in episodes],
            "created_bys": [json.dumps({"id": e.created_by.id, "kind": e.created_by.kind}) for e in episodes],
            "metadatas": [json.dumps(e.metadata) for e in episodes],
            "tags": [json.dumps(list(e.tags)) for e in episodes],
            "dedupe_keys": [e.dedupe_key for e in episodes],
            "dedupe_hmacs": [e.dedupe_hmac for e in episodes],
            "content_hmacs": [e.content_hmac for e in episodes],
            "occurred_ats": [e.occurred_at for e in episodes],
            "expires_ats": [e.expires_at for e in episodes],
        },
    )
    return {row.id for row in rows}


def find_by_dedupe(scope: ScopeKey, tx: Transaction, hmacs: Collection[bytes]) -> dict[bytes, StoredEpisode]:
    """Episodes of exactly this scope by the HMAC of their dedupeKey."""
    rows = tx.execute(FIND_BY_DEDUPE, {"tenant": scope.tenant, "namespace": scope.namespace, "hmacs": list(hmacs)})
    return {
        bytes(row.dedupe_hmac): StoredEpisode(
            row.id,
            Status(row.status),
            None if row.content_hmac is None else bytes(row.content_hmac),
            row.idle,
            row.expired,
        )
        for row in rows
    }


def queue(scope: ScopeKey, tx: Transaction, job: UUID, lane: Lane, episodes: Sequence[NewEpisode]) -> None:
    """Put new episodes in line for the pipeline, as work of `job`."""
    if episodes:
        tx.execute(
            QUEUE,
            {
                "tenant": scope.tenant,
                "namespace": scope.namespace,
                "job": job,
                "lane": lane,
                "ids": [e.id for e in episodes],
                "tokens": [e.tokens for e in episodes],
            },
        )


def requeue(scope: ScopeKey, tx: Transaction, job: UUID, lane: Lane, ids: Collection[UUID]) -> set[UUID]:
    """Put failed and cancelled episodes in line again, now as work of `job`; the answer names those that were idle."""
    if not ids:
        return set()
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids)}
    rows = tx.execute(REQUEUE, {**key, "job": job, "lane": lane})
    taken = {row.episode for row in rows}
    if taken:
        tx.execute(REVIVE, {**key, "ids": list(taken)})
    return taken


def page(
    scope: ScopeKey, tx: Transaction, after: UUID | None, limit: int, content_bytes: int
) -> tuple[list[UUID], bool]:
    """Living episodes of the scope behind `after` in the order of their ids, and whether there are more.

    At most `limit`, and as many as fit into `content_bytes` behind the first one.
    """
    rows = tx.execute(
        PAGE,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
            "after": after,
            "limit": limit + 1,
        },
    ).all()
    fitting = [row.id for row in rows[:limit] if row.before == 0 or row.before + row.size <= content_bytes]
    return fitting, len(fitting) < len(rows)
