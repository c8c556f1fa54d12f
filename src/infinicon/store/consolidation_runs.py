"""Consolidation jobs: whose turn a scope is, who works on it, and how it ends.

A job holds its scopes (`consolidation_scopes.job`) until it is through with each, and a lease on itself while somebody works, checked in
the transaction of every slice. Locks go in this order: the run, memories, the job, scopes, counters.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import ConsolidationScope, Fault, JobStatus, RunRef, Scope, ScopeKey, Width
from infinicon.errors import LeaseLost
from infinicon.store.database import Transaction
from infinicon.store.jobs import fault, fault_json

NIL = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Run:
    """A job as whoever holds its lease needs it. `after`: looked at so far, in the scope at hand."""

    job: UUID
    spec: Mapping[str, Any]
    after: UUID
    faults: int
    scope: ScopeKey
    """Of the job: as its request named it, as far as it is known here."""


# Scopes in which something waits for this request, or somebody works. What the request says beyond their width, a slice looks at.
FIND = text("""
    SELECT s.id FROM consolidation_scopes s
    WHERE s.tenant = :tenant AND s.namespace = :namespace
      AND (CAST(:agent_id AS text) IS NULL OR s.width = 'namespace' OR s.agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR s.width <> 'session' OR s.session_id = :session_id)
      AND (s.job IS NOT NULL
           OR EXISTS (SELECT FROM consolidation_backlog b
                      WHERE b.tenant = s.tenant AND b.scope = s.id AND (CAST(:undone AS boolean) OR NOT b.undone)))
    ORDER BY s.id
