"""HTTP/1.1 as uvicorn speaks it, with a limit on the head of a request, and with our error shape where no request could be read."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from infinicon.api import limits, strict_json
from infinicon.errors import InvalidRequest


class Protocol(HttpToolsProtocol):
    """The parser keeps a head that never ends in memory, before anybody has shown a key; so it is counted here."""

    def connection_made(self, transport) -> None:  # type: ignore[no-untyped-def]  # as in the class above
        self._in_head = True
        self._head_bytes = 0
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            if self._head_bytes > limits.HEAD_BYTES:  # all of it came before this piece, and none of it ended the head
                self.send_400_response("the request line and headers are too long")
                return
            self._head_bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
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
