"""Flower answers nobody without the password, changes nothing for anybody, and shows no text of users."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from celery import Celery
from pydantic import SecretStr
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets

from infinicon.settings import Settings, SettingsError
from infinicon.tasks.flower import create, knows, mask_broker, serve, tls_of, without_text

USER, PASSWORD = "operator", "pä:ss/word"
READS = ["/", "/workers", "/tasks", "/api/tasks", "/api/workers", "/api/task/types", "/metrics", "/healthcheck"]
FILES = ["/static/js/flower.js", "/static/favicon.ico"]
WRITES = [
    "/api/worker/shutdown/x",
    "/api/worker/pool/restart/x",
    "/api/worker/pool/grow/x",
    "/api/worker/pool/shrink/x",
    "/api/worker/pool/autoscale/x",
    "/api/worker/queue/add-consumer/x",
    "/api/worker/queue/cancel-consumer/x",
    "/api/task/apply/x",
    "/api/task/async-apply/x",
    "/api/task/send-task/x",
    "/api/task/abort/x",
    "/api/task/timeout/x",
    "/api/task/rate-limit/x",
    "/api/task/revoke/x",
    "/login",
    "/",
]


@pytest.fixture(scope="module")
def flower() -> Iterator[str]:
    """Flower on an in-memory broker, in a thread of its own; its URL."""
    started = threading.Event()
    found: dict[str, Any] = {}

    def serve() -> None:
        loop = IOLoop(make_current=True)
        settings = Settings(flower_user=USER, flower_password=SecretStr(PASSWORD), flower_port=0)
        gate = create(settings, Celery(broker="memory://", set_as_current=False), loop)
        sockets = bind_sockets(0, address="127.0.0.1")
        HTTPServer(gate).add_sockets(sockets)
        found.update(port=sockets[0].getsockname()[1], loop=loop)
        started.set()
        loop.start()
        loop.close(all_fds=True)

    # Not Gate.start: its event thread has nothing to listen to, and cannot be stopped.
    thread = threading.Thread(target=serve)
    thread.start()
    assert started.wait(20)
    yield f"http://127.0.0.1:{found['port']}"
    found["loop"].add_callback(found["loop"].stop)
    thread.join(20)


@pytest.mark.parametrize("path", [*READS, *FILES, "/broker", "/api/task/result/x", "/nothing"])
def test_nobody_without_the_password(flower: str, path: str) -> None:
    for auth in (None, (USER, "wrong"), ("", PASSWORD), ("gate", "")):
        answer = httpx.get(flower + path, auth=auth)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith("Basic")


@pytest.mark.parametrize("path", [*WRITES, "/tasks/datatable"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nobody_changes_anything_without_the_password(flower: str, method: str, path: str) -> None:
    assert httpx.request(method, flower + path).status_code == 401


@pytest.mark.parametrize("path", [*READS, *FILES])
def test_with_the_password_everything_can_be_read(flower: str, path: str) -> None:
    assert httpx.get(flower + path, auth=(USER, PASSWORD)).status_code == 200


def test_the_table_of_tasks_is_read_by_post(flower: str) -> None:
    query = {"draw": 1, "start": 0, "length": 10, "order[0][column]": 0, "columns[0][data]": "name"}

    answer = httpx.post(f"{flower}/tasks/datatable", auth=(USER, PASSWORD), data=query)

    assert (answer.status_code, answer.json()["data"]) == (200, [])


@pytest.mark.parametrize("path", WRITES)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nobody_changes_anything_with_the_password(flower: str, method: str, path: str) -> None:
    assert httpx.request(method, flower + path, auth=(USER, PASSWORD)).status_code == 403


def test_results_are_closed(flower: str) -> None:
    assert httpx.get(f"{flower}/api/task/result/x", auth=(USER, PASSWORD)).status_code == 403


def test_pages_bring_nothing_from_elsewhere(flower: str) -> None:
    page = httpx.get(f"{flower}/tasks", auth=(USER, PASSWORD)).text

    assert 'src="http' not in page
    assert 'rel="stylesheet" href="http' not in page
    assert "analytics" not in page


def _basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "header", ["", "Basic", "Basic !!!", "Bearer x", _basic("u"), _basic("u:p "), _basic("u:p:"), _basic("U:p")]
)
def test_what_does_not_open_the_gate(header: str) -> None:
    assert knows(b"u:p", _basic("u:p"))
    assert knows(b"u:p", _basic("u:p").replace("Basic", "basic"))
    assert not knows(b"u:p", header)


def test_an_event_loses_its_text() -> None:
    event = {
        "type": "task-failed",
        "uuid": "1",
        "exception": "ValueError('CANARY')",
        "traceback": "CANARY",
        "result": "CANARY",
    }

    assert without_text(event) == {"type": "task-failed", "uuid": "1", "exception": "ValueError"}
    assert "CANARY" in event["traceback"]


def test_the_password_of_a_socket_is_masked() -> None:
    stats = {"broker": {"hostname": "socket://:CANARY@/run/valkey.sock", "alternates": ["CANARY"]}}

    mask_broker(stats)

    assert "CANARY" not in str(stats)


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("redis://host/0", None),
        ("amqp://host/v", None),
        ("rediss://host/0", {}),
        (
            "rediss://:p@host/0?ssl_cert_reqs=required&ssl_ca_certs=%2Fca.pem&other=1",
            {"ssl_cert_reqs": "required", "ssl_ca_certs": "/ca.pem"},
        ),
    ],
)
def test_flower_gets_the_tls_options_of_the_url(url: str, options: dict[str, str] | None) -> None:
    assert tls_of(url) == options


def test_an_address_that_is_taken_is_a_fault_of_the_settings() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings = Settings(flower_port=port, flower_password=SecretStr("secret"))
        with pytest.raises(SettingsError, match=f"127.0.0.1:{port}"):
            serve(settings, None)
