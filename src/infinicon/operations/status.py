"""What `infinicon doctor` asks a server: do its parts answer, do they fit together, and does the caller's work move?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from infinicon.domain import DEFAULT_TOKENIZER, Caller, Permission
from infinicon.operations import scopes
from infinicon.store import entries, schedules, status
from infinicon.store.database import Database
from infinicon.store.migrate import HEAD


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """`skew_seconds`: the database's clock against this process's. `expected_schema` is this release's."""

    version: str
    pgvector: str | None
    schema: str
    expected_schema: str
    milliseconds: float
    skew_seconds: float


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """The caller's tenant: lanes with something in them, open batches in trouble, and whether a budget has to count entries itself."""

    lanes: Sequence[status.LaneStatus]
    troubled_batches: int
    uncounted_entries: bool


@dataclass(frozen=True, slots=True)
class SchedulerStatus:
    """`age_seconds`: since beat's tick last looked for consolidations that are due; None where it never did."""

    age_seconds: float | None
    late: bool


LATE_TICKS = 3
LATE_SECONDS = 15.0
"""A tick that is so late does not come: beat, the broker or the cpu workers are away."""


def look(
    database: Database, caller: Caller, tenant_id: str, tick: float, counter: str = DEFAULT_TOKENIZER
) -> tuple[DatabaseStatus, WorkStatus, SchedulerStatus]:
    """Ask Postgres about itself, about the tenant's work, and whether somebody counts the time, every `tick` seconds. `counter` is
    that of budgets.

    Raises:
        Unauthorized: the key may not read jobs, or belongs to another tenant.
        Unavailable: Postgres does not answer.
    """
    scopes.allow_tenant(caller, tenant_id, Permission.JOBS)
    began = time.perf_counter()
    with database.transaction(caller.tenant) as tx:
        found = status.server(tx)
        milliseconds = (time.perf_counter() - began) * 1000
        skew = (found.clock - datetime.now(UTC)).total_seconds()
        uncounted = entries.uncounted(caller.tenant, tx, entries.counter_number(tx, counter))
        work = WorkStatus(status.lanes(caller.tenant, tx), status.troubled(caller.tenant, tx), uncounted)
        age = schedules.age(tx)
    scheduler = SchedulerStatus(age, late=age is None or age > max(LATE_TICKS * tick, LATE_SECONDS))
    return DatabaseStatus(found.version, found.pgvector, found.schema, HEAD, milliseconds, skew), work, scheduler
