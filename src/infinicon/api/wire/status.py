"""How the parts of a server are, for people who look after it."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import SkipJsonSchema

import infinicon
from infinicon.api.wire.shared import present
from infinicon.api.wire.validate import Body
from infinicon.operations.status import DatabaseStatus, SchedulerStatus, WorkStatus


class DatabaseReply(Body):
    version: str
    pgvector: str | SkipJsonSchema[None] = None
    schema_version: str
    expected_schema_version: str
    milliseconds: float
    clock_skew_seconds: float
    """The database's clock against the API's."""


class BrokerReply(Body):
    ok: bool


class EncoderReply(Body):
    ok: bool
    model: str | SkipJsonSchema[None] = None


class SchedulerReply(Body):
    ok: bool
    """Whether beat's tick comes on time: without it no schedule, threshold or idle time starts a consolidation."""
    age_seconds: float | SkipJsonSchema[None] = None
    """Since it came last; absent where it never did."""


class LaneReply(Body):
    lane: str
    waiting: int
    claimed: int
    failed: int
    oldest_seconds: float
    """How long the longest pending episode has been pending."""


class WorkReply(Body):
    lanes: list[LaneReply]
    """Those in which the tenant has episodes that are pending or failed."""
    troubled_batches: int
    """Open batches that died before, or that were published again and again and never taken."""
    uncounted_entries: bool
    """Whether there are entries that INFINICON_BUDGET_COUNTER has not counted: budgets count them when they read, until a reindex."""


class StatusReply(Body):
    version: str
    database: DatabaseReply
    broker: BrokerReply
    workers: dict[str, int]
    """Processes that answered, by kind."""
    encoder: EncoderReply
    scheduler: SchedulerReply
    work: WorkReply


def to_wire(
    database: DatabaseStatus,
    work: WorkStatus,
    scheduler: SchedulerStatus,
    *,
    broker: bool,
    workers: dict[str, int],
    model: str | None,
) -> dict[str, Any]:
    return {
        "version": infinicon.__version__,
        "database": present(
            version=database.version,
            pgvector=database.pgvector,
            schemaVersion=database.schema,
            expectedSchemaVersion=database.expected_schema,
            milliseconds=round(database.milliseconds, 1),
            clockSkewSeconds=round(database.skew_seconds, 3),
        ),
        "broker": {"ok": broker},
        "workers": workers,
        "encoder": present(ok=model is not None, model=model),
        "scheduler": present(
            ok=not scheduler.late,
            ageSeconds=None if scheduler.age_seconds is None else round(scheduler.age_seconds, 1),
        ),
        "work": {
            "lanes": [
                {
                    "lane": lane.lane,
                    "waiting": lane.waiting,
                    "claimed": lane.claimed,
                    "failed": lane.failed,
                    "oldestSeconds": round(lane.oldest_seconds, 1),
                }
                for lane in work.lanes
            ],
            "troubledBatches": work.troubled_batches,
            "uncountedEntries": work.uncounted_entries,
        },
    }
