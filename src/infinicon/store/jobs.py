"""Jobs: what getJob reports. Counters close them; a terminal row is the truth, Celery's rows say what is going on."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import Fault, Job, JobFilter, JobsSummary, JobStatus, Lane, Progress, ScopeKey, Stage
from infinicon.store.database import Transaction

REINDEX = "reindex"
"""The type of jobs that derive a namespace's index anew; constraints name it too."""

TOMBSTONE = "tombstone"
"""The type of jobs that empty memories which are hidden already."""

ERASE = "erase"
"""The type of jobs that tombstone whatever fits their spec."""

CONSOLIDATE = "consolidate"
"""The type of jobs that consolidate what waits in a scope."""

REDACT = "redact"
"""The type of jobs that take a secret out of what a tenant has stored."""

TENANT = 0
"""The namespace of jobs that are a tenant's, and no namespace's: whoever may read the tenant's jobs anywhere may read them."""

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
           OR (w.id > q.after AND w.id <= q.upto AND EXISTS (
                   SELECT FROM memories m WHERE m.tenant = :tenant AND m.id = w.id AND m.namespace = q.namespace))
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

# One statement: the row, where its episodes are, and what Celery says of the tasks that carry them (the view folds them).
FOLD = text("""
    SELECT id, type, status, label, total, done, failed, waiting, extract, embed, index, error, result, created_at, updated_at
    FROM folded_jobs
    WHERE tenant = :tenant AND namespace IN (:namespace, 0) AND id = :job
      AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR session_id = :session_id)
""")

# `kept` lets an index find the rows that may have the status: what folds to running may still be queued in its row.
PAGE = text("""
    SELECT id, type, status, label, total, done, failed, waiting, extract, embed, index, error, result, created_at, updated_at
    FROM folded_jobs
    WHERE tenant = :tenant AND namespace = :namespace
      AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR session_id = :session_id)
      AND (CAST(:label AS text) IS NULL OR label = :label)
      AND (CAST(:type AS text) IS NULL OR type = :type)
      AND (CAST(:status AS text) IS NULL OR (kept = ANY(CAST(:kept AS text[])) AND status = :status))
      AND (CAST(:before AS uuid) IS NULL OR id < :before)
    ORDER BY id DESC LIMIT :limit
""")

ROLL_UP = text("""
    SELECT count(*) FILTER (WHERE status = 'queued') AS queued,
           count(*) FILTER (WHERE status = 'running') AS running,
           count(*) FILTER (WHERE status = 'completed') AS completed,
           count(*) FILTER (WHERE status = 'failed') AS failed_jobs,
           count(*) FILTER (WHERE status = 'cancelled') AS cancelled,
           coalesce(sum(total), 0) AS total, coalesce(sum(done), 0) AS done, coalesce(sum(failed), 0) AS failed,
           coalesce(sum(waiting), 0) AS waiting, coalesce(sum(extract), 0) AS extract, coalesce(sum(embed), 0) AS embed,
           coalesce(sum(index), 0) AS index
    FROM folded_jobs
    WHERE tenant = :tenant AND namespace = :namespace
      AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR session_id = :session_id)
      AND (CAST(:label AS text) IS NULL OR label = :label)
      AND (CAST(:type AS text) IS NULL OR type = :type)
      AND (CAST(:status AS text) IS NULL OR (kept = ANY(CAST(:kept AS text[])) AND status = :status))
""")


# What changes the aim of a job goes one at a time in a namespace. The stages take no part in it, so nobody works behind this lock.
TAKE_TURN = text("SELECT pg_advisory_xact_lock(hashtextextended('jobs ' || :tenant || ' ' || :namespace, 0))")

# Claimed ones leave their batch as well: what a stage writes, it writes for the episodes that are in its batch then. Rows are locked
# in the order in which the stages lock them: queued episodes, memories, jobs.
CANCEL_EPISODES = text("""
    WITH held AS (
        SELECT episode FROM queued_episodes
        WHERE tenant = :tenant AND namespace = :namespace AND job = :job AND state IN ('waiting', 'claimed')
        ORDER BY episode FOR UPDATE
    ), cancelled AS (
        UPDATE queued_episodes q SET state = 'cancelled', batch = NULL, error = CAST(:error AS jsonb)
        FROM held WHERE q.tenant = :tenant AND q.episode = held.episode
        RETURNING q.episode
    )
    UPDATE memories m SET status = 'failed', updated_at = now()
    FROM cancelled WHERE m.tenant = :tenant AND m.id = cancelled.episode AND m.status = 'pending'
""")

CANCEL = text("""
    UPDATE jobs SET status = 'cancelled', cancelled = true, error = CAST(:error AS jsonb), updated_at = now()
    WHERE tenant = :tenant AND namespace = :namespace AND id = :job AND status IN ('queued', 'running')
""")

# The job is locked before its episodes are looked at: no batch of it closes in between, and what is counted here stays true.
HOLD = text("SELECT type FROM jobs WHERE tenant = :tenant AND namespace = :namespace AND id = :job FOR UPDATE")

