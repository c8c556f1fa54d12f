"""POST /v0/consolidate, and POST /v0/jobs/{jobId}/undo."""

from __future__ import annotations

from contextlib import suppress

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi_consolidation as openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted, Call, in_thread
from infinicon.api.wire import consolidate as wire
from infinicon.api.wire import jobs as jobs_wire
from infinicon.domain import ConsolidateRequest, Job, JobStatus, Preview
from infinicon.errors import Overloaded, Unavailable
from infinicon.operations import consolidate, undoing

router = APIRouter()


@router.post("/v0/consolidate", **openapi.CONSOLIDATE)
async def consolidate_scope(call: Admitted) -> Response:
    asked = await in_thread(wire.parse, call.body)
    if asked.mode == "preview":
        return answer(wire.preview_to_wire(await in_thread(preview, call, asked.request)))
    job = await in_thread(consolidate.consolidate, call.runtime.database, call.caller, asked.request)
    call.house.dispatcher.wake()
    return answer(wire.to_wire(await until_over(call, job) if asked.mode == "run_now" else job))


@router.post("/v0/jobs/{jobId}/undo", **openapi.UNDO_JOB)
def undo_job(call: Admitted) -> Response:
    scope = jobs_wire.parse_change(call.body)
    return answer(
        jobs_wire.to_wire(undoing.undo(call.runtime.database, call.caller, scope, call.request.path_params["jobId"]))
    )


def preview(call: Call, request: ConsolidateRequest) -> Preview:
    own = call.runtime
    return own.previews.preview(own.database, own.keyring, own.embedder.model, call.caller, request)


async def until_over(call: Call, job: Job) -> Job:
    """The job when it is over, or as it is when patience runs out: it goes on all the same."""
    if job.status in {JobStatus.QUEUED, JobStatus.RUNNING}:
        call.leave_gate()
        # Where nobody may wait now, the job is there all the same, and the answer must say so.
        with suppress(Overloaded, Unavailable):
            await call.house.waiting.until_over(call.caller.tenant, job.id)
        return await in_thread(consolidate.standing, call.runtime.database, call.caller, job)
    return job
