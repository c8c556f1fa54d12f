"""What the sweeper does across tenants: claims waiting episodes into batches, and finds batches that nobody works on.

It runs under a role of its own that sees ids and states only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import BatchRef, Fault, Lane, Stage
from infinicon.ids import new_id
from infinicon.store.database import Transaction, unscoped
from infinicon.store.jobs import fault_json

# One dispatcher at a time: claims are safe without it (SKIP LOCKED), the bound of the window is not.
TAKE_TURN = text("SELECT pg_advisory_xact_lock(:key)")
DISPATCH_LOCKS = {Lane.INTERACTIVE: 4_932_117_604, Lane.BULK: 4_932_117_605}

OPEN_BATCHES = text("""
    SELECT tenant, count(*) AS open FROM batches WHERE lane = :lane AND state = 'open' GROUP BY tenant
""")

# A loose index scan: one probe for each tenant that has something waiting, however much that is.
WAITING_TENANTS = text("""
    WITH RECURSIVE waiting AS (
        (SELECT tenant, queued_at FROM queued_episodes
         WHERE state = 'waiting' AND lane = :lane ORDER BY tenant, queued_at LIMIT 1)
        UNION ALL
        SELECT following.tenant, following.queued_at
        FROM waiting,
             LATERAL (SELECT q.tenant, q.queued_at FROM queued_episodes q
                      WHERE q.state = 'waiting' AND q.lane = :lane AND q.tenant > waiting.tenant
                      ORDER BY q.tenant, q.queued_at LIMIT 1) following
    )
    SELECT tenant, queued_at FROM waiting
""")

CLAIM = text("""
    WITH picked AS (
        SELECT tenant, episode, queued_at, tokens FROM queued_episodes
        WHERE state = 'waiting' AND lane = :lane AND tenant = :tenant
        ORDER BY queued_at, episode
        LIMIT :episodes
        FOR UPDATE SKIP LOCKED
    ), sized AS (
        SELECT tenant, episode, sum(tokens) OVER (ORDER BY queued_at, episode) - tokens AS before FROM picked
    ), claimed AS (
        UPDATE queued_episodes q SET state = 'claimed', batch = :batch
        FROM sized WHERE q.tenant = sized.tenant AND q.episode = sized.episode AND sized.before < :tokens
        RETURNING q.episode
    )
    INSERT INTO batches (tenant, id, lane, episodes, publishes)
    SELECT :tenant, :batch, :lane, count(*), 1 FROM claimed HAVING count(*) > 0
    RETURNING episodes
""")

# A batch whose lease ran out died with its worker: a fault of the try. One that was never taken has only lost its message.
LOST_LEASES = text("""
    UPDATE batches b
    SET lease = NULL, lease_until = NULL, attempt = b.attempt + 1, faults = b.faults + 1, not_before = now(), updated_at = now()
    FROM (SELECT tenant, id FROM batches
          WHERE state = 'open' AND lease IS NOT NULL AND lease_until < clock_timestamp()
          FOR UPDATE SKIP LOCKED) lost
    WHERE b.tenant = lost.tenant AND b.id = lost.id
    RETURNING b.tenant, b.id
""")

ABANDON = text("""
    UPDATE batches SET lease = NULL, lease_until = NULL, attempt = attempt + 1, not_before = now(), updated_at = now()
    WHERE state = 'open'
""")

# Published again after a wait that doubles with each publication, so that a long queue does not fill up with copies.
REPUBLISH = text("""
    UPDATE batches b SET published_at = clock_timestamp(), publishes = least(b.publishes + 1, 1000)
    FROM (SELECT tenant, id FROM batches
          WHERE state = 'open' AND lease IS NULL AND not_before <= now()
            AND (published_at <= now() - make_interval(secs => :after * power(2, least(greatest(publishes - 1, 0), 5)))
                 OR published_at < not_before)
          ORDER BY created_at LIMIT :limit
          FOR UPDATE SKIP LOCKED) lost
    WHERE b.tenant = lost.tenant AND b.id = lost.id
    RETURNING b.tenant, b.id, b.attempt, b.stage, b.lane
""")

EXHAUSTED = text("""
    SELECT tenant, id, lane, stage, episodes FROM batches
    WHERE state = 'open' AND lease IS NULL AND faults >= CASE WHEN episodes > 1 THEN 2 ELSE :attempts END
    ORDER BY tenant, id LIMIT 100
    FOR UPDATE SKIP LOCKED
""")

# The halves have no message yet, and must not wait as long as a lost one does.
SPLIT = text("""
    WITH halves AS (
        SELECT episode, ntile(2) OVER (ORDER BY episode) AS half FROM queued_episodes
        WHERE tenant = :tenant AND batch = :batch AND state = 'claimed'
    ), moved AS (
        UPDATE queued_episodes q SET batch = CASE halves.half WHEN 1 THEN :first ELSE :second END
        FROM halves WHERE q.tenant = :tenant AND q.episode = halves.episode
        RETURNING q.batch
    )
    INSERT INTO batches (tenant, id, lane, stage, episodes, faults, published_at)
    SELECT :tenant, m.batch, :lane, 'extract', count(*), CASE WHEN count(*) > 1 THEN 1 ELSE 0 END, '-infinity'
    FROM moved m GROUP BY m.batch
