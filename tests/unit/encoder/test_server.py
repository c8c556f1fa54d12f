"""The encoder process, with a stub for the model, over a Unix socket and over TCP."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
import uvicorn

from infinicon.domain import Span
from infinicon.encoder.client import EncoderClient
from infinicon.encoder.server import build_app, listen
from infinicon.errors import InvalidContent, Unavailable
from infinicon.ports import ModelInfo, Vectors
from tests.waiting import wait_until

TOKEN = "t" * 64


class Stub:
    """A text's vector is its length and a mark of its kind."""

    model = ModelInfo("stub", "r1", 2, 100)

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.calls: list[int] = []
        self.closed = False

    def chunk(self, texts: Sequence[str]) -> list[list[Span]]:
        return [[Span(0, 1), Span(1, len(text))] for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(len(texts))
        self.gate.wait(10)
        if "bad" in texts:
            raise InvalidContent("CANARY-77", details={"index": 0})
        if "worse" in texts:
            raise ValueError("CANARY-77")
        return np.array([[len(text), 0] for text in texts], np.float16)

    def embed_query(self, text: str) -> Vectors:
        return np.array([[len(text), 1]], np.float16)

    def close(self) -> None:
        self.closed = True


@contextmanager
def serving(stub: Stub, url: str, **limits: int) -> Iterator[str]:
    app = build_app(stub, TOKEN, **({"most_waiting": 8, "most_bytes": 100_000} | limits))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=2))
    with listen(url) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        wait_until(lambda: server.started, "the server listens")
        try:
            yield url if url.startswith("unix") else f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            stub.gate.set()
            server.should_exit = True
            thread.join()


@pytest.fixture
def stub() -> Stub:
    return Stub()


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s") / "encoder"


@pytest.fixture
def url(stub: Stub, path: Path) -> Iterator[str]:
    with serving(stub, f"unix://{path}") as found:
        yield found


@pytest.fixture
def client(url: str) -> Iterator[EncoderClient]:
    with EncoderClient(url, TOKEN, 10) as found:
        yield found


@pytest.fixture
def raw(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(
        transport=httpx.HTTPTransport(uds=url.removeprefix("unix://")),
        base_url="http://encoder",
        headers={"Authorization": f"Bearer {TOKEN}"},
    ) as found:
        yield found


def test_the_client_gives_what_the_embedder_gave(client: EncoderClient, stub: Stub) -> None:
    texts = [f"{'x' * (number % 50)}é" for number in range(100)]

    assert client.ready()
    assert client.model == stub.model
    assert client.embed(texts).tolist() == [[len(text), 0] for text in texts]
    assert client.embed(texts).dtype == np.float16
    assert client.embed_query("four").tolist() == [[4, 1]]
    assert client.chunk(["ab", "abc"]) == [[Span(0, 1), Span(1, 2)], [Span(0, 1), Span(1, 3)]]
    assert client.embed([]).shape == (0, 2)
    assert client.chunk([]) == []


def test_many_documents_are_asked_for_in_parts_so_that_queries_get_between(client: EncoderClient, stub: Stub) -> None:
    client.embed(["x"] * 100)

    assert max(stub.calls) <= 32


def test_over_tcp(stub: Stub) -> None:
    with serving(stub, "http://127.0.0.1:0") as found, EncoderClient(found, TOKEN, 10) as client:
        assert client.embed_query("four").tolist() == [[4, 1]]


def test_a_fault_of_content_is_one_at_the_other_end(client: EncoderClient) -> None:
    with pytest.raises(InvalidContent) as caught:
        client.embed(["bad"])

    assert caught.value.details == {"index": 0}
    assert "CANARY" not in caught.value.message


def test_any_other_fault_is_unavailable_without_its_text(client: EncoderClient) -> None:
    with pytest.raises(Unavailable) as caught:
        client.embed(["worse"])

    assert "CANARY" not in str(caught.value.to_wire())


def test_a_lone_surrogate_reaches_the_embedder(client: EncoderClient) -> None:
    assert client.embed(["\ud83d"]).shape == (1, 2)


@pytest.mark.parametrize("token", ["wrong", TOKEN[:-1], "é" * 64])
def test_only_the_token_opens_the_door(url: str, token: str) -> None:
    transport = httpx.HTTPTransport(uds=url.removeprefix("unix://"))
    with httpx.Client(transport=transport, base_url="http://encoder") as stranger:
        headers = [(b"Authorization", f"Bearer {token}".encode())]
        reply = stranger.post("/embed", json={"texts": ["x"], "kind": "document"}, headers=headers)
        ready = stranger.get("/readyz")

    assert reply.status_code == 401
    assert reply.json()["code"] == "unauthorized"
    assert ready.status_code == 200


def test_a_wrong_token_is_unavailable_to_the_caller(url: str) -> None:
    with EncoderClient(url, "wrong", 10) as client, pytest.raises(Unavailable, match="401"):
        client.embed_query("x")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"{}", b'{"texts": "x", "kind": "document"}', b'{"texts": [1], "kind": "document"}',
        b'{"texts": ["x"]}', b'{"texts": ["x"], "kind": "other"}', b'{"texts": ["x", "y"], "kind": "query"}', b"[" * 50_000,
    ],
)  # fmt: skip
def test_a_faulty_body_is_refused(raw: httpx.Client, body: bytes) -> None:
    reply = raw.post("/embed", content=body)

    assert reply.status_code == 400
    assert reply.json()["code"] == "invalid_request"


def test_a_body_that_is_too_large_is_refused_while_it_streams(raw: httpx.Client) -> None:
    reply = raw.post("/chunk", content=iter([b"x" * 60_000] * 3))

    assert reply.status_code == 413


def test_when_too_many_wait_the_next_is_refused_and_then_there_is_room_again(stub: Stub, path: Path) -> None:
    with serving(stub, f"unix://{path}", most_waiting=2) as found, EncoderClient(found, TOKEN, 10) as client:
        stub.gate.clear()
        waiting = [threading.Thread(target=client.embed, args=(["x"],)) for _ in range(2)]
        for thread in waiting:
            thread.start()
        wait_until(lambda: len(stub.calls) == 2, "two requests are inside")

        with pytest.raises(Unavailable, match="503"):
            client.embed(["one more"])
        stub.gate.set()
        for thread in waiting:
            thread.join()
        assert client.embed(["x"]).shape == (1, 2)


def test_the_embedder_is_closed_with_the_server(stub: Stub, path: Path) -> None:
    with serving(stub, f"unix://{path}"):
        assert not stub.closed

    assert stub.closed


def test_a_unix_socket_is_its_owners_and_replaces_one_left_behind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))

    with listen(f"unix://{path}"):
        assert path.stat().st_mode & 0o777 == 0o600
