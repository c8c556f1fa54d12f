"""dispatch: waiting episodes become batches, and batches that lost their worker or their message come back.

Both run as the sweeper, which sees ids and states only. What they answer with is published after their commit; a publication that
fails costs nothing but time, because the batch stays in Postgres and is found again.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from uuid import UUID

from infinicon.domain import BatchRef, Fault, Lane, RunRef
from infinicon.errors import StageTimeout
from infinicon.store import consolidation_sweeps, listings, schedules, sweeps
from infinicon.store.database import Database, Transaction, retry_conflicts


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """How much of one lane goes at once: episodes and estimated tokens in a batch, open batches in the window."""

    episodes: int
    tokens: int
    window: int


@retry_conflicts
def dispatch(sweeper: Database, lane: Lane, limits: LaneLimits) -> list[BatchRef]:
    """Fill the lane's window: each batch goes to the tenant with the fewest open ones, and takes what it has waited for longest.

    A batch holds episodes of any number of jobs and namespaces of its tenant.
    """
    with sweeper.transaction(None) as tx:
        sweeps.take_turn(tx, lane)
        open_now, shares = sweeps.shares(tx, lane)
        return _fill(tx, lane, limits, limits.window - open_now, shares)


def _fill(tx: Transaction, lane: Lane, limits: LaneLimits, free: int, shares: list[sweeps.Share]) -> list[BatchRef]:
    heap = [(share.open, order, share.tenant) for order, share in enumerate(shares)]
    heapq.heapify(heap)
    claimed: list[BatchRef] = []
    while heap and len(claimed) < free:
        held, order, tenant = heapq.heappop(heap)
        batch = sweeps.claim(tenant, tx, lane, limits.episodes, limits.tokens)
        if batch is not None:
            claimed.append(batch)
            heapq.heappush(heap, (held + 1, order, tenant))
    return claimed


@retry_conflicts
def reconcile(sweeper: Database, *, republish_after: float, attempts: int) -> list[BatchRef]:
    """Batches to publish again: their worker died, their message got lost, or their wait is over."""
    fault = Fault.of(StageTimeout("the stage did not finish within its attempts"))
    with sweeper.transaction(None) as tx:
        sweeps.expire_leases(tx)
        sweeps.settle_exhausted(tx, attempts, fault)
        return sweeps.republish(tx, republish_after)


def purges(sweeper: Database) -> list[tuple[int, UUID]]:
    """Jobs, with their tenants, that have hidden memories still to empty. More than one process may work on one of them."""
    with sweeper.transaction(None) as tx:
        return sweeps.purges(tx)


def redactions(sweeper: Database) -> list[tuple[int, UUID]]:
    """Jobs, with their tenants, that have a secret to take out of what is stored."""
    with sweeper.transaction(None) as tx:
        return sweeps.redactions(tx)


@retry_conflicts
def consolidations(sweeper: Database, *, window: int) -> list[RunRef]:
    """Consolidations to begin with, as many as the window has room for."""
    with sweeper.transaction(None) as tx:
        return consolidation_sweeps.publish(tx, window)


@retry_conflicts
def lost_consolidations(sweeper: Database, *, republish_after: float) -> list[RunRef]:
    """Consolidations to publish again: their worker died, their message got lost, or their wait is over."""
    with sweeper.transaction(None) as tx:
        consolidation_sweeps.expire_leases(tx)
        return consolidation_sweeps.republish(tx, republish_after)


def abandon(sweeper_url: str) -> int:
    """Before everything starts anew on one machine: no lease and no message of before counts, so that nothing waits for the dead; and
    beat's first tick is not late before it can come."""
    sweeper = Database(sweeper_url, pool_size=1, vectors=False)
    try:
        with sweeper.transaction(None) as tx:
            schedules.beat(tx)
            consolidation_sweeps.abandon(tx)
            return sweeps.abandon(tx)
    finally:
        sweeper.close()


def forget(sweeper: Database, seconds: float) -> None:
    """Drop what was only needed to run: closed batches, task results, stored replies, old listings."""
    with sweeper.transaction(None) as tx:
        sweeps.forget(tx, seconds)
        listings.forget(tx)