""")

CLOSE = text("""
    UPDATE batches SET state = 'closed', updated_at = now() WHERE tenant = :tenant AND id = :batch
""")

UNSTAGE = text("DELETE FROM staged_vectors WHERE tenant = :tenant AND batch = :batch")

FAIL_BATCH = text("""
    WITH failed AS (
        UPDATE queued_episodes SET state = 'failed', batch = NULL, error = CAST(:error AS jsonb)
        WHERE tenant = :tenant AND batch = :batch AND state = 'claimed'
        RETURNING episode, job
    ), marked AS (
        UPDATE memories m SET status = 'failed', updated_at = now()
        FROM failed WHERE m.tenant = :tenant AND m.id = failed.episode AND m.status = 'pending'
    ), counted AS (
        SELECT job, count(*) AS number FROM failed GROUP BY job
    )
    UPDATE jobs j
    SET failed = j.failed + c.number, error = CAST(:error AS jsonb), updated_at = now(),
        status = CASE WHEN j.cancelled THEN j.status WHEN j.done + j.failed + c.number < j.total THEN 'running' ELSE 'failed' END
    FROM counted c WHERE j.tenant = :tenant AND j.id = c.job
""")

PURGES = text("""
    SELECT tenant, id FROM jobs WHERE type IN ('tombstone', 'erase') AND status IN ('queued', 'running') ORDER BY tenant, id LIMIT 100
""")

# One that somebody works on has moved just now.
REDACTIONS = text("""
    SELECT tenant, id FROM jobs
    WHERE type = 'redact' AND (status = 'queued' OR (status = 'running' AND updated_at < now() - interval '5 seconds'))
    ORDER BY tenant, id LIMIT 100
""")

# The oldest thousand say where to look; whatever is beyond them is found by the next tick.
EXPIRED = text("""
    SELECT DISTINCT tenant, namespace FROM (
        SELECT tenant, namespace FROM memories
        WHERE expires_at IS NOT NULL AND status <> 'tombstoned' AND expires_at <= now()
        ORDER BY expires_at LIMIT :limit) AS oldest
    ORDER BY tenant, namespace
""")

END_AUDITS = text(
    "UPDATE tombstones SET kept = NULL, kept_until = NULL WHERE kept_until IS NOT NULL AND kept_until <= now()"
)

FORGET_BATCHES = text("""
    DELETE FROM batches WHERE state = 'closed' AND updated_at < now() - make_interval(secs => :seconds)
""")
# A task whose worker died is never done, and goes by the time of its last change.
FORGET_RESULTS = text("""
    DELETE FROM celery.task_results
    WHERE done_at < now() - make_interval(secs => :seconds)
       OR (done_at IS NULL AND updated_at < now() - make_interval(secs => :seconds))
""")
# One that still has failed episodes can be tried again, and stays. Namespaces with a time of their own are looked at one by one, so that
# each statement reads what is due by its index, and no more.
FORGET_JOBS = text("""
    DELETE FROM jobs j USING (
        SELECT d.tenant, d.id FROM jobs d
        WHERE d.status IN ('completed', 'failed', 'cancelled') AND d.updated_at < now() - make_interval(secs => :seconds)
          AND NOT EXISTS (SELECT FROM policies p
                          WHERE p.tenant = d.tenant AND p.namespace = d.namespace AND p.job_retention_seconds IS NOT NULL)
          AND NOT EXISTS (SELECT FROM queued_episodes q WHERE q.tenant = d.tenant AND q.job = d.id)
        ORDER BY d.updated_at LIMIT 5000) old
    WHERE j.tenant = old.tenant AND j.id = old.id
""")
FORGET_JOBS_BY_POLICY = text("""
    DELETE FROM jobs j USING (
        SELECT d.tenant, d.id
        FROM policies p,
             LATERAL (SELECT o.tenant, o.id FROM jobs o
                      WHERE o.tenant = p.tenant AND o.namespace = p.namespace AND o.status IN ('completed', 'failed', 'cancelled')
                        AND o.updated_at < now() - make_interval(secs => p.job_retention_seconds)
                        AND NOT EXISTS (SELECT FROM queued_episodes q WHERE q.tenant = o.tenant AND q.job = o.id)
                      ORDER BY o.updated_at LIMIT 5000) d
        WHERE p.job_retention_seconds IS NOT NULL
        LIMIT 5000) old
    WHERE j.tenant = old.tenant AND j.id = old.id
""")
FORGET_REPLIES = text("""
    DELETE FROM idempotency WHERE created_at < now() - make_interval(secs => :seconds)
