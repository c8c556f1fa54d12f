"""GET /v0/key, and the keys of a tenant for its admins: GET and POST /v0/keys, POST /v0/keys/{keyId}/revoke and /rotate."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi_admin as openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import keys as wire
from infinicon.api.wire import parameters
from infinicon.operations import keys

router = APIRouter()


@router.get("/v0/key", **openapi.OWN_KEY)
def own_key(call: Admitted) -> Response:
    key = keys.own_key(call.runtime.database, call.caller)
    return answer({"tenantId": call.caller.tenant_name, **wire.to_wire(key)})


@router.get("/v0/keys", **openapi.LIST_KEYS)
def list_keys(call: Admitted) -> Response:
    tenant = parameters.tenant(call.request.query_params)
    found = keys.list_keys(call.runtime.database, call.caller, tenant)
    return answer({"keys": [wire.to_wire(key) for key in found]})


@router.post("/v0/keys", **openapi.CREATE_KEY)
def create_key(call: Admitted) -> Response:
    tenant, wanted = wire.parse_create(call.body)
    made, secret = keys.create_key(call.runtime.database, call.runtime.keyring, call.caller, tenant, wanted)
    return answer({"key": wire.to_wire(made), "apiKey": secret})


@router.post("/v0/keys/{keyId}/revoke", **openapi.REVOKE_KEY)
def revoke_key(call: Admitted) -> Response:
    tenant = wire.parse_revoke(call.body)
    key_id: str = call.request.path_params["keyId"]
    return answer({"key": wire.to_wire(keys.revoke_key(call.runtime.database, call.caller, tenant, key_id))})


@router.post("/v0/keys/{keyId}/rotate", **openapi.ROTATE_KEY)
def rotate_key(call: Admitted) -> Response:
    tenant, overlap = wire.parse_rotate(call.body)
    key_id: str = call.request.path_params["keyId"]
    made, secret = keys.rotate_key(call.runtime.database, call.runtime.keyring, call.caller, tenant, key_id, overlap)
    return answer({"key": wire.to_wire(made), "apiKey": secret})
