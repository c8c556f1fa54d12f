"""A small Infinicon that keeps dedupeKeys and can be told to misbehave. Real HTTP, so that the sender is tested as it runs."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from infinicon.cli.client import Client
from infinicon.cli.connection import Connection

Canned = tuple[int, dict[str, str], Any]
"""Status, headers, body."""


def error(status: int, code: str, *, field: str = "", retryable: bool = False, retry_after: str = "") -> Canned:
    body = {"code": code, "message": f"it is {code}", "retryable": retryable, "details": {"field": field}}
    return status, {"Retry-After": retry_after} if retry_after else {}, body


class FakeServer:
    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.authorizations: set[str] = set()
        self.kept: dict[str, str] = {}
        """Content by scope and dedupeKey."""
        self.plan: deque[Canned] = deque()
        """Answers to the next ingests, before it does what it should."""
        self.standings: deque[Canned] = deque()
        """What GET /v0/jobs answers, one after another; the last one stays."""
        self.most_episodes = 1_000_000
        self.keep_bodies = True
        self.gate = threading.Event()
        self.gate.set()
        self.arrived = threading.Semaphore(0)
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    @property
    def episodes(self) -> list[Any]:
        """Of every request that was answered 200, in order of the answers."""
        return [episode for body in self.bodies for episode in body["episodes"]]

    @property
    def texts(self) -> list[Any]:
        return [episode["content"] for episode in self.episodes]

    def get(self, path: str) -> Canned:
        if path.startswith("/v0/jobs"):
            with self._lock:
                return self.standings.popleft() if len(self.standings) > 1 else self.standings[0]
        return 200, {}, {"tenantId": "t"}

    def ingest(self, raw: bytes) -> Canned:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.arrived.release()
        self.gate.wait(30)
        with self._lock:
            self.at_once -= 1
            if self.plan:
                return self.plan.popleft()
            body = json.loads(raw)
            if len(body["episodes"]) > self.most_episodes:
                return error(413, "too_large", field="body")
            if self.keep_bodies:
                self.bodies.append(body)
            return 200, {}, {"results": [self._result(body["scope"], e) for e in body["episodes"]], "jobId": "j"}

    def _result(self, scope: Any, episode: Any) -> Any:
        if episode["content"] == "refuse me":
            return {"status": "rejected", "error": {"code": "invalid_content", "message": "it cannot be stored"}}
        key, content = json.dumps([scope, episode["dedupeKey"]]), json.dumps(episode["content"])
        if key not in self.kept:
            self.kept[key] = content
            return {"status": "created"}
        if self.kept[key] != content:
            return {"status": "rejected", "error": {"code": "dedupe_conflict", "message": "other content"}}
        return {"status": "deduplicated"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


@contextlib.contextmanager
def serving(fake: FakeServer) -> Iterator[str]:
    """Its address, for the length of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            fake.authorizations.add(self.headers["Authorization"])
            self._answer(fake.get(self.path))

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(fake.ingest(raw))

        def _answer(self, canned: Canned) -> None:
            status, headers, value = canned
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            for name, text in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, text)
            self.end_headers()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        fake.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def client_of(fake: FakeServer) -> Iterator[Client]:
    with serving(fake) as url, Client(Connection(url, "inf_test")) as client:
        yield client
