"""The one mapping from what went wrong to an HTTP answer. Every 4xx and 5xx has a MemoryApiError as its body."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

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


def response(fault: InfiniconError, *, status: int | None = None) -> Response:
    """A MemoryApiError with its status and the headers that belong to it."""
    headers = {}
    if isinstance(fault, Unauthorized) and not fault.authenticated:
        headers["WWW-Authenticate"] = 'Bearer realm="infinicon"'
    if isinstance(fault, Overloaded):
        headers["Retry-After"] = str(fault.retry_after)
    if isinstance(fault, Unavailable):
        headers["Retry-After"] = RETRY_AFTER_SECONDS
    return answer(fault.to_wire(), status=status or status_of(fault), headers=headers)


def status_of(fault: InfiniconError) -> int:
    return 403 if isinstance(fault, Unauthorized) and fault.authenticated else fault.http_status


def install(app: FastAPI) -> None:
    """Answer every exception of the app through this module.

    The handler for Exception only writes the answer: Starlette raises the exception again, and the server logs it through
    `logs.Formatter`, which keeps the type and our lines and drops its text.
    """
    app.add_exception_handler(InfiniconError, _ours)
    app.add_exception_handler(HTTPException, _of_the_framework)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(_request: Request, fault: Exception) -> Response:
    assert isinstance(fault, InfiniconError)
    return response(fault)


async def _of_the_framework(_request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    known = BY_STATUS.get(fault.status_code) or (
        Internal("a fault of ours") if fault.status_code >= 500 else BY_STATUS[400]
    )
    reply = response(known)
    if allow := (fault.headers or {}).get("Allow"):
        reply.headers["Allow"] = allow
    return reply


async def _of_validation(_request: Request, _fault: Exception) -> Response:
    return response(BY_STATUS[400])


async def _unexpected(_request: Request, _fault: Exception) -> Response:
    return response(Internal("a fault of ours; trying again may help"))
