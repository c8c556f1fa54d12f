"""POST /v0/hydrate."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import hydrate as wire
from infinicon.operations import hydrate

router = APIRouter()


@router.post("/v0/hydrate", **openapi.HYDRATE)
def hydrate_refs(call: Admitted) -> Response:
    asked = wire.parse(call.body)
    reply = hydrate.hydrate(call.runtime.database, call.caller, asked.request)
    return answer(wire.to_wire(asked, reply))
