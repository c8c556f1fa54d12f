"""Jobs: what getJob reports. Counters close them; a terminal row is the truth, Celery's rows say what is going on."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import Fault, Job, JobStatus, Lane, Progress, ScopeKey, Stage
from infinicon.store.database import Transaction

INSERT = text("""
    INSERT INTO jobs (tenant, id, namespace, agent_id, session_id, type, lane, label, total, status)
    VALUES (:tenant, :id, :namespace, :agent_id, :session_id, :type, :lane, :label, :total,
            CASE WHEN :total = 0 THEN 'completed' ELSE 'queued' END)
""")

# Locked in the order of ids first: two batches that serve the same jobs would otherwise deadlock.
LOCK = text("""
    SELECT id FROM jobs WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) ORDER BY id FOR UPDATE
""")

COUNT = text("""
    UPDATE jobs j
    SET done = j.done + c.done, failed = j.failed + c.failed, updated_at = now(),
        error = coalesce(j.error, c.error::jsonb),
        status = CASE WHEN j.cancelled THEN j.status
                      WHEN j.done + c.done + j.failed + c.failed < j.total THEN 'running'
                      WHEN j.failed + c.failed > 0 THEN 'failed'
                      ELSE 'completed' END
    FROM unnest(CAST(:ids AS uuid[]), CAST(:done AS integer[]), CAST(:failed AS integer[]), CAST(:errors AS text[]))
         AS c (id, done, failed, error)
    WHERE j.tenant = :tenant AND j.id = c.id
""")

# A memory without a vector is named in every job of the batch that it came with. Jobs are locked in the order of ids, as in LOCK.
WARN = text("""
    WITH affected AS (
        SELECT DISTINCT q.job, w.id
        FROM unnest(CAST(:memories AS uuid[])) AS w (id)
        JOIN queued_episodes q ON q.tenant = :tenant AND q.batch = :batch
        WHERE q.episode = w.id
           OR EXISTS (SELECT FROM links l WHERE l.tenant = :tenant AND l.from_id = w.id AND l.to_id = q.episode)
    ), listed AS (
        SELECT job, jsonb_agg(jsonb_build_object('code', 'not_embedded', 'memoryId', id) ORDER BY id) AS warnings
        FROM affected GROUP BY job
    ), held AS (
        SELECT j.id FROM jobs j WHERE j.tenant = :tenant AND j.id IN (SELECT job FROM listed) ORDER BY j.id FOR UPDATE
    )
    UPDATE jobs j
    SET result = jsonb_build_object('warnings', coalesce(j.result -> 'warnings', '[]'::jsonb) || listed.warnings), updated_at = now()
    FROM listed JOIN held ON held.id = listed.job
    WHERE j.tenant = :tenant AND j.id = listed.job
""")

# One statement: the row, where its episodes are, and what Celery says of the tasks that carry them.
FOLD = text("""
    SELECT j.id, j.type, j.status, j.label, j.total, j.done, j.failed, j.error, j.result, j.created_at, j.updated_at,
           w.waiting, w.extract, w.embed, w.index, w.leased, w.started, w.moved_at
    FROM jobs j
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE q.state = 'waiting') AS waiting,
               count(*) FILTER (WHERE b.stage = 'extract') AS extract,
               count(*) FILTER (WHERE b.stage = 'embed') AS embed,
               count(*) FILTER (WHERE b.stage = 'index') AS index,
               coalesce(bool_or(b.lease IS NOT NULL OR b.stage <> 'extract'), false) AS leased,
               coalesce(bool_or(r.status IN ('STARTED', 'RETRY', 'SUCCESS')), false) AS started,
               max(b.updated_at) AS moved_at
        FROM queued_episodes q
        LEFT JOIN batches b ON b.tenant = q.tenant AND b.id = q.batch
        LEFT JOIN celery.task_results r ON r.task_id = b.id || '-' || b.stage || '-' || b.attempt
        WHERE q.tenant = j.tenant AND q.job = j.id
    ) w
    WHERE j.tenant = :tenant AND j.namespace = :namespace AND j.id = :job
      AND (CAST(:agent_id AS text) IS NULL OR j.agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR j.session_id = :session_id)
""")


def insert(scope: ScopeKey, tx: Transaction, job: UUID, type_: str, lane: Lane, label: str | None, total: int) -> None:
    """A new job; one without work is completed at once."""
    tx.execute(
        INSERT,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
            "id": job,
            "type": type_,
            "lane": lane,
            "label": label,
            "total": total,
        },
    )


def count(
    tenant: int, tx: Transaction, done: Mapping[UUID, int], failed: Mapping[UUID, int], errors: Mapping[UUID, Fault]
) -> None:
    """Move the counters of jobs, and close those that have nothing left. Call it late: it holds the jobs' rows until commit."""
    ids = sorted({*done, *failed})
    if not ids:
        return
    tx.execute(LOCK, {"tenant": tenant, "ids": ids})
    tx.execute(
        COUNT,
        {
            "tenant": tenant,
            "ids": ids,
            "done": [done.get(job, 0) for job in ids],
            "failed": [failed.get(job, 0) for job in ids],
            "errors": [fault_json(errors.get(job)) for job in ids],
        },
    )


def warn(tenant: int, tx: Transaction, batch: UUID, memories: Collection[UUID]) -> None:
    """Name memories that got no vector in the results of the batch's jobs: codes and ids, no content."""
    tx.execute(WARN, {"tenant": tenant, "batch": batch, "memories": list(memories)})


def fold(scope: ScopeKey, tx: Transaction, job: UUID) -> Job | None:
    """The job as a caller sees it: a terminal row wins, else the states of its Celery tasks; None where the scope has no such job."""
    row = tx.execute(
        FOLD,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
            "job": job,
        },
    ).one_or_none()
    return None if row is None else _job(row)


def _job(row: Any) -> Job:
    status = JobStatus(row.status)
    stage = None
    if status in {JobStatus.QUEUED, JobStatus.RUNNING}:
        # Never back from running to queued, also while a batch waits between two tries and nobody holds it.
        busy = row.started or row.leased or row.done or row.failed
        status = JobStatus.RUNNING if busy else status
        stages = [(row.index, Stage.INDEX), (row.embed, Stage.EMBED), (row.extract, Stage.EXTRACT)]
        stage = next((name for number, name in reversed(stages) if number), None)
    return Job(
        id=row.id,
        type=row.type,
        status=status,
        created_at=row.created_at,
        updated_at=_latest(row.updated_at, row.moved_at),
        progress=Progress(row.done, row.failed, row.total, row.waiting, row.extract, row.embed, row.index),
        stage=stage,
        label=row.label,
        error=fault(row.error),
        result=row.result,
    )


def _latest(first: datetime, second: datetime | None) -> datetime:
    return first if second is None else max(first, second)


def fault_json(value: Fault | None) -> str | None:
    """A fault as it is stored."""
    if value is None:
        return None
    return json.dumps(
        {"code": value.code, "message": value.message, "retryable": value.retryable, "details": dict(value.details)}
    )


def fault(stored: Mapping[str, Any] | None) -> Fault | None:
    """A fault as it was stored."""
    if stored is None:
        return None
    return Fault(stored["code"], stored["message"], stored["retryable"], stored.get("details") or {})
