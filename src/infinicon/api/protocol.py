"""HTTP/1.1 as uvicorn speaks it, with limits on the head of a request, and with our error shape where no request could be read."""

from __future__ import annotations

import asyncio
from typing import cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from infinicon.api import limits, strict_json
from infinicon.errors import InvalidRequest

HANG_UP = "infinicon.hang_up"
"""In a request's scope: ends its connection at once, whatever the other side has not taken yet."""


class Protocol(HttpToolsProtocol):
    """The parser keeps a head that never ends in memory, and its connection open, before anybody has shown a key: so it is counted here,
    and has to come in time."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport) -> None:  # type: ignore[no-untyped-def]  # as in the class above
        self._in_head = True
        self._head_bytes = 0
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._head_is_there()
        self._head_timer = self.loop.call_later(limits.HEAD_SECONDS, self._give_up)

    def _head_is_there(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.send_400_response(f"the request line and headers must be there within {limits.HEAD_SECONDS:g} seconds")

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            if self._head_bytes > limits.HEAD_BYTES:  # all of it came before this piece, and none of it ended the head
                self.send_400_response("the request line and headers are too long")
                return
            self._head_bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._in_head = True
        self._expect_head()
        super().on_message_begin()
        cast("Scope", self.scope)[HANG_UP] = self.transport.abort

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        self._head_is_there()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, and hang up. `msg` is never made from what was received."""
        body = strict_json.dumps(InvalidRequest(msg).to_wire())
        head = (
            b"content-type: application/json\r\ncache-control: no-store\r\nconnection: close\r\n"
            b"content-length: " + str(len(body)).encode() + b"\r\n\r\n"
        )
        self.transport.write(STATUS_LINE[400] + head + body)
        self.transport.close()
