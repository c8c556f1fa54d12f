"""Request bodies: counted while they stream in, so that one over the limit never lies in memory."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infinicon.api import limits
from infinicon.errors import InvalidRequest, Overloaded, TooLarge, UnsupportedMediaType


class BodyLimit:
    """Pure ASGI. Reading past `max_bytes` raises TooLarge inside the app, whether or not a Content-Length announced it.

    All bodies together are bounded, too, as many requests may be in work at once because most are small. Where they are larger than
    `max_bytes_together`, reading on raises Overloaded in those that are not small, so that large ones shut nobody else out.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, max_bytes_together: int) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._max_bytes_together = max_bytes_together
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        too_large = announced.isdecimal() and int(announced[:20]) > self._max_bytes
        received = 0

        async def counted() -> Message:
            nonlocal received
            if too_large:
                raise self._refusal()
            message = await receive()
            size = len(message.get("body", b""))
            received += size
            self._held += size
            if received > self._max_bytes:
                raise self._refusal()
            if self._held > self._max_bytes_together and received > limits.SMALL_BODY_BYTES:
                raise Overloaded("the bodies of all requests together are as large as the server takes")
            return message

        try:
            await self._app(scope, counted, send)
        finally:
            self._held -= received

    def _refusal(self) -> TooLarge:
        return TooLarge(
            f"the request body must not be larger than {self._max_bytes} bytes",
            details={"field": "body", "limit": self._max_bytes},
        )


async def read(request: Request) -> bytes:
    """The whole body of a request that says it is JSON.

    Raises:
        UnsupportedMediaType: another Content-Type, a charset other than UTF-8, or a Content-Encoding.
        TooLarge: from BodyLimit.
        InvalidRequest: the body stopped coming.
    """
    check_media_type(request.headers)
    clock = asyncio.get_running_loop().time
    whole, began = bytearray(), clock()
    chunks = request.stream().__aiter__()
    try:
        while True:
            # A body that drips holds a place that others wait for: pauses are bounded, and so is the whole, by what has come.
            left = began + limits.BODY_SECONDS + len(whole) / limits.BODY_BYTES_A_SECOND - clock()
            async with asyncio.timeout(min(limits.BODY_IDLE_SECONDS, left)):
                whole += await anext(chunks)
    except StopAsyncIteration:
        return bytes(whole)
    except (TimeoutError, ClientDisconnect):
        rule = f"must come faster than {limits.BODY_BYTES_A_SECOND} bytes a second, without long pauses"
        raise InvalidRequest(f"the request body {rule}", details={"field": "body", "rule": rule}) from None


def check_media_type(headers: Headers) -> None:
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaType("a request body must not be compressed", details={"field": "Content-Encoding"})
    essence, *parameters = (part.strip().lower() for part in headers.get("content-type", "").split(";"))
    charsets = [
        value.strip('"') for name, _, value in (part.partition("=") for part in parameters) if name == "charset"
    ]
    is_json = essence == "application/json" or (essence.startswith("application/") and essence.endswith("+json"))
    if not is_json or any(charset not in {"utf-8", "utf8"} for charset in charsets):
        raise UnsupportedMediaType(
            "a request body must be application/json in UTF-8",
            details={"field": "Content-Type", "rule": "application/json"},
        )
