"""retention: jobs and events go when their namespace's policy, or the house, keeps them no longer. Memories have expiresAt (expire)."""

from __future__ import annotations

from infinicon.operations import events
from infinicon.store import sweeps
from infinicon.store.database import Database


def end_retention(sweeper: Database, job_seconds: float, event_seconds: float) -> tuple[int, int]:
    """Forget jobs that have been over for too long, and events that are too old, a bounded number; how many of each."""
    with sweeper.transaction(None) as tx:
        over = sweeps.forget_jobs(tx, job_seconds)
    return over, events.expire(sweeper, event_seconds)
