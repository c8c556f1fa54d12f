"""getJob: what became of accepted work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits, strict_json
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
from infinicon.api.wire.validate import Body, check, refused

SCOPE_PARAMETERS = ("tenantId", "namespaceId", "agentId", "sessionId")


class GetJobRequest(Body):
    scope: Scope
    job_id: Annotated[str, Field(max_length=limits.IDENTIFIER_CHARACTERS), AfterValidator(check_text)]


class Progress(Body):
    """Counts of the job's episodes: finished, failed, all, and where the others are."""

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
    status: Literal["queued", "running", "completed", "failed", "cancelled"]
    created_at: Time
    updated_at: Time
    stage: Literal["extract", "embed", "index", "consolidate"] | SkipJsonSchema[None] = None
    progress: Progress
    label: str | SkipJsonSchema[None] = None
    result: Any = None
    error: MemoryApiError | SkipJsonSchema[None] = None


def parse(body: bytes) -> tuple[domain.Scope, str]:
    """Scope and job id of a POST. Raises InvalidRequest."""
    sent = check(GetJobRequest, strict_json.loads(body))
    return scope_of(sent.scope), sent.job_id


def parse_parameters(parameters: Mapping[str, str]) -> domain.Scope:
    """The scope of a GET, from its query parameters. Raises InvalidRequest."""
    for name in parameters:
        if name == "filters":
            raise refused("filters", "is not taken as a query parameter; use POST /v0/get-job")
    return scope_of(check(Scope, {name: parameters[name] for name in SCOPE_PARAMETERS if name in parameters}))


def to_wire(job: domain.Job) -> dict[str, Any]:
    progress = job.progress
    return present(
        jobId=str(job.id),
        type=job.type,
        status=job.status.value,
        createdAt=time_to_wire(job.created_at),
        updatedAt=time_to_wire(job.updated_at),
        stage=None if job.stage is None else job.stage.value,
        progress={
            "done": progress.done,
            "failed": progress.failed,
            "total": progress.total,
            "waiting": progress.waiting,
            "extract": progress.extract,
            "embed": progress.embed,
            "index": progress.index,
        },
        label=job.label,
        result=job.result,
        error=None if job.error is None else fault_to_wire(job.error),
    )
