"""The client where the encoder is not there or not itself; the rest is in test_server.py."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infinicon.encoder.client import EncoderClient, slices
from infinicon.errors import PluginFailed, Unavailable

# httpcore forgets to close a Unix socket that did not connect; the collector does it, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")


@contextmanager
def answering(path: Path, *answers: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that treats each connection as the next of `answers` says."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def work() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    answer(connection)

        thread = threading.Thread(target=work)
        thread.start()
        yield f"unix://{path}"
        thread.join()


def hang_up(connection: socket.socket) -> None:
    connection.recv(65_536)


def wait_for_the_end(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


def reply(body: bytes, *headers: str) -> Callable[[socket.socket], None]:
    head = "\r\n".join(["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""])

    def answer(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(head.encode() + body)

    return answer


MODEL = reply(json.dumps({"name": "m", "revision": "r", "dimension": 2, "maxTokens": 9}).encode())


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s") / "encoder"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "unix:///no/such/socket"])
def test_nobody_there_is_unavailable(url: str) -> None:
    with EncoderClient(url, "CANARY-77", 2) as client:
        assert not client.ready()
        with pytest.raises(Unavailable) as caught:
            client.embed_query("CANARY-77")

    assert caught.value.retryable
    assert "CANARY" not in str(caught.value.to_wire())


def test_no_answer_in_time_is_unavailable(path: Path) -> None:
    start = time.monotonic()
    with (
        answering(path, wait_for_the_end) as url,
        EncoderClient(url, "t", 0.2) as client,
        pytest.raises(Unavailable, match="in time"),
    ):
        client.embed_query("x")

    assert time.monotonic() - start < 60


def test_a_connection_that_was_closed_is_tried_once_more(path: Path) -> None:
    with answering(path, hang_up, MODEL) as url, EncoderClient(url, "t", 10) as client:
        assert client.model.name == "m"


def test_a_connection_that_is_always_closed_is_unavailable(path: Path) -> None:
    with answering(path, hang_up, hang_up) as url, EncoderClient(url, "t", 10) as client, pytest.raises(Unavailable):
        _ = client.model


def test_the_model_is_asked_for_once(path: Path) -> None:
    with answering(path, MODEL) as url, EncoderClient(url, "t", 10) as client:
        assert client.model is client.model


def test_a_wrong_number_of_vectors_is_not_believed(path: Path) -> None:
    with (
        answering(path, reply(b"\0" * 6, "X-Dimension: 2")) as url,
        EncoderClient(url, "t", 10) as client,
        pytest.raises(Unavailable),
    ):
        client.embed(["a", "b"])


def test_a_long_document_goes_in_many_calls() -> None:
    """One call for all of it took longer than the time-out and was tried for ever, and the server refuses more than 10,000 texts."""
    short = ["a short sentence"] * 11_000
    parts = list(slices(short))
    assert [text for part in parts for text in part] == short
    assert max(len(part) for part in parts) <= 256
    long = ["x" * 60_000, "y" * 60_000, "z" * 300_000, "w"]
    assert [len(part) for part in slices(long)] == [1, 1, 1, 1]
    assert list(slices([])) == []


def test_what_is_refused_for_its_content_is_no_outage(path: Path) -> None:
    """Sent again it would be refused again; an outage is tried without end."""

    def refuse(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    with answering(path, refuse) as url, EncoderClient(url, "t", 10) as client, pytest.raises(PluginFailed) as caught:
        client.embed_query("x")
    assert not caught.value.retryable
