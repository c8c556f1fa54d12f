"""GET and HEAD of /healthz and /readyz: without a key, without the gate, and never behind work."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from infinicon.api import errors, openapi
from infinicon.api.answers import answer
from infinicon.api.entry import house_of
from infinicon.errors import InfiniconError
from infinicon.operations import ready

router = APIRouter()


@router.head("/healthz", **openapi.HEALTHZ_HEAD)
@router.get("/healthz", **openapi.HEALTHZ)
async def healthz() -> Response:
    return answer({"status": "ok"})


@router.head("/readyz", **openapi.READYZ_HEAD)
@router.get("/readyz", **openapi.READYZ)
async def readyz(request: Request) -> Response:
    try:
        house = house_of(request)
        await house.readiness.check()
    except InfiniconError as fault:
        return errors.response(fault, status=503)
    warnings = ready.warnings(house.runtime.database)
    return answer({"status": "ready"} | ({"warnings": warnings} if warnings else {}))
