"""Work that is accepted, and what carries it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from infinicon.domain.fault import Fault
from infinicon.domain.kinds import JobStatus, Json, Lane, Stage
from infinicon.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class Progress:
    """Episodes of a job (of a reindex: its slices): finished, failed, all, and where the others are."""

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
class JobFilter:
    """Which jobs of a scope are meant. `label` and `type` are whole names; None means any."""

    status: JobStatus | None = None
    label: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class JobsRequest:
    """Jobs of a scope, the newest first, behind `cursor`."""

    scope: Scope
    wanted: JobFilter = JobFilter()
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class JobsSummary:
    """Jobs by status, and the progress of all of them together."""

    jobs: Mapping[JobStatus, int]
    progress: Progress


@dataclass(frozen=True, slots=True)
class JobsPage:
    """`summary` is of all jobs that fit the filter, on whatever page. `cursor`: there are more."""

    jobs: Sequence[Job]
    cursor: str | None
    summary: JobsSummary


@dataclass(frozen=True, slots=True)
class BatchRef:
    """What a Celery message carries: ids only. `attempt` counts from 1, for the stage that the batch is at."""

    tenant: int
    batch: UUID
    attempt: int
    stage: Stage
    lane: Lane
