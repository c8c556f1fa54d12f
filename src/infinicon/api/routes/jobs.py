"""POST /v0/get-job and GET /v0/jobs/{jobId}: the same answer. GET /v0/jobs: many. POST cancel, retry, and reindex."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi, openapi_jobs
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import jobs as wire
from infinicon.api.wire import parameters
from infinicon.operations import jobs, reindex

router = APIRouter()


@router.post("/v0/get-job", **openapi.GET_JOB)
def get_job(call: Admitted) -> Response:
    scope, job_id = wire.parse(call.body)
    return answer(wire.to_wire(jobs.get_job(call.runtime.database, call.caller, scope, job_id)))


@router.get("/v0/jobs/{jobId}", **openapi.READ_JOB)
def read_job(call: Admitted) -> Response:
    scope = parameters.scope(call.request.query_params)
    job_id: str = call.request.path_params["jobId"]
    return answer(wire.to_wire(jobs.get_job(call.runtime.database, call.caller, scope, job_id)))


@router.get("/v0/jobs", **openapi_jobs.LIST_JOBS)
def list_jobs(call: Admitted) -> Response:
    request = wire.parse_list(call.request.query_params)
    return answer(wire.page_to_wire(jobs.list_jobs(call.runtime.database, call.runtime.keyring, call.caller, request)))


@router.post("/v0/jobs/{jobId}/cancel", **openapi_jobs.CANCEL_JOB)
def cancel_job(call: Admitted) -> Response:
    scope = wire.parse_change(call.body)
    job = jobs.cancel_job(call.runtime.database, call.caller, scope, call.request.path_params["jobId"])
    return answer(wire.to_wire(job))


@router.post("/v0/jobs/{jobId}/retry", **openapi_jobs.RETRY_JOB)
def retry_job(call: Admitted) -> Response:
    scope = wire.parse_change(call.body)
    job = jobs.retry_job(call.runtime.database, call.caller, scope, call.request.path_params["jobId"])
    call.house.dispatcher.wake()
    return answer(wire.to_wire(job))


@router.post("/v0/reindex", **openapi_jobs.REINDEX)
def reindex_namespace(call: Admitted) -> Response:
    job = reindex.reindex(call.runtime.database, call.caller, wire.parse_change(call.body))
    call.house.dispatcher.wake()
    return answer(wire.reindex_to_wire(job))
