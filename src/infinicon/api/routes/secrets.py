"""GET and POST /v0/secrets, DELETE /v0/secrets/{secretId}, and POST /v0/redact."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi_secrets as openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import jobs as jobs_wire
from infinicon.api.wire import parameters
from infinicon.api.wire import secrets as wire
from infinicon.operations import redact, secrets

router = APIRouter()


@router.get("/v0/secrets", **openapi.LIST_SECRETS)
def list_secrets(call: Admitted) -> Response:
    tenant = parameters.tenant(call.request.query_params)
    found = secrets.list_secrets(call.runtime.database, call.caller, tenant)
    return answer({"secrets": [wire.to_wire(secret) for secret in found]})


@router.post("/v0/secrets", **openapi.ADD_SECRET)
def add_secret(call: Admitted) -> Response:
    tenant, value = wire.parse_add(call.body)
    own = call.runtime
    return answer({"secret": wire.to_wire(secrets.add_secret(own.database, own.keyring, call.caller, tenant, value))})


@router.delete("/v0/secrets/{secretId}", **openapi.REMOVE_SECRET)
def remove_secret(call: Admitted) -> Response:
    tenant = parameters.tenant(call.request.query_params)
    secret_id: str = call.request.path_params["secretId"]
    gone = secrets.remove_secret(call.runtime.database, call.caller, tenant, secret_id)
    return answer({"secret": wire.to_wire(gone)})


@router.post("/v0/redact", **openapi.REDACT)
def redact_stored(call: Admitted) -> Response:
    tenant, secret_id = wire.parse_redact(call.body)
    return answer(jobs_wire.to_wire(redact.redact(call.runtime.database, call.caller, tenant, secret_id)))
