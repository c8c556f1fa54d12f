"""POST /v0/dispute and /v0/resolve."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi_deletion as openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import corrections as wire
from infinicon.operations import corrections

router = APIRouter()


@router.post("/v0/dispute", **openapi.DISPUTE)
def dispute(call: Admitted) -> Response:
    asked = wire.parse_dispute(call.body)
    return answer(wire.to_wire(corrections.dispute(call.runtime.database, call.caller, asked.scope, asked.refs)))


@router.post("/v0/resolve", **openapi.RESOLVE)
def resolve(call: Admitted) -> Response:
    asked = wire.parse_resolve(call.body)
    standing = corrections.resolve(call.runtime.database, call.caller, asked.scope, asked.refs, asked.holds)
    return answer(wire.to_wire(standing))
