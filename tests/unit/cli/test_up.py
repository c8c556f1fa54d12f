"""What `up` says while it waits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from infinicon.cli import up

ANSWERS: list[tuple[int, bytes]] = []


class Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = ANSWERS[0]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ready)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_what_keeps_the_api_from_being_ready_is_told_once(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(up, "PATIENCE", 0.0)
    ready = up._Readiness(url)
    ANSWERS[:] = [(503, json.dumps({"message": "the vocabulary of o200k_base is missing"}).encode())]
    assert [ready(), ready()] == [False, False]
    ANSWERS[:] = [(503, b"no JSON")]
    assert not ready()
    ANSWERS[:] = [(200, b"{}")]
    assert ready()

    told = capsys.readouterr()
    assert (told.out + told.err).count("the vocabulary of o200k_base is missing") == 1


def test_a_start_is_given_time(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    ANSWERS[:] = [(503, b'{"message": "the encoder does not answer"}')]
    assert not up._Readiness(url)()
    told = capsys.readouterr()
    assert told.out + told.err == ""
