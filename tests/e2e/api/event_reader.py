"""A reader of event streams, as a browser or a service would have one."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from urllib.parse import urlencode, urlsplit

import httpx

from infinicon.cli.client import Wire
from infinicon.cli.event_feed import Frame, frames
from infinicon.cli.instance import Instance
from tests.waiting import wait_until


class Reader:
    """Opens a stream and collects what comes, in a thread of its own, until the server ends it or `close`."""

    def __init__(
        self, live: Instance, scope: Wire, *, last: str | None = None, key: str | None = None, **more: str
    ) -> None:
        self.frames: list[Frame] = []
        self.raw = b""
        headers = {"Authorization": f"Bearer {key or live.api_key}", "Accept": "text/event-stream"}
        if last is not None:
            headers["Last-Event-ID"] = last
        self._client = httpx.Client(base_url=live.url, timeout=httpx.Timeout(60.0))
        request = self._client.build_request("GET", "/v0/events", params={**scope, **more}, headers=headers)
        self.answer = self._client.send(request, stream=True)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for frame in frames(self._tapped()):
                self.frames.append(frame)
        except (httpx.HTTPError, httpx.StreamError):
            pass

    def _tapped(self) -> Iterator[bytes]:
        for piece in self.answer.iter_bytes():
            self.raw += piece
            yield piece

    @property
    def events(self) -> list[Wire]:
        return [json.loads(frame.data) for frame in self.frames if frame.data]

    @property
    def last(self) -> str:
        """What the reader would send as Last-Event-ID."""
        return str(next(frame.id for frame in reversed(self.frames) if frame.id))

    def wait_for(self, number: int) -> list[Wire]:
        """The first `number` events."""
        wait_until(lambda: len(self.events) >= number, f"{number} events came")
        return self.events[:number]

    def wait_for_cursor(self) -> str:
        wait_until(lambda: any(frame.id for frame in self.frames), "the stream says where it is")
        return self.last

    def wait_for_end(self) -> None:
        self._thread.join(20)
        assert not self._thread.is_alive()

    def close(self) -> None:
        self.answer.close()
        self._client.close()


def connect(live: Instance, scope: Wire, key: str | None = None) -> socket.socket:
    """A stream that nobody reads yet."""
    where = urlsplit(live.url)
    assert where.hostname is not None
    assert where.port is not None
    connection = socket.create_connection((where.hostname, where.port), timeout=30)
    head = (
        f"GET /v0/events?{urlencode(scope)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key or live.api_key}\r\n\r\n"
    )
    connection.sendall(head.encode())
    return connection


def reset(connection: socket.socket) -> None:
    """Gone without a word."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
