"""Work that is accepted, and what carries it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from infinicon.domain.fault import Fault
from infinicon.domain.kinds import JobStatus, Json, Lane, Stage


@dataclass(frozen=True, slots=True)
class Progress:
    """Episodes of a job: finished, failed, all, and where the others are."""

    done: int
    failed: int
    total: int
    waiting: int = 0
    extract: int = 0
    embed: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    id: UUID
    type: str
    status: JobStatus
    created_at: datetime
    updated_at: datetime
    progress: Progress
    stage: Stage | None = None
    label: str | None = None
    error: Fault | None = None
    result: Json = None


@dataclass(frozen=True, slots=True)
class BatchRef:
    """What a Celery message carries: ids only. `attempt` counts from 1, for the stage that the batch is at."""

    tenant: int
    batch: UUID
    attempt: int
    stage: Stage
    lane: Lane
