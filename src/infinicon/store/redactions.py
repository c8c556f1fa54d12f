"""What a redaction of stored memory reads and writes: pages of a tenant's memories, one memory at a time, and the rows beside them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import Json, MemoryType, Span, Status, TokenCounts
from infinicon.store.database import Transaction

PAGE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Words:
    """All that a memory says. `content` is text, or a JSON document as text."""

    content_type: str | None
    content: str | None
    search_text: str | None
    speaker: str | None
    title: str | None
    created_by: Mapping[str, Json]
    metadata: Mapping[str, Json]
    tags: Sequence[str]
    dedupe_key: str | None
    filters: Mapping[str, Json] | None


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory as it stands. `rendered`: it has been counted as a unit of a context; `counted`: its content alone has been."""

    id: UUID
    type: MemoryType
    status: Status
    namespace: int
    agent_id: str | None
    session_id: str | None
    occurred_at: datetime | None
    created_at: datetime
    rendered: bool
    counted: bool
    indexed: bool
    words: Words


SPECIFY = text("UPDATE jobs SET spec = CAST(:spec AS jsonb) WHERE tenant = :tenant AND id = :job")

READ = text("""
    SELECT spec FROM jobs WHERE tenant = :tenant AND id = :job AND type = 'redact' AND status IN ('queued', 'running')
""")

# Two that work on one job pass each page on once.
ADVANCE = text("""
    UPDATE jobs SET spec = CAST(:spec AS jsonb), done = done + :number, total = greatest(total, done + failed + :number),
                    status = 'running', updated_at = now()
    WHERE tenant = :tenant AND id = :job AND type = 'redact' AND status IN ('queued', 'running') AND spec = CAST(:before AS jsonb)
""")

# In the transaction that rewrites, so that none is counted twice or never, whoever is killed.
COUNT_REWRITTEN = text("""
    UPDATE jobs SET result = jsonb_build_object('rewritten', coalesce((result ->> 'rewritten')::integer, 0) + 1), updated_at = now()
    WHERE tenant = :tenant AND id = :job AND type = 'redact' AND status IN ('queued', 'running')
""")

COMPLETE = text("""
    UPDATE jobs SET total = done + failed, status = 'completed', spec = NULL, updated_at = now(),
                    result = jsonb_build_object('rewritten', coalesce((result ->> 'rewritten')::integer, 0), 'left', CAST(:left AS jsonb))
    WHERE tenant = :tenant AND id = :job AND type = 'redact' AND status IN ('queued', 'running')
""")

COUNT = text("SELECT count(*) FROM memories WHERE tenant = :tenant")

PAGE = text("""
    SELECT id, size, sum(size) OVER (ORDER BY id) - size AS before
    FROM (SELECT id, coalesce(octet_length(content), 0) + coalesce(octet_length(search_text), 0) AS size FROM memories
          WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit) AS sized
    ORDER BY id
""")

LOAD = text("""
    SELECT m.id, m.type, m.status, m.namespace, m.agent_id, m.session_id, m.occurred_at, m.created_at,
           m.renderer IS NOT NULL AS rendered, m.content_chars IS NOT NULL AS counted,
           EXISTS (SELECT FROM space_rows s WHERE s.tenant = m.tenant AND s.memory = m.id) AS indexed,
           m.content_type, m.content, m.search_text, m.speaker, m.title, m.created_by, m.metadata, m.tags, m.dedupe_key, m.filters
    FROM memories m WHERE m.tenant = :tenant AND m.id = ANY(CAST(:ids AS uuid[])) AND m.status <> 'tombstoned' ORDER BY m.id
""")

# Whoever has the memory in a batch has read its words already. What waits is held, so that nobody claims it before it says something else.
HOLD_QUEUED = text("""
    SELECT q.state FROM queued_episodes q
    WHERE q.tenant = :tenant AND q.namespace = :namespace
      AND (q.episode = :id
           OR q.episode IN (SELECT l.to_id FROM links l
                            WHERE l.tenant = :tenant AND l.from_id = :id AND l.link_type = 'derived_from')
           OR (q.after < :id AND q.upto >= :id))
    ORDER BY q.episode FOR UPDATE
""")