""")


@dataclass(frozen=True, slots=True)
class Share:
    """What one tenant has in one lane: open batches, and whether something waits."""

    tenant: int
    open: int


@unscoped("the window is one for all tenants")
def take_turn(tx: Transaction, lane: Lane) -> None:
    """Wait until no other dispatcher fills the lane's window; the turn ends with the transaction.

    It waits instead of giving up: the other one may have looked before the caller's rows were there.
    """
    tx.execute(TAKE_TURN, {"key": DISPATCH_LOCKS[lane]})


@unscoped("fairness compares tenants")
def shares(tx: Transaction, lane: Lane) -> tuple[int, list[Share]]:
    """Open batches in the lane, and the tenants that wait, fewest open batches first, then longest waiting."""
    held = {row.tenant: row.open for row in tx.execute(OPEN_BATCHES, {"lane": lane})}
    waiting = tx.execute(WAITING_TENANTS, {"lane": lane}).all()
    ordered = sorted(waiting, key=lambda row: (held.get(row.tenant, 0), row.queued_at))
    return sum(held.values()), [Share(row.tenant, held.get(row.tenant, 0)) for row in ordered]


def claim(tenant: int, tx: Transaction, lane: Lane, episodes: int, tokens: int) -> BatchRef | None:
    """Claim the tenant's longest waiting episodes as one batch, up to a number and a sum of tokens; None where nothing is free."""
    batch = new_id()
    row = tx.execute(
        CLAIM, {"tenant": tenant, "lane": lane, "episodes": episodes, "tokens": tokens, "batch": batch}
    ).one_or_none()
    return None if row is None else BatchRef(tenant, batch, 1, Stage.EXTRACT, lane)


@unscoped("leases of all tenants run out alike")
def expire_leases(tx: Transaction) -> int:
    """Take leases back from workers that died or hang."""
    return len(tx.execute(LOST_LEASES).all())


@unscoped("a new start concerns all tenants")
def abandon(tx: Transaction) -> int:
    """Take back every lease and every message, when all workers and the broker are known to be new; no try is held against a batch."""
    return tx.execute(ABANDON).rowcount


@unscoped("messages of all tenants get lost alike")
def republish(tx: Transaction, after: float, limit: int = 200) -> list[BatchRef]:
    """Batches that wait for a message: due for another attempt, or published at least `after` seconds ago and never taken."""
    rows = tx.execute(REPUBLISH, {"after": after, "limit": limit})
    return [BatchRef(row.tenant, row.id, row.attempt, Stage(row.stage), Lane(row.lane)) for row in rows]


@unscoped("batches of all tenants are capped alike")
def settle_exhausted(tx: Transaction, attempts: int, fault: Fault) -> int:
    """Halve batches that died repeatedly, so that the one bad episode ends up alone; fail one that is alone and has no tries left."""
    rows = tx.execute(EXHAUSTED, {"attempts": attempts}).all()
    for row in rows:
        key = {"tenant": row.tenant, "batch": row.id}
        if row.episodes > 1:
            tx.execute(SPLIT, {**key, "lane": row.lane, "first": new_id(), "second": new_id()})
        else:
            staged = replace(fault, details={**fault.details, "stage": row.stage})
            tx.execute(FAIL_BATCH, {**key, "error": fault_json(staged)})
        tx.execute(UNSTAGE, key)
        tx.execute(CLOSE, key)
    return len(rows)


@unscoped("time passes for all tenants alike")
def expired(tx: Transaction, limit: int) -> list[tuple[int, int]]:
    """Namespaces, with their tenants, that hold something whose time is over; those first that have waited longest."""
    return [(row.tenant, row.namespace) for row in tx.execute(EXPIRED, {"limit": limit})]


@unscoped("audits of all tenants end alike")
def end_audits(tx: Transaction) -> int:
    """Forget content that was kept for an audit until now."""
    return tx.execute(END_AUDITS).rowcount


@unscoped("deletions of all tenants go on alike")
def purges(tx: Transaction) -> list[tuple[int, UUID]]:
    """Open jobs that empty hidden memories."""
    return [(row.tenant, row.id) for row in tx.execute(PURGES)]


@unscoped("redactions of all tenants go on alike")
def redactions(tx: Transaction) -> list[tuple[int, UUID]]:
    """Open jobs that take a secret out of what is stored."""
    return [(row.tenant, row.id) for row in tx.execute(REDACTIONS)]


@unscoped("each job says whose it is")
def forget_jobs(tx: Transaction, seconds: float) -> int:
    """Drop jobs that have been over for longer than their namespace's policy says, or than `seconds` where it says nothing."""
    return tx.execute(FORGET_JOBS, {"seconds": seconds}).rowcount + tx.execute(FORGET_JOBS_BY_POLICY).rowcount


@unscoped("retention is the same for all")
def forget(tx: Transaction, seconds: float) -> None:
    """Drop closed batches, finished task results and stored replies that are older than `seconds`."""
    for statement in (FORGET_BATCHES, FORGET_RESULTS, FORGET_REPLIES):
        tx.execute(statement, {"seconds": seconds})