""")

# Whoever comes second waits for the first, and then finds the scope taken.
CLAIM = text("""
    WITH free AS (
        SELECT id FROM consolidation_scopes
        WHERE tenant = :tenant AND id = ANY(CAST(:scopes AS bigint[])) AND job IS NULL
        ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE consolidation_scopes s SET job = :job FROM free WHERE s.tenant = :tenant AND s.id = free.id
    RETURNING s.id
""")

HOLDERS = text("""
    SELECT s.job FROM consolidation_scopes s
    WHERE s.tenant = :tenant AND s.id = ANY(CAST(:scopes AS bigint[])) AND s.job IS NOT NULL
    ORDER BY s.id LIMIT 1
""")

COUNT = text("""
    SELECT count(*) FROM consolidation_backlog b JOIN consolidation_scopes s ON s.tenant = b.tenant AND s.id = b.scope
    WHERE b.tenant = :tenant AND s.job = :job AND (CAST(:undone AS boolean) OR NOT b.undone)
""")

INSERT = text("""
    INSERT INTO consolidation_runs (tenant, job, urgent, spec) VALUES (:tenant, :job, :urgent, CAST(:spec AS jsonb))
""")

DESCRIBE = text("UPDATE jobs SET result = CAST(:result AS jsonb) WHERE tenant = :tenant AND id = :job")

LEASE = text("""
    UPDATE consolidation_runs
    SET lease = :lease, lease_until = clock_timestamp() + make_interval(secs => :seconds), updated_at = now()
    WHERE tenant = :tenant AND job = :job AND state = 'open' AND attempt = :attempt
      AND (lease IS NULL OR lease_until < clock_timestamp())
    RETURNING job
""")

MARK_RUNNING = text("""
    UPDATE jobs SET status = 'running', updated_at = now() WHERE tenant = :tenant AND id = :job AND status = 'queued'
""")

RENEW = text("""
    UPDATE consolidation_runs SET lease_until = clock_timestamp() + make_interval(secs => :seconds)
    WHERE tenant = :tenant AND job = :job AND state = 'open' AND lease = :lease
    RETURNING job
""")

HOLD = text("""
    SELECT r.job, r.spec, r.after, r.faults, j.namespace, j.agent_id, j.session_id
    FROM consolidation_runs r JOIN jobs j ON j.tenant = r.tenant AND j.id = r.job
    WHERE r.tenant = :tenant AND r.job = :job AND r.state = 'open' AND r.lease = :lease
    FOR UPDATE OF r
""")

START = text("""
    UPDATE consolidation_runs SET started = true WHERE tenant = :tenant AND job = :job AND NOT started RETURNING job
""")

SCOPE_AT_HAND = text("""
    SELECT id, namespace, width, agent_id, session_id FROM consolidation_scopes
    WHERE tenant = :tenant AND job = :job ORDER BY id LIMIT 1
""")

NAMED = text("""
    SELECT id, namespace, width, agent_id, session_id FROM consolidation_scopes
    WHERE tenant = :tenant AND id = ANY(CAST(:scopes AS bigint[])) ORDER BY id
""")

NEXT_SLICE = text("""
    UPDATE consolidation_runs
    SET attempt = attempt + 1, faults = 0, after = :after, lease = NULL, lease_until = NULL, published_at = now(), publishes = 1,
        not_before = now(), updated_at = now()
    WHERE tenant = :tenant AND job = :job AND lease = :lease
    RETURNING attempt
""")

RELEASE = text("""
    UPDATE consolidation_runs
    SET lease = NULL, lease_until = NULL, attempt = attempt + 1, faults = faults + CAST(:counts AS integer),
        not_before = now() + make_interval(secs => least(60, :base * power(2, least(publishes, 6)))), updated_at = now()
    WHERE tenant = :tenant AND job = :job AND state = 'open' AND lease = :lease
""")

# What waits in it was counted when it came, and may have waited for long.
FREE_SCOPE = text("""
    UPDATE consolidation_scopes s
    SET job = NULL, last_run_at = now(), failures = CASE WHEN :failed THEN s.failures + 1 ELSE 0 END,
        oldest_at = CASE WHEN s.waiting = 0 THEN NULL
                         ELSE (SELECT min(b.added_at) FROM consolidation_backlog b
                               WHERE b.tenant = s.tenant AND b.scope = s.id AND NOT b.undone) END
    WHERE s.tenant = :tenant AND s.job = :job AND (CAST(:scope AS bigint) IS NULL OR s.id = :scope)
""")

WAITING = text("SELECT waiting FROM consolidation_scopes WHERE tenant = :tenant AND id = :scope")

PROGRESS = text("""
    UPDATE jobs j
    SET done = j.done + :done, failed = j.failed + :failed, total = greatest(j.total, j.done + :done + j.failed + :failed),
        error = coalesce(j.error, CAST(:error AS jsonb)), updated_at = now(),
        result = coalesce(j.result, '{}'::jsonb) || coalesce(
            (SELECT jsonb_object_agg(c.key, coalesce((j.result ->> c.key)::integer, 0) + c.value::integer)
             FROM jsonb_each_text(CAST(:counts AS jsonb)) c), '{}'::jsonb)
    WHERE j.tenant = :tenant AND j.id = :job
""")

CLOSE_RUN = text("""
    UPDATE consolidation_runs SET state = 'closed', lease = NULL, lease_until = NULL, updated_at = now()
    WHERE tenant = :tenant AND job = :job AND state = 'open'
    RETURNING started
""")

CLOSE_JOB = text("""
    UPDATE jobs SET total = done + failed, status = CASE WHEN error IS NULL THEN 'completed' ELSE 'failed' END, updated_at = now()
    WHERE tenant = :tenant AND id = :job AND status IN ('queued', 'running')
    RETURNING status
""")

HOLD_RUN = text("SELECT state, started, spec FROM consolidation_runs WHERE tenant = :tenant AND job = :job FOR UPDATE")

REOPEN = text("""
    UPDATE consolidation_runs
    SET state = 'open', started = false, attempt = attempt + 1, faults = 0, after = '00000000-0000-0000-0000-000000000000',
        not_before = now(), published_at = '-infinity', publishes = 0, created_at = now(), updated_at = now()
    WHERE tenant = :tenant AND job = :job AND state = 'closed'
""")

REOPEN_JOB = text("""
    UPDATE jobs SET status = 'queued', cancelled = false, failed = 0, error = NULL, total = done + :waiting, updated_at = now()
    WHERE tenant = :tenant AND id = :job
""")

SCOPE_OF = text("SELECT namespace, agent_id, session_id FROM jobs WHERE tenant = :tenant AND id = :job")

STATUS = text("SELECT status, error FROM jobs WHERE tenant = :tenant AND id = :job")

OVER = text("""
    SELECT id FROM jobs WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND status NOT IN ('queued', 'running')
""")


def find(scope: ScopeKey, tx: Transaction, *, undone: bool) -> list[int]:
    """Consolidation scopes within this one that have something to do or are being worked on."""
    return [
        row.id
        for row in tx.execute(
            FIND,
            {
                "tenant": scope.tenant,
                "namespace": scope.namespace,
                "agent_id": scope.agent_id,
                "session_id": scope.session_id,
                "undone": undone,
            },
        )
    ]


def named(tenant: int, tx: Transaction, scopes: Collection[int]) -> list[ConsolidationScope]:
    """What these consolidation scopes are, in the order of their ids."""
    rows = tx.execute(NAMED, {"tenant": tenant, "scopes": sorted(scopes)})
    return [_scope(row) for row in rows]


def claim(tenant: int, tx: Transaction, job: UUID, scopes: Collection[int]) -> list[int]:
    """Those of the scopes that were free are the job's now."""
    return [row.id for row in tx.execute(CLAIM, {"tenant": tenant, "job": job, "scopes": sorted(scopes)})]


def holder(tenant: int, tx: Transaction, scopes: Collection[int]) -> UUID | None:
    """The job that works on one of the scopes."""
    found: UUID | None = tx.execute(HOLDERS, {"tenant": tenant, "scopes": sorted(scopes)}).scalar()
    return found


def count(tenant: int, tx: Transaction, job: UUID, *, undone: bool) -> int:
    """How many atoms wait in the job's scopes."""
    number: int = tx.execute(COUNT, {"tenant": tenant, "job": job, "undone": undone}).scalar_one()
    return number


def insert(tenant: int, tx: Transaction, job: UUID, spec: Mapping[str, Any], *, urgent: bool) -> None:
    """The run of a job that was inserted just now. `spec`: what of the backlog is meant."""
    tx.execute(INSERT, {"tenant": tenant, "job": job, "spec": json.dumps(spec), "urgent": urgent})


def describe(tenant: int, tx: Transaction, job: UUID, result: Mapping[str, str | int]) -> None:
    """What the job's result begins with."""
    tx.execute(DESCRIBE, {"tenant": tenant, "job": job, "result": json.dumps(result)})


def lease(ref: RunRef, tx: Transaction, token: UUID, seconds: float) -> bool:
    """Take the run for this attempt; False where it is taken, over, or has moved on."""
    key = {"tenant": ref.tenant, "job": ref.job}
    taken = tx.execute(LEASE, {**key, "attempt": ref.attempt, "lease": token, "seconds": seconds}).scalar() is not None
    if taken:
        tx.execute(MARK_RUNNING, key)
    return taken


def renew(ref: RunRef, tx: Transaction, token: UUID, seconds: float) -> bool:
    """Heartbeat: hold the lease for `seconds` more; False when it is lost."""
    key = {"tenant": ref.tenant, "job": ref.job, "lease": token, "seconds": seconds}
    return tx.execute(RENEW, key).scalar() is not None


def release(ref: RunRef, tx: Transaction, token: UUID, *, retry_base: float, counts: bool) -> None:
    """Give the run back for another try after a wait that grows. `counts`: its data may be the reason, not an outage."""
    key = {"tenant": ref.tenant, "job": ref.job, "lease": token}
    tx.execute(RELEASE, {**key, "base": retry_base, "counts": counts})


def hold(tenant: int, tx: Transaction, job: UUID, token: UUID) -> Run:
    """Lock the run for the rest of the transaction.

    Raises:
        LeaseLost: somebody else has it, or it is over.
    """
    row = tx.execute(HOLD, {"tenant": tenant, "job": job, "lease": token}).one_or_none()
    if row is None:
        raise LeaseLost("the lease of this consolidation went to another worker")
    own = ScopeKey(tenant, row.namespace, Scope("", "", row.agent_id, row.session_id))
    return Run(row.job, row.spec, row.after, row.faults, own)


def start(tenant: int, tx: Transaction, job: UUID) -> bool:
    """Whether this is the first time that somebody works on it."""
    return tx.execute(START, {"tenant": tenant, "job": job}).scalar() is not None


def at_hand(tenant: int, tx: Transaction, job: UUID) -> ConsolidationScope | None:
    """The scope that the job works on; None where it is through with all."""
    row = tx.execute(SCOPE_AT_HAND, {"tenant": tenant, "job": job}).one_or_none()
    return None if row is None else _scope(row)


def _scope(row: Any) -> ConsolidationScope:
    return ConsolidationScope(row.id, row.namespace, Width(row.width), row.agent_id or None, row.session_id or None)


def next_slice(tenant: int, tx: Transaction, job: UUID, token: UUID, after: UUID) -> int:
    """This slice is done; the attempt that the message of the next one names. `after`: looked at so far."""
    attempt: int = tx.execute(NEXT_SLICE, {"tenant": tenant, "job": job, "lease": token, "after": after}).scalar_one()
    return attempt


def waiting(tenant: int, tx: Transaction, scope: int) -> int:
    """How many atoms wait in a consolidation scope."""
    number: int = tx.execute(WAITING, {"tenant": tenant, "scope": scope}).scalar_one()
    return number


def free(tenant: int, tx: Transaction, job: UUID, scope: int | None, *, failed: bool = False) -> None:
    """The job is through with a scope, or (None) with all that it still has."""
    tx.execute(FREE_SCOPE, {"tenant": tenant, "job": job, "scope": scope, "failed": failed})


def progress(
    tenant: int,
    tx: Transaction,
    job: UUID,
    *,
    done: int = 0,
    failed: int = 0,
    counts: Mapping[str, int] | None = None,
    error: Fault | None = None,
) -> None:
    """Atoms looked at, and what came of it; the counts are added to those of the job's result."""
    key = {"tenant": tenant, "job": job, "done": done, "failed": failed}
    tx.execute(PROGRESS, {**key, "counts": json.dumps(counts or {}), "error": fault_json(error)})


def close(tenant: int, tx: Transaction, job: UUID) -> str | None:
    """End the job; the status that it ends in, None where it was over."""
    key = {"tenant": tenant, "job": job}
    tx.execute(CLOSE_RUN, key)
    status: str | None = tx.execute(CLOSE_JOB, key).scalar()
    return status


def stop(tenant: int, tx: Transaction, job: UUID) -> bool:
    """End the run, whoever works on it: what is not applied yet never is. Whether it had begun. The job's row, and the scopes that it
    holds, are the caller's."""
    return bool(tx.execute(CLOSE_RUN, {"tenant": tenant, "job": job}).scalar())


def scope_of(tenant: int, tx: Transaction, job: UUID) -> ScopeKey:
    """What the job's request named, as far as it is known here."""
    row = tx.execute(SCOPE_OF, {"tenant": tenant, "job": job}).one()
    return ScopeKey(tenant, row.namespace, Scope("", "", row.agent_id, row.session_id))


def spec_of(tenant: int, tx: Transaction, job: UUID) -> Mapping[str, Any] | None:
    """What of the backlog the job means, its run locked; None where there is no such run."""
    row = tx.execute(HOLD_RUN, {"tenant": tenant, "job": job}).one_or_none()
    found: Mapping[str, Any] | None = None if row is None else row.spec
    return found


def reopen(tenant: int, tx: Transaction, job: UUID, waiting: int) -> None:
    """Queue a job that is over once more, for what waits in the scopes that it has claimed."""
    key = {"tenant": tenant, "job": job}
    tx.execute(REOPEN, key)
    tx.execute(REOPEN_JOB, {**key, "waiting": waiting})


def status(tenant: int, tx: Transaction, job: UUID) -> tuple[JobStatus, Fault | None]:
    """How a job stands, by its row."""
    row = tx.execute(STATUS, {"tenant": tenant, "job": job}).one()
    return JobStatus(row.status), fault(row.error)


def over(tenant: int, tx: Transaction, jobs: Collection[UUID]) -> set[UUID]:
    """Those of the jobs that are over."""
    return {row.id for row in tx.execute(OVER, {"tenant": tenant, "ids": list(jobs)})}