DERIVED = text("""
    SELECT DISTINCT from_id FROM links
    WHERE tenant = :tenant AND to_id = ANY(CAST(:ids AS uuid[])) AND link_type = 'derived_from'
""")

HOLD = text("SELECT id FROM memories WHERE tenant = :tenant AND id = :id AND status <> 'tombstoned' FOR UPDATE")

WRITE = text("""
    UPDATE memories
    SET content_type = :content_type, content = :content, search_text = :search_text, speaker = :speaker, title = :title,
        created_by = CAST(:created_by AS jsonb), metadata = CAST(:metadata AS jsonb),
        tags = ARRAY(SELECT jsonb_array_elements_text(CAST(:tags AS jsonb))), dedupe_key = :dedupe_key,
        filters = CAST(:filters AS jsonb), updated_at = now(),
        renderer = CASE WHEN renderer IS NULL THEN NULL ELSE CAST(:renderer AS smallint) END,
        unit_o200k_base = :unit_o200k_base, unit_cl100k_base = :unit_cl100k_base, unit_chars = :unit_chars,
        content_o200k_base = :content_o200k_base, content_cl100k_base = :content_cl100k_base, content_chars = :content_chars,
        content_host = :content_host, host_counter = :host_counter
    WHERE tenant = :tenant AND id = :id
    RETURNING fingerprint IS NOT NULL AS stated, filters::text AS filters
""")

# Where another atom says the same by now, this one goes on without a fingerprint: a later source then states the other one.
STATE = text("""
    UPDATE memories m
    SET fingerprint = CASE WHEN EXISTS (
        SELECT FROM memories o WHERE o.tenant = :tenant AND o.namespace = :namespace AND o.fingerprint = :fingerprint AND o.id <> :id)
        THEN NULL ELSE :fingerprint END
    WHERE m.tenant = :tenant AND m.id = :id
""")

SPANS = text("""
    SELECT id, from_id, span_start, span_end, span_path FROM links
    WHERE tenant = :tenant AND to_id = :id AND span_start IS NOT NULL ORDER BY id FOR UPDATE
""")

MOVE_SPAN = text("""
    UPDATE links SET span_start = :start, span_end = :finish, span_path = :path WHERE tenant = :tenant AND id = :id
""")

LINK_SPEAKERS = text("""
    SELECT id, speaker FROM links
    WHERE tenant = :tenant AND id > :after AND speaker IS NOT NULL ORDER BY id LIMIT :limit
""")

NAME_SPEAKER = text("UPDATE links SET speaker = :new WHERE tenant = :tenant AND id = :id AND speaker = :old")

TOMBSTONES = text("""
    SELECT t.memory AS id, t.reason, t.kept, m.content_type
    FROM tombstones t JOIN memories m ON m.tenant = t.tenant AND m.id = t.memory
    WHERE t.tenant = :tenant AND t.memory > :after ORDER BY t.memory LIMIT :limit FOR UPDATE OF t
""")

RETYPE = text("UPDATE memories SET content_type = :content_type WHERE tenant = :tenant AND id = :id")

REWORD_TOMBSTONE = text("""
    UPDATE tombstones SET reason = :reason, kept = CAST(:kept AS jsonb) WHERE tenant = :tenant AND memory = :id
""")

JOBS = text("""
    SELECT id, label, error, result, spec FROM jobs
    WHERE tenant = :tenant AND id > :after AND type <> 'redact' ORDER BY id LIMIT :limit FOR UPDATE
""")

REWORD_JOB = text("""
    UPDATE jobs SET label = :label, error = CAST(:error AS jsonb), result = CAST(:result AS jsonb), spec = CAST(:spec AS jsonb)
    WHERE tenant = :tenant AND id = :id
""")

QUEUED_ERRORS = text("""
    SELECT episode AS id, error FROM queued_episodes
    WHERE tenant = :tenant AND episode > :after AND error IS NOT NULL ORDER BY episode LIMIT :limit FOR UPDATE
""")

REWORD_QUEUED = text(
    "UPDATE queued_episodes SET error = CAST(:error AS jsonb) WHERE tenant = :tenant AND episode = :id"
)


