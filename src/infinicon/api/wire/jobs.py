"""Jobs: what became of accepted work, one or many, and what is done about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire import parameters
from infinicon.api.wire.shared import (
    MemoryApiError,
    Scope,
    Time,
    check_text,
    fault_to_wire,
    present,
    scope_of,
    time_to_wire,
)
from infinicon.api.wire.validate import Body, check

JobStatusName = Literal["queued", "running", "completed", "failed", "cancelled"]


class GetJobRequest(Body):
    scope: Scope
    job_id: Annotated[str, Field(max_length=limits.IDENTIFIER_CHARACTERS), AfterValidator(check_text)]
    """From the reply of ingest."""


class Progress(Body):
    """Counts of the job's episodes: finished, failed, all, and where the others are. Of a reindex they are its slices, of a consolidation
    the memories that it looks at, of a tombstone the memories that it empties, of an erasure the memories that it takes by themselves:
    first the episodes, then what is left of what was derived. What a cancel took out is in `total` alone."""

    done: int
    failed: int
    total: int
    waiting: int
    extract: int
    embed: int
    index: int


class Job(Body):
    job_id: str
    type: str
    """What it is about: `ingest`, `reindex`, `consolidate`, `tombstone`, `erase` or `redact`."""
    status: JobStatusName
    created_at: Time
    updated_at: Time
    stage: Literal["extract", "embed", "index", "consolidate"] | SkipJsonSchema[None] = None
    """The stage that is running, where one is."""
    progress: Progress
    label: str | SkipJsonSchema[None] = None
    """As the request gave it."""
    result: Any = None
    """What it came to, once it is over; its fields depend on the type."""
    error: MemoryApiError | SkipJsonSchema[None] = None
    """Of a job that failed or was cancelled."""


class JobsByStatus(Body):
    queued: int
    running: int
    completed: int
    failed: int
    cancelled: int


class JobsSummary(Body):
    """All jobs that fit the filter, on whatever page: how many in each status, and their progress added up."""

    jobs: JobsByStatus
    progress: Progress


class JobsReply(Body):
    jobs: list[Job]
    cursor: str | SkipJsonSchema[None] = None
    """There are more."""
    summary: JobsSummary


class ChangeJobRequest(Body):
    scope: Scope


class ReindexRequest(Body):
    scope: Scope
    """Of a whole namespace: agentId, sessionId and filters must be absent."""


class ReindexReply(Body):
    job_id: str
    """Of the reindex that was started, or of the one that runs already."""
    status: JobStatusName


class Wanted(Body):
    """The filter of a list."""

    status: JobStatusName | None = None
    label: (
        Annotated[str, Field(min_length=1, max_length=limits.LABEL_CHARACTERS), AfterValidator(check_text)] | None
    ) = None
    type: Annotated[str, Field(min_length=1, max_length=limits.LABEL_CHARACTERS), AfterValidator(check_text)] | None = (
        None
    )


def parse(body: bytes) -> tuple[domain.Scope, str]:
    """Scope and job id of a POST. Raises InvalidRequest."""
    sent = check(GetJobRequest, strict_json.loads(body))
    return scope_of(sent.scope), sent.job_id


def parse_change(body: bytes) -> domain.Scope:
    """The scope of a POST that says no more. Raises InvalidRequest."""
    return scope_of(check(ChangeJobRequest, strict_json.loads(body)).scope)


def parse_list(sent: Mapping[str, str]) -> domain.JobsRequest:
    """A list's query parameters. Raises InvalidRequest."""
    wanted = check(Wanted, {name: sent[name] for name in ("status", "label", "type") if name in sent}, "parameters")
    status = None if wanted.status is None else domain.JobStatus(wanted.status)
    return domain.JobsRequest(
        parameters.scope(sent),
        domain.JobFilter(status, wanted.label, wanted.type),
        parameters.limit(sent, usual=limits.JOBS_DEFAULT, most=limits.JOBS),
        parameters.cursor(sent),
    )


def page_to_wire(page: domain.JobsPage) -> dict[str, Any]:
    summary = {
        "jobs": {status.value: number for status, number in page.summary.jobs.items()},
        "progress": _progress_to_wire(page.summary.progress),
    }
    return present(jobs=[to_wire(job) for job in page.jobs], cursor=page.cursor, summary=summary)


def reindex_to_wire(job: domain.Job) -> dict[str, Any]:
    return {"jobId": str(job.id), "status": job.status.value}


def to_wire(job: domain.Job) -> dict[str, Any]:
    return present(
        jobId=str(job.id),
        type=job.type,
        status=job.status.value,
        createdAt=time_to_wire(job.created_at),
        updatedAt=time_to_wire(job.updated_at),
        stage=None if job.stage is None else job.stage.value,
        progress=_progress_to_wire(job.progress),
        label=job.label,
        result=job.result,
        error=None if job.error is None else fault_to_wire(job.error),
    )


def _progress_to_wire(progress: domain.Progress) -> dict[str, int]:
    return {
        "done": progress.done,
        "failed": progress.failed,
        "total": progress.total,
        "waiting": progress.waiting,
        "extract": progress.extract,
        "embed": progress.embed,
        "index": progress.index,
    }
