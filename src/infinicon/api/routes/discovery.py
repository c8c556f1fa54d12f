"""GET /.well-known/openwop: without a key. What is advertised runs, and what does not is not advertised."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from infinicon.api import openapi
from infinicon.api.answers import answer
from infinicon.api.entry import house_of
from infinicon.api.wire import discovery as wire

router = APIRouter()


@router.get("/.well-known/openwop", **openapi.DISCOVERY)
async def openwop(request: Request) -> Response:
    house = house_of(request)
    found = await house.discovery.advertised()
    return answer(wire.to_wire(found, house.runtime.settings.max_body_bytes))
