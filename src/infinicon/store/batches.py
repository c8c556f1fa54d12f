"""Batches: leases with fencing. Whoever holds the lease writes; everyone else's writes are rolled back.

Time is the database's: `now()` is the start of a transaction there, so workers with wrong clocks agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import BatchRef, Fault, Stage
from infinicon.errors import LeaseLost
from infinicon.store.database import Transaction
from infinicon.store.jobs import fault_json

# A message for another stage or an older attempt finds nothing, and so does the second copy of a message while the first one works.
LEASE = text("""
    UPDATE batches
    SET lease = :lease, lease_until = clock_timestamp() + make_interval(secs => :seconds), updated_at = now()
    WHERE tenant = :tenant AND id = :batch AND state = 'open' AND stage = :stage AND attempt = :attempt
      AND (lease IS NULL OR lease_until < clock_timestamp())
    RETURNING id
""")

RENEW = text("""
    UPDATE batches SET lease_until = clock_timestamp() + make_interval(secs => :seconds)
    WHERE tenant = :tenant AND id = :batch AND state = 'open' AND lease = :lease
    RETURNING id
""")

HOLD = text("""
    SELECT id FROM batches
    WHERE tenant = :tenant AND id = :batch AND state = 'open' AND lease = :lease
    FOR UPDATE
""")

ADVANCE = text("""
    UPDATE batches
    SET stage = :stage, attempt = 1, faults = 0, lease = NULL, lease_until = NULL, published_at = now(), publishes = 1,
        updated_at = now()
    WHERE tenant = :tenant AND id = :batch AND lease = :lease
""")

CLOSE = text("""
    UPDATE batches SET state = 'closed', lease = NULL, lease_until = NULL, updated_at = now()
    WHERE tenant = :tenant AND id = :batch AND lease = :lease
""")

RELEASE = text("""
    UPDATE batches
    SET lease = NULL, lease_until = NULL, attempt = attempt + 1, faults = faults + CAST(:counts AS integer),
        not_before = now() + make_interval(secs => least(60, :base * power(2, least(attempt - 1, 6)))), updated_at = now()
    WHERE tenant = :tenant AND id = :batch AND state = 'open' AND lease = :lease
""")

MARK_RUNNING = text("""
    UPDATE jobs SET status = 'running', updated_at = now()
    WHERE tenant = :tenant AND status = 'queued'
      AND id IN (SELECT j.id FROM jobs j
                 WHERE j.tenant = :tenant AND j.status = 'queued'
                   AND j.id IN (SELECT q.job FROM queued_episodes q WHERE q.tenant = :tenant AND q.batch = :batch)
                 ORDER BY j.id FOR UPDATE)
""")

# Cancelled jobs' episodes leave the batch before the stage starts. A cancel takes them out itself; this is for what it could not see.
DROP_CANCELLED = text("""
    WITH dropped AS (
        UPDATE queued_episodes q SET state = 'cancelled', batch = NULL, error = j.error
        FROM jobs j
        WHERE q.tenant = :tenant AND q.batch = :batch AND j.tenant = q.tenant AND j.id = q.job AND j.cancelled
        RETURNING q.episode
    )
    UPDATE memories m SET status = 'failed', updated_at = now()
    FROM dropped WHERE m.tenant = :tenant AND m.id = dropped.episode AND m.status = 'pending'
""")

FAIL_EPISODES = text("""
    WITH failing AS (
        SELECT e.id, e.error FROM unnest(CAST(:ids AS uuid[]), CAST(:errors AS text[])) AS e (id, error)
    ), queued AS (
        UPDATE queued_episodes q SET state = 'failed', batch = NULL, error = f.error::jsonb
        FROM failing f
        WHERE q.tenant = :tenant AND q.batch = :batch AND q.episode = f.id
        RETURNING q.episode, q.job
    ), marked AS (
        UPDATE memories m SET status = 'failed', updated_at = now()
        FROM queued WHERE m.tenant = :tenant AND m.id = queued.episode AND m.status = 'pending'
    )
    SELECT episode, job FROM queued
""")


def lease(ref: BatchRef, tx: Transaction, token: UUID, seconds: float) -> bool:
    """Take the batch for this stage and attempt; False where it is taken, done, cancelled, or has moved on."""
    tenant = ref.tenant
    found = tx.execute(
        LEASE,
        {
            "tenant": tenant,
            "batch": ref.batch,
            "stage": ref.stage,
            "attempt": ref.attempt,
            "lease": token,
            "seconds": seconds,
        },
    ).scalar()
    if found is None:
        return False
    if ref.stage is Stage.EXTRACT:
        tx.execute(MARK_RUNNING, {"tenant": tenant, "batch": ref.batch})
    tx.execute(DROP_CANCELLED, {"tenant": tenant, "batch": ref.batch})
    return True


def renew(tenant: int, tx: Transaction, batch: UUID, token: UUID, seconds: float) -> bool:
    """Heartbeat: hold the lease for `seconds` more; False when it is lost."""
    return (
        tx.execute(RENEW, {"tenant": tenant, "batch": batch, "lease": token, "seconds": seconds}).scalar() is not None
    )


def hold(tenant: int, tx: Transaction, batch: UUID, token: UUID) -> None:
    """Lock the batch for the rest of the transaction.

    Raises:
        LeaseLost: somebody else has it now.
    """
    if tx.execute(HOLD, {"tenant": tenant, "batch": batch, "lease": token}).scalar() is None:
        raise LeaseLost("the lease of this batch went to another worker")


def advance(tenant: int, tx: Transaction, batch: UUID, token: UUID, stage: Stage) -> None:
    """The stage is done: on to the next one, free for whoever takes it."""
    tx.execute(ADVANCE, {"tenant": tenant, "batch": batch, "lease": token, "stage": stage})


def close(tenant: int, tx: Transaction, batch: UUID, token: UUID) -> None:
    """All stages are done."""
    tx.execute(CLOSE, {"tenant": tenant, "batch": batch, "lease": token})


def release(tenant: int, tx: Transaction, batch: UUID, token: UUID, *, retry_base: float, counts: bool) -> None:
    """Give the batch back for another attempt after a wait that doubles. `counts`: its data may be the reason, not an outage."""
    tx.execute(RELEASE, {"tenant": tenant, "batch": batch, "lease": token, "base": retry_base, "counts": counts})


def fail_episodes(tenant: int, tx: Transaction, batch: UUID, faults: Mapping[UUID, Fault]) -> dict[UUID, UUID]:
    """Take failing episodes out of their batch and mark them; the answer maps each to its job. Their jobs' counters are the caller's."""
    if not faults:
        return {}
    ids = sorted(faults)
    rows = tx.execute(
        FAIL_EPISODES,
        {"tenant": tenant, "batch": batch, "ids": ids, "errors": [fault_json(faults[episode]) for episode in ids]},
    )
    return {row.episode: row.job for row in rows}
