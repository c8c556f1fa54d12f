"""The conformance seam, as OpenWOP's suite calls it: /v1/runs, and a pass of consolidation.

Mounted with INFINICON_CONFORMANCE=1, and in no document.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import runs as wire
from infinicon.operations import runs
from infinicon.operations.consolidation_pass import consolidation_pass

router = APIRouter(include_in_schema=False)


@router.post("/v1/runs")
def start_run(call: Admitted) -> Response:
    workflow, playable = wire.parse_start(call.body), call.house.player.playable()
    run = runs.start_run(call.runtime.database, call.caller, workflow, playable)
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


@router.post("/v1/host/sample/memory/consolidate")
def consolidate(call: Admitted) -> Response:
    memory_ref, canary = wire.parse_pass(call.body)
    call.leave_gate()
    return answer(
        wire.pass_to_wire(consolidation_pass(call.house.player.parts(), call.caller, memory_ref, canary=canary))
    )
