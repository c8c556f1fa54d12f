"""What the sweeper does for consolidations of all tenants: finds runs that a message is due for, and runs whose worker died.

It runs under a role of its own that sees ids, states and times only.
"""

from __future__ import annotations

from sqlalchemy import text

from infinicon.domain import RunRef
from infinicon.store.database import Transaction, unscoped

LOST_LEASES = text("""
    UPDATE consolidation_runs r
    SET lease = NULL, lease_until = NULL, attempt = r.attempt + 1, faults = r.faults + 1, not_before = now(), updated_at = now()
    FROM (SELECT tenant, job FROM consolidation_runs
          WHERE state = 'open' AND publishes > 0 AND lease IS NOT NULL AND lease_until < clock_timestamp()
          FOR UPDATE SKIP LOCKED) lost
    WHERE r.tenant = lost.tenant AND r.job = lost.job
""")

# Under way already: due for another try, or their message was lost; as batches, with a wait that doubles.
REPUBLISH = text("""
    UPDATE consolidation_runs r SET published_at = clock_timestamp(), publishes = least(r.publishes + 1, 1000)
    FROM (SELECT tenant, job FROM consolidation_runs
          WHERE state = 'open' AND publishes > 0 AND lease IS NULL AND not_before <= now()
            AND (published_at <= now() - make_interval(secs => :after * power(2, least(greatest(publishes - 1, 0), 5)))
                 OR published_at < not_before)
          ORDER BY created_at LIMIT :limit
          FOR UPDATE SKIP LOCKED) lost
    WHERE r.tenant = lost.tenant AND r.job = lost.job
    RETURNING r.tenant, r.job, r.attempt
""")

# Those that somebody asked for come first; however many wait, as many are at work as the window holds.
PUBLISH = text("""
    UPDATE consolidation_runs r SET published_at = clock_timestamp(), publishes = 1
    FROM (SELECT tenant, job FROM consolidation_runs
          WHERE state = 'open' AND publishes = 0
          ORDER BY urgent DESC, created_at
          LIMIT greatest(:window - (SELECT count(*) FROM consolidation_runs WHERE state = 'open' AND publishes > 0), 0)
          FOR UPDATE SKIP LOCKED) new
    WHERE r.tenant = new.tenant AND r.job = new.job
    RETURNING r.tenant, r.job, r.attempt
""")

ABANDON = text("""
    UPDATE consolidation_runs
    SET lease = NULL, lease_until = NULL, attempt = attempt + 1, not_before = now(), updated_at = now()
    WHERE state = 'open' AND publishes > 0
""")


@unscoped("leases of all tenants run out alike")
def expire_leases(tx: Transaction) -> int:
    """Take leases back from workers that died or hang."""
    return tx.execute(LOST_LEASES).rowcount


@unscoped("messages of all tenants get lost alike")
def republish(tx: Transaction, after: float, limit: int = 200) -> list[RunRef]:
    """Runs that are under way and wait for a message: due for another try, or published `after` seconds ago and never taken."""
    return [RunRef(row.tenant, row.job, row.attempt) for row in tx.execute(REPUBLISH, {"after": after, "limit": limit})]


@unscoped("the window is one for all tenants")
def publish(tx: Transaction, window: int) -> list[RunRef]:
    """Runs that nobody has been told of, as many as there is room for."""
    return [RunRef(row.tenant, row.job, row.attempt) for row in tx.execute(PUBLISH, {"window": window})]


@unscoped("a new start concerns all tenants")
def abandon(tx: Transaction) -> int:
    """Take back every lease and every message, when all workers and the broker are known to be new."""
    return tx.execute(ABANDON).rowcount
