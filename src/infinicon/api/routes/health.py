"""GET /healthz and /readyz: without a key, without the gate, and never behind work."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from infinicon.api import errors, openapi
from infinicon.api.answers import answer
from infinicon.api.entry import house_of
from infinicon.errors import InfiniconError

router = APIRouter()


@router.get("/healthz", **openapi.HEALTHZ)
async def healthz() -> Response:
    return answer({"status": "ok"})


@router.get("/readyz", **openapi.READYZ)
async def readyz(request: Request) -> Response:
    try:
        await house_of(request).readiness.check()
    except InfiniconError as fault:
        return errors.response(fault, status=503)
    return answer({"status": "ready"})