REQUEUE = text("""
    WITH idle AS (
        SELECT q.episode FROM queued_episodes q
        WHERE q.tenant = :tenant AND q.namespace = :namespace AND q.job = :job AND q.state IN ('failed', 'cancelled')
          AND NOT EXISTS (SELECT FROM memories m WHERE m.tenant = q.tenant AND m.id = q.episode AND m.status = 'tombstoned')
        ORDER BY q.episode FOR UPDATE
    ), queued AS (
        UPDATE queued_episodes q
        SET state = 'waiting', error = NULL, queued_at = CASE WHEN q.upto IS NULL THEN now() ELSE q.queued_at END
        FROM idle WHERE q.tenant = :tenant AND q.episode = idle.episode
        RETURNING q.episode
    ), revived AS (
        UPDATE memories m SET status = 'pending', updated_at = now()
        FROM queued WHERE m.tenant = :tenant AND m.id = queued.episode AND m.status = 'failed'
    )
    SELECT count(*) FROM queued
""")

# The total is what is done and what is on its way: episodes that other jobs took over meanwhile are no longer this one's.
REOPEN = text("""
    UPDATE jobs j
    SET failed = 0, cancelled = false, error = NULL, updated_at = now(),
        status = CASE WHEN j.status = 'running' THEN j.status ELSE 'queued' END,
        total = j.done + (SELECT count(*) FROM queued_episodes q
                          WHERE q.tenant = :tenant AND q.job = :job AND q.state IN ('waiting', 'claimed'))
    WHERE j.tenant = :tenant AND j.namespace = :namespace AND j.id = :job
""")

OPEN_REINDEX = text("""
    SELECT id FROM jobs
    WHERE tenant = :tenant AND namespace = :namespace AND type = 'reindex' AND status IN ('queued', 'running')
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
    row = tx.execute(FOLD, {**_scoped(scope), "job": job}).one_or_none()
    return None if row is None else _job(row)


def page(scope: ScopeKey, tx: Transaction, wanted: JobFilter, before: UUID | None, limit: int) -> list[Job]:
    """Jobs of the scope made before the job `before`, the newest first, each as `fold` would show it."""
    rows = tx.execute(PAGE, {**_scoped(scope), **_filtered(wanted), "before": before, "limit": limit})
    return [_job(row) for row in rows]


def roll_up(scope: ScopeKey, tx: Transaction, wanted: JobFilter) -> JobsSummary:
    """All of these jobs together."""
    row = tx.execute(ROLL_UP, {**_scoped(scope), **_filtered(wanted)}).one()
    by_status = {
        JobStatus.QUEUED: row.queued,
        JobStatus.RUNNING: row.running,
        JobStatus.COMPLETED: row.completed,
        JobStatus.FAILED: row.failed_jobs,
        JobStatus.CANCELLED: row.cancelled,
    }
    return JobsSummary(by_status, _progress(row))


def _scoped(scope: ScopeKey) -> dict[str, object]:
    return {
        "tenant": scope.tenant,
        "namespace": scope.namespace,
        "agent_id": scope.agent_id,
        "session_id": scope.session_id,
    }


def _filtered(wanted: JobFilter) -> dict[str, object]:
    kept = [wanted.status] if wanted.status is not JobStatus.RUNNING else [JobStatus.QUEUED, JobStatus.RUNNING]
    return {"status": wanted.status, "kept": kept, "label": wanted.label, "type": wanted.type}


def _job(row: Any) -> Job:
    status, progress = JobStatus(row.status), _progress(row)
    at_stages = [(progress.extract, Stage.EXTRACT), (progress.embed, Stage.EMBED), (progress.index, Stage.INDEX)]
    ongoing = status in {JobStatus.QUEUED, JobStatus.RUNNING}
    at = next((stage for number, stage in at_stages if number and ongoing), None)
    if row.type == CONSOLIDATE and status is JobStatus.RUNNING:
        at = Stage.CONSOLIDATE
    return Job(
        id=row.id,
        type=row.type,
        status=status,
        created_at=row.created_at,
        updated_at=row.updated_at,
        progress=progress,
        stage=at,
        label=row.label,
        error=fault(row.error),
        result=row.result,
    )


def _progress(row: Any) -> Progress:
    numbers = (row.done, row.failed, row.total, row.waiting, row.extract, row.embed, row.index)
    return Progress(*(int(number) for number in numbers))


def take_turn(scope: ScopeKey, tx: Transaction) -> None:
    """Wait until nobody else cancels, retries or starts anything in the namespace; the turn ends with the transaction."""
    tx.execute(TAKE_TURN, {"tenant": str(scope.tenant), "namespace": str(scope.namespace)})


def cancel(scope: ScopeKey, tx: Transaction, job: UUID, reason: Fault) -> None:
    """Take everything of an open job out of the pipeline. What a stage publishes at this moment is waited for, and stays published."""
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "job": job, "error": fault_json(reason)}
    tx.execute(CANCEL_EPISODES, key)
    tx.execute(CANCEL, key)


def retry(scope: ScopeKey, tx: Transaction, job: UUID) -> int:
    """Put a job's failed and cancelled episodes in line again, and open the job; how many there were. None: nothing changes."""
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "job": job}
    kind = tx.execute(HOLD, key).scalar_one()
    other = open_reindex(scope, tx) if kind == REINDEX else None
    number: int = 0 if other not in {None, job} else tx.execute(REQUEUE, key).scalar_one()
    if number:
        tx.execute(REOPEN, key)
    return number


def open_reindex(scope: ScopeKey, tx: Transaction) -> UUID | None:
    """The reindex that the namespace's index is under, if there is one."""
    found: UUID | None = tx.execute(OPEN_REINDEX, {"tenant": scope.tenant, "namespace": scope.namespace}).scalar()
    return found


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
