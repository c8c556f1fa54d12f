from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from fastapi import FastAPI, Request
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from infinicon.api import body, errors, limits
from infinicon.api.answers import answer
from infinicon.errors import InvalidRequest, Overloaded, UnsupportedMediaType

LIMIT = 1000
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client() -> Iterator[TestClient]:
    app = FastAPI()

    @app.post("/length")
    async def length(request: Request) -> Response:
        return answer(len(await body.read(request)))

    errors.install(app)
    app.add_middleware(body.BodyLimit, max_bytes=LIMIT, max_bytes_together=2 * LIMIT)
    with TestClient(app) as client:
        yield client


def test_takes_a_body_of_exactly_the_limit(client: TestClient) -> None:
    assert client.post("/length", content=b"x" * LIMIT, headers=JSON).json() == LIMIT


def test_refuses_by_the_announced_length(client: TestClient) -> None:
    reply = client.post("/length", content=b"x" * (LIMIT + 1), headers=JSON)

    assert reply.status_code == 413
    assert reply.json()["code"] == "too_large"
    assert reply.json()["details"] == {"field": "body", "limit": LIMIT}


def test_counts_what_was_not_announced(client: TestClient) -> None:
    sent = 0

    def chunks() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(11):
            sent += 100
            yield b"x" * 100

    reply = client.post("/length", content=chunks(), headers=JSON)

    assert "content-length" not in reply.request.headers
    assert reply.status_code == 413


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/vnd.infinicon+json",
    ],
)
def test_takes_json(content_type: str) -> None:
    body.check_media_type(Headers({"content-type": content_type}))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": ""},
        {"content-type": "text/plain"},
        {"content-type": "text/json"},
        {"content-type": "application/jsonp"},
        {"content-type": "application/json; charset=utf-16"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ],
)
def test_refuses_what_is_not_plain_json(headers: dict[str, str]) -> None:
    with pytest.raises(UnsupportedMediaType):
        body.check_media_type(Headers(headers))


def test_a_body_that_drips_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece comes before the pause is too long; all of them together never end."""
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.05)

    async def drip() -> dict[str, object]:
        await asyncio.sleep(0.005)
        return {"type": "http.request", "body": b"x", "more_body": True}

    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", b"application/json")]}
    with pytest.raises(InvalidRequest, match="bytes a second"):
        asyncio.run(asyncio.wait_for(body.read(Request(scope, drip)), 10))


def test_all_bodies_together_are_bounded_and_small_ones_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SMALL_BODY_BYTES", 100)

    async def scenario() -> tuple[list[int], list[int]]:
        sizes: list[int] = []
        hold = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            sizes.append(len((await receive())["body"]))
            await hold.wait()

        limited = body.BodyLimit(app, max_bytes=LIMIT, max_bytes_together=2 * LIMIT)

        async def request(size: int) -> None:
            async def receive() -> Message:
                return {"type": "http.request", "body": b"x" * size}

            async def send(message: Message) -> None: ...

            await limited({"type": "http", "headers": []}, receive, send)

        async with asyncio.TaskGroup() as group:
            for size in (LIMIT, LIMIT, 100):
                group.create_task(request(size))
            await asyncio.sleep(0)
            with pytest.raises(Overloaded):
                await request(101)
            before = list(sizes)
            hold.set()
        await request(101)  # those that are done hold nothing any more
        return before, sizes

    before, after = asyncio.run(scenario())
    assert before == [LIMIT, LIMIT, 100]
    assert after == [*before, 101]
