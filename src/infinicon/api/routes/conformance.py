"""The conformance seam: /v1/runs as OpenWOP's suite calls it. Mounted with INFINICON_CONFORMANCE=1, and in no document."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import runs as wire
from infinicon.operations import runs

router = APIRouter(include_in_schema=False)


@router.post("/v1/runs")
def start_run(call: Admitted) -> Response:
    run = runs.start_run(call.runtime.database, call.caller, wire.parse_start(call.body))
    call.house.player.play(call.caller, run.id)
    return answer(wire.made_to_wire(run), status=201)


@router.get("/v1/runs/{id}")
def get_run(call: Admitted) -> Response:
    run = runs.get_run(call.runtime.database, call.caller, call.request.path_params["id"])
    return answer(wire.run_to_wire(run, runs.shown(call.runtime.database, call.caller, run)))


@router.get("/v1/runs/{id}/events")
def get_events(call: Admitted) -> Response:
    run = runs.get_run(call.runtime.database, call.caller, call.request.path_params["id"])
    return answer(wire.events_to_wire(run))


@router.post("/v1/runs/{id}:fork")
def fork_run(call: Admitted) -> Response:
    wire.parse_fork(call.body)
    run = runs.fork_run(call.runtime.database, call.caller, call.request.path_params["id"])
    return answer(wire.made_to_wire(run), status=201)
