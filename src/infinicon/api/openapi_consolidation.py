"""Consolidation in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Sequence

from infinicon.api.openapi_jobs import JOB_ID
from infinicon.api.openapi_parts import SCOPE, WITH_BODY, operation
from infinicon.api.wire.consolidate import ConsolidateReply, ConsolidateRequest
from infinicon.api.wire.jobs import ChangeJobRequest, Job
from infinicon.api.wire.validate import Body
from infinicon.domain import Permission

MODELS: Sequence[type[Body]] = (ConsolidateRequest, ConsolidateReply)

CONSOLIDATE = operation(
    "consolidate",
    "Make what waits in a scope into fewer and better memories, as a job",
    request=ConsolidateRequest,
    reply=ConsolidateReply,
    permission=Permission.CONSOLIDATE,
    statuses=(*WITH_BODY, 404),
    example={"scope": SCOPE, "trigger": "manual"},
)
UNDO_JOB = operation(
    "undoJob",
    "Take back what a consolidation changed; once done, again changes nothing",
    request=ChangeJobRequest,
    reply=Job,
    permission=Permission.CONSOLIDATE,
    statuses=(*WITH_BODY, 404),
    example={"scope": SCOPE},
    parameters=[JOB_ID],
)