def specify(tenant: int, tx: Transaction, job: UUID, spec: Json) -> None:
    """Say what the job, which was inserted just now, is about."""
    tx.execute(SPECIFY, {"tenant": tenant, "job": job, "spec": json.dumps(spec)})


def spec(tenant: int, tx: Transaction, job: UUID) -> dict[str, Any] | None:
    """Where the job stands; None where it is over, or none of ours."""
    found: dict[str, Any] | None = tx.execute(READ, {"tenant": tenant, "job": job}).scalar_one_or_none()
    return found


def advance(tenant: int, tx: Transaction, job: UUID, before: Json, spec: Json, number: int) -> bool:
    """Note what comes next, after `number` memories more. False: another process has gone on already."""
    parameters = {
        "tenant": tenant,
        "job": job,
        "before": json.dumps(before),
        "spec": json.dumps(spec),
        "number": number,
    }
    return tx.execute(ADVANCE, parameters).rowcount == 1


def count_rewritten(tenant: int, tx: Transaction, job: UUID) -> None:
    """One memory more, in the transaction that rewrites it."""
    tx.execute(COUNT_REWRITTEN, {"tenant": tenant, "job": job})


def complete(tenant: int, tx: Transaction, job: UUID, left: Mapping[str, int]) -> None:
    """It has gone through all. `left`: how many names say a secret, which it does not rewrite."""
    tx.execute(COMPLETE, {"tenant": tenant, "job": job, "left": json.dumps(left)})


def count(tenant: int, tx: Transaction) -> int:
    """Memories of the tenant, those that are gone too."""
    found: int = tx.execute(COUNT, {"tenant": tenant}).scalar_one()
    return found


def page(tenant: int, tx: Transaction, after: UUID, limit: int) -> list[UUID]:
    """The next memories in the order of ids: one at least where there are more, and else as many as are no burden to load."""
    rows = tx.execute(PAGE, {"tenant": tenant, "after": after, "limit": limit})
    return [row.id for row in rows if row.before == 0 or row.before + row.size <= PAGE_BYTES]


def derived(tenant: int, tx: Transaction, ids: Collection[UUID]) -> list[UUID]:
    """What one of these is a source of."""
    return [row.from_id for row in tx.execute(DERIVED, {"tenant": tenant, "ids": sorted(ids)})]


def load(tenant: int, tx: Transaction, ids: Collection[UUID]) -> list[Stored]:
    """Those of the memories that live, in the order of ids."""
    return [_stored(row) for row in tx.execute(LOAD, {"tenant": tenant, "ids": sorted(ids)})]


def _stored(row: Any) -> Stored:
    words = Words(
        row.content_type,
        row.content,
        row.search_text,
        row.speaker,
        row.title,
        row.created_by,
        row.metadata,
        row.tags,
        row.dedupe_key,
        row.filters,
    )
    return Stored(
        row.id,
        MemoryType(row.type),
        Status(row.status),
        row.namespace,
        row.agent_id,
        row.session_id,
        row.occurred_at,
        row.created_at,
        row.rendered,
        row.counted,
        row.indexed,
        words,
    )


def hold(tenant: int, tx: Transaction, namespace: int, memory: UUID) -> bool:
    """Lock the memory and its places in the pipeline until commit. False: a batch carries it, or what derives it anew."""
    key = {"tenant": tenant, "namespace": namespace, "id": memory}
    if any(row.state == "claimed" for row in tx.execute(HOLD_QUEUED, key)):
        return False
    tx.execute(HOLD, key)
    return True


def write(
    tenant: int, tx: Transaction, memory: UUID, words: Words, renderer: int, unit: TokenCounts, own: TokenCounts
) -> tuple[bool, str | None]:
    """Put these words in the place of the former ones, after `hold`. Whether the memory has a fingerprint, and its filters as text."""
    row = tx.execute(
        WRITE,
        {
            "tenant": tenant,
            "id": memory,
            "content_type": words.content_type,
            "content": words.content,
            "search_text": words.search_text,
            "speaker": words.speaker,
            "title": words.title,
            "created_by": json.dumps(words.created_by),
            "metadata": json.dumps(words.metadata),
            "tags": json.dumps(words.tags),
            "dedupe_key": words.dedupe_key,
            "filters": None if words.filters is None else json.dumps(words.filters),
            "renderer": renderer,
            "unit_o200k_base": unit.o200k_base,
            "unit_cl100k_base": unit.cl100k_base,
            "unit_chars": unit.chars,
            "content_o200k_base": own.o200k_base,
            "content_cl100k_base": own.cl100k_base,
            "content_chars": own.chars,
            "content_host": own.host,
            "host_counter": own.host_counter,
        },
    ).one()
    return row.stated, row.filters


