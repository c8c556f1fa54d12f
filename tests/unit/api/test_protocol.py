from __future__ import annotations

import asyncio
import json

import pytest
import uvicorn
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from infinicon.api import limits
from infinicon.api.protocol import HANG_UP, Protocol

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"


class Wire(asyncio.Transport):
    """A connection in memory: what the server writes is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.said = b""
        self.closed = False
        self.hung_up = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.said += bytes(data)

    def close(self) -> None:
        self.closed = True
        self.hung_up.set()

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        """The pieces below come whether or not the server wants more."""

    resume_reading = pause_reading


def hear(*pieces: bytes, until_it_hangs_up: bool = False) -> Wire:
    """What a server that answers every readable request with 200 says to these pieces."""

    async def scenario() -> Wire:
        config = uvicorn.Config(Response("fine"), http=Protocol, ws="none", log_config=None, access_log=False)
        config.load()
        protocol, wire = Protocol(config, ServerState(), {}), Wire()
        protocol.connection_made(wire)
        for piece in pieces:
            protocol.data_received(piece)
        await asyncio.gather(*protocol.tasks)
        if until_it_hangs_up:
            await asyncio.wait_for(wire.hung_up.wait(), 10)
        protocol.connection_lost(None)
        return wire

    return asyncio.run(scenario())


def refusal(wire: Wire) -> dict[str, object]:
    head, _, body = wire.said.partition(b"\r\n\r\n")
    assert wire.closed
    assert head.startswith(b"HTTP/1.1 400 ")
    assert f"content-length: {len(body)}".encode() in head
    parsed: dict[str, object] = json.loads(body)
    return parsed


def test_a_readable_request_passes() -> None:
    assert hear(HEAD + b"Content-Length: 0\r\n\r\n").said.startswith(b"HTTP/1.1 200 ")


def test_a_head_in_pieces_and_a_large_body_pass() -> None:
    body = b"x" * (3 * limits.HEAD_BYTES)
    length = b"Content-Length: %d\r\n\r" % len(body)

    assert hear(HEAD + length, b"\n" + body).said.startswith(b"HTTP/1.1 200 ")
    assert hear(HEAD, b"X: " + b"a" * 30_000, b"a" * 30_000, b"\r\n\r\n").said.startswith(b"HTTP/1.1 200 ")


def test_each_request_of_a_connection_may_have_a_head() -> None:
    request = HEAD + b"X: " + b"a" * (limits.HEAD_BYTES // 2) + b"\r\nContent-Length: 0\r\n\r\n"

    assert hear(*[request] * 4).said.count(b"HTTP/1.1 200 ") >= 1
    assert b" 400 " not in hear(*[request] * 4).said


def test_what_is_not_http_gets_our_error_shape() -> None:
    assert refusal(hear(b"CANARY-77\r\n\r\n")) == {
        "code": "invalid_request",
        "message": "Invalid HTTP request received.",
        "retryable": False,
    }


def test_a_head_that_never_ends_is_cut_off() -> None:
    wire = hear(HEAD + b"X: ", b"a" * limits.HEAD_BYTES, b"a")

    assert refusal(wire)["message"] == "the request line and headers are too long"


def test_a_head_has_to_come_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand connections that send half a head used up all file descriptors, health's too."""
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.01)

    for half in ((), (HEAD,), (HEAD + b"X: ", b"a")):
        assert "must be there within" in str(refusal(hear(*half, until_it_hangs_up=True))["message"])


class Aborting(Wire):
    """Told to abort, it goes away soon, as a socket does."""

    protocol: Protocol
    aborted = False

    def abort(self) -> None:
        self.aborted = True
        asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)


def test_a_request_can_end_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    """Closing would wait for the other side to take what was written; and a reader that takes nothing is no fault of ours."""

    async def hang_up(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        scope[HANG_UP]()
        while (await receive())["type"] != "http.disconnect":
            pass

    async def scenario() -> Aborting:
        config = uvicorn.Config(hang_up, http=Protocol, ws="none", log_config=None, access_log=False)
        config.load()
        wire = Aborting()
        wire.protocol = Protocol(config, ServerState(), {})
        wire.protocol.connection_made(wire)
        wire.protocol.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.wait_for(asyncio.gather(*wire.protocol.tasks), 10)
        return wire

    assert asyncio.run(scenario()).aborted
    assert caplog.records == []
