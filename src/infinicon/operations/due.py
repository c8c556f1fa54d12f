"""What beat's tick does: consolidations that are due begin, each once for its scope and window.

When a scope is due stands in its row, so a tick asks one index, whatever number of namespaces there is. The tick claims as the sweeper,
which sees ids and times only, and begins each in a transaction of the tenant, which looks again: whoever was stopped in between comes too
late. What was missed is caught up once, since a scope is due for one window at a time.
"""

from __future__ import annotations

import logging
from uuid import UUID

from infinicon.domain import Scope, ScopeKey
from infinicon.errors import InfiniconError
from infinicon.operations.consolidate import start
from infinicon.store import schedules
from infinicon.store.database import Database, retry_conflicts
from infinicon.store.schedules import Due

log = logging.getLogger(__name__)

AT_ONCE = 500
"""Scopes of one tick: what is due beyond them is next tick's, so that dispatch does not wait for long behind it."""


def begin_due(sweeper: Database, database: Database, *, limit: int = AT_ONCE) -> list[UUID]:
    """Begin what is due; the jobs. Wake the dispatcher afterwards.

    One that cannot begin keeps nobody else from it, and is looked at again a minute later.
    """
    jobs = []
    for due in claim(sweeper, limit):
        try:
            job = begin(database, due)
        except InfiniconError as fault:
            log.warning("the consolidation of scope %s/%s does not begin: %s", due.tenant, due.scope, fault.code)
            continue
        if job is not None:
            jobs.append(job)
    return jobs


@retry_conflicts
def claim(sweeper: Database, limit: int) -> list[Due]:
    """Leave a sign of life, and claim what is due."""
    with sweeper.transaction(None) as tx:
        schedules.beat(tx)
        schedules.forget(tx)
        return schedules.claim(tx, limit)


@retry_conflicts
def begin(database: Database, due: Due) -> UUID | None:
    """The job of a window; None where somebody else was first, or nothing is due any more."""
    with database.transaction(due.tenant) as tx:
        held = schedules.hold(due.tenant, tx, due.scope, due.window_at)
        if held is None:
            return None
        if held.scope.width is not held.wanted:  # what came while the policy changed
            schedules.move(due.tenant, tx, [due.scope])
            return None
        if not schedules.open_window(due.tenant, tx, due.scope, due.window_at, held.trigger):
            return None
        named = Scope("", "", held.scope.agent_id, held.scope.session_id)
        # What comes in behind waits for a window of its own, unless it is as much as starts one at once.
        spec = {"undone": False, "floor": held.threshold}
        job = start(ScopeKey(due.tenant, held.scope.namespace, named), tx, [due.scope], held.trigger, spec)
        schedules.note(due.tenant, tx, due.scope, due.window_at, job)
    return job