def state(tenant: int, tx: Transaction, namespace: int, memory: UUID, fingerprint: bytes) -> None:
    """Name an atom by what it says now."""
    tx.execute(STATE, {"tenant": tenant, "namespace": namespace, "id": memory, "fingerprint": fingerprint})


def spans(tenant: int, tx: Transaction, memory: UUID) -> list[tuple[UUID, UUID, Span]]:
    """The links that point into the memory's text, locked: each with what is derived, and where from."""
    rows = tx.execute(SPANS, {"tenant": tenant, "id": memory})
    return [(row.id, row.from_id, Span(row.span_start, row.span_end, row.span_path or "")) for row in rows]


def move_span(tenant: int, tx: Transaction, link: UUID, span: Span) -> None:
    """The same place in a text that has changed."""
    tx.execute(MOVE_SPAN, {"tenant": tenant, "id": link, "start": span.start, "finish": span.end, "path": span.path})


def link_speakers(tenant: int, tx: Transaction, after: UUID, limit: int) -> list[tuple[UUID, str]]:
    """Who said something, by link."""
    rows = tx.execute(LINK_SPEAKERS, {"tenant": tenant, "after": after, "limit": limit})
    return [(row.id, row.speaker) for row in rows]


def name_speaker(tenant: int, tx: Transaction, link: UUID, old: str, new: str) -> None:
    tx.execute(NAME_SPEAKER, {"tenant": tenant, "id": link, "old": old, "new": new})


def tombstones(tenant: int, tx: Transaction, after: UUID, limit: int) -> list[tuple[UUID, str, Json, str | None]]:
    """Reasons, and what is kept for audits, by memory; locked. And the media type of what was there, which stays with the memory."""
    rows = tx.execute(TOMBSTONES, {"tenant": tenant, "after": after, "limit": limit})
    return [(row.id, row.reason, row.kept, row.content_type) for row in rows]


def retype(tenant: int, tx: Transaction, memory: UUID, content_type: str) -> None:
    """Another media type for a memory that is gone."""
    tx.execute(RETYPE, {"tenant": tenant, "id": memory, "content_type": content_type})


def reword_tombstone(tenant: int, tx: Transaction, memory: UUID, reason: str, kept: Json) -> None:
    tx.execute(REWORD_TOMBSTONE, {"tenant": tenant, "id": memory, "reason": reason, "kept": _json(kept)})


def jobs(tenant: int, tx: Transaction, after: UUID, limit: int) -> list[tuple[UUID, str | None, list[Json]]]:
    """Labels, and the error, result and spec of jobs; locked."""
    rows = tx.execute(JOBS, {"tenant": tenant, "after": after, "limit": limit})
    return [(row.id, row.label, [row.error, row.result, row.spec]) for row in rows]


def reword_job(tenant: int, tx: Transaction, job: UUID, label: str | None, said: Sequence[Json]) -> None:
    error, result, spec_ = (_json(one) for one in said)
    parameters = {"tenant": tenant, "id": job, "label": label, "error": error, "result": result, "spec": spec_}
    tx.execute(REWORD_JOB, parameters)


def queued_errors(tenant: int, tx: Transaction, after: UUID, limit: int) -> list[tuple[UUID, Json]]:
    """Why episodes failed; locked."""
    rows = tx.execute(QUEUED_ERRORS, {"tenant": tenant, "after": after, "limit": limit})
    return [(row.id, row.error) for row in rows]


def reword_queued(tenant: int, tx: Transaction, episode: UUID, error: Json) -> None:
    tx.execute(REWORD_QUEUED, {"tenant": tenant, "id": episode, "error": _json(error)})


def _json(value: Json) -> str | None:
    return None if value is None else json.dumps(value)
