"""POST /v0/tombstone."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from infinicon.api import openapi_deletion as openapi
from infinicon.api.answers import answer
from infinicon.api.entry import Admitted
from infinicon.api.wire import tombstone as wire
from infinicon.operations import tombstone

router = APIRouter()


@router.post("/v0/tombstone", **openapi.TOMBSTONE)
def tombstone_refs(call: Admitted) -> Response:
    request, refs = wire.parse(call.body)
    own = call.runtime
    return answer(wire.to_wire(refs, tombstone.tombstone(own.database, own.keyring, call.caller, request)))
