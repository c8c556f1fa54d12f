"""The one mapping from what went wrong to an HTTP answer. Every 4xx and 5xx has a MemoryApiError as its body."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from infinicon.api.answers import answer
from infinicon.errors import (
    InfiniconError,
    Internal,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    Overloaded,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
)

RETRY_AFTER_SECONDS = "1"
BY_STATUS: dict[int, InfiniconError] = {
    fault.http_status: fault
    for fault in (
        InvalidRequest("the request cannot be read"),
        NotFound("there is no such route"),
        MethodNotAllowed("this route does not take this method"),
        TooLarge("the request is too large"),
        UnsupportedMediaType("the request body must be JSON"),
    )
}


CONFORMANCE = "/v1/"
"""Where the conformance seam is, if it is mounted. Its errors have their code as `error`, too, which is where OpenWOP looks for it."""


def response(fault: InfiniconError, *, status: int | None = None, scope: Scope | None = None) -> Response:
    """A MemoryApiError with its status and the headers that belong to it. `scope`: of the request that it answers."""
    headers = {}
    if isinstance(fault, Unauthorized) and not fault.authenticated:
        headers["WWW-Authenticate"] = 'Bearer realm="infinicon"'
    if isinstance(fault, Overloaded):
        headers["Retry-After"] = str(fault.retry_after)
    if isinstance(fault, Unavailable):
        headers["Retry-After"] = RETRY_AFTER_SECONDS
    wire = fault.to_wire()
    if scope is not None and scope["path"].startswith(CONFORMANCE) and scope["app"].state.conformance:
        wire["error"] = fault.code
    return answer(wire, status=status or status_of(fault), headers=headers)


def status_of(fault: InfiniconError) -> int:
    return 403 if isinstance(fault, Unauthorized) and fault.authenticated else fault.http_status


def install(app: FastAPI, *, conformance: bool = False) -> None:
    """Answer every exception of the app through this module. `conformance`: whether the conformance seam is mounted.

    The handler for Exception only writes the answer: Starlette raises the exception again, and the server logs it through
    `logs.Formatter`, which keeps the type and our lines and drops its text.
    """
    app.state.conformance = conformance
    app.add_exception_handler(InfiniconError, _ours)
    app.add_exception_handler(HTTPException, _of_the_framework)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, InfiniconError)
    return response(fault, scope=request.scope)


async def _of_the_framework(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    known = BY_STATUS.get(fault.status_code) or (
        Internal("a fault of ours") if fault.status_code >= 500 else BY_STATUS[400]
    )
    reply = response(known, scope=request.scope)
    if allow := (fault.headers or {}).get("Allow"):
        reply.headers["Allow"] = allow
    return reply


async def _of_validation(request: Request, _fault: Exception) -> Response:
    return response(BY_STATUS[400], scope=request.scope)


async def _unexpected(request: Request, _fault: Exception) -> Response:
    return response(Internal("a fault of ours; trying again may help"), scope=request.scope)
