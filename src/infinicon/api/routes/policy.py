"""GET and POST /v0/policy, and POST /v0/erase."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi_deletion as openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import jobs as jobs_wire
from infinicon.api.wire import parameters
from infinicon.api.wire import policy as wire
from infinicon.operations import erase, policy

router = APIRouter()


@router.get("/v0/policy", **openapi.GET_POLICY)
def get_policy(call: Admitted) -> Response:
    scope = parameters.scope(call.request.query_params)
    return answer(wire.policy_to_wire(policy.get_policy(call.runtime.database, call.caller, scope)))


@router.post("/v0/policy", **openapi.SET_POLICY)
def set_policy(call: Admitted) -> Response:
    scope, changes = wire.parse_policy(call.body)
    return answer(wire.policy_to_wire(policy.set_policy(call.runtime.database, call.caller, scope, changes)))


@router.post("/v0/erase", **openapi.ERASE)
def erase_scope(call: Admitted) -> Response:
    scope, reason, metadata = wire.parse_erase(call.body)
    own = call.runtime
    return answer(jobs_wire.to_wire(erase.erase(own.database, own.keyring, call.caller, scope, reason, metadata)))
