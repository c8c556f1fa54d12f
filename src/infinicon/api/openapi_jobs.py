"""The operations on jobs in the OpenAPI document, but for the reading of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from infinicon.api import limits
from infinicon.api.openapi_parts import SCOPE, WITH_BODY, operation, page_parameters, parameter, scope_parameters
from infinicon.api.wire.jobs import ChangeJobRequest, Job, JobsReply, JobStatusName, ReindexReply, ReindexRequest
from infinicon.api.wire.validate import Body
from infinicon.domain import Permission

MODELS: Sequence[type[Body]] = (JobsReply, ChangeJobRequest, ReindexRequest, ReindexReply)

JOB_ID = parameter("jobId", "path", "From the reply of ingest.", required=True, longest=limits.IDENTIFIER_CHARACTERS)
STATUS: dict[str, Any] = {
    "name": "status",
    "in": "query",
    "required": False,
    "description": "Only jobs that getJob shows in this status.",
    "schema": {"type": "string", "enum": list(get_args(JobStatusName))},
}

LIST_JOBS = operation(
    "listJobs",
    "The jobs of a scope, the newest first, and all that fit the filter summed up",
    reply=JobsReply,
    permission=Permission.JOBS,
    statuses=(400, 401, 403, 429, 500, 503),
    parameters=[
        *scope_parameters(),
        STATUS,
        parameter(
            "label", "query", "Only jobs with exactly this label.", required=False, longest=limits.LABEL_CHARACTERS
        ),
        parameter(
            "type",
            "query",
            "Only jobs of this type: ingest, reindex, …",
            required=False,
            longest=limits.LABEL_CHARACTERS,
        ),
        *page_parameters(limits.JOBS_DEFAULT, limits.JOBS),
    ],
)
CANCEL_JOB = operation(
    "cancelJob",
    "End a job: nothing more of it becomes visible; one that is over stays as it is. An erasure needs the permission tombstone, too",
    request=ChangeJobRequest,
    reply=Job,
    permission=Permission.JOBS,
    statuses=(*WITH_BODY, 404),
    example={"scope": SCOPE},
    parameters=[JOB_ID],
)
RETRY_JOB = operation(
    "retryJob",
    "Queue a job's failed and cancelled episodes again; one that has none stays as it is. An erasure that was cancelled goes on, and needs "
    "the permission tombstone, too",
    request=ChangeJobRequest,
    reply=Job,
    permission=Permission.JOBS,
    statuses=(*WITH_BODY, 404),
    example={"scope": SCOPE},
    parameters=[JOB_ID],
)
REINDEX = operation(
    "reindex",
    "Derive a namespace's index anew from its memories, while query goes on answering",
    request=ReindexRequest,
    reply=ReindexReply,
    permission=Permission.ADMIN,
    statuses=(*WITH_BODY, 404),
    example={"scope": SCOPE},
)
