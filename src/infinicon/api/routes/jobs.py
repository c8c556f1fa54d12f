"""POST /v0/get-job and GET /v0/jobs/{jobId}: the same answer."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import jobs as wire
from infinicon.operations import jobs

router = APIRouter()


@router.post("/v0/get-job", **openapi.GET_JOB)
def get_job(call: Admitted) -> Response:
    scope, job_id = wire.parse(call.body)
    return answer(wire.to_wire(jobs.get_job(call.runtime.database, call.caller, scope, job_id)))


@router.get("/v0/jobs/{jobId}", **openapi.READ_JOB)
def read_job(call: Admitted) -> Response:
    scope = wire.parse_parameters(call.request.query_params)
    job_id: str = call.request.path_params["jobId"]
    return answer(wire.to_wire(jobs.get_job(call.runtime.database, call.caller, scope, job_id)))
