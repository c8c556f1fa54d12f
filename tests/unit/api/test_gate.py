from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Receive, Scope, Send

from infinicon.api.gate import SLOT, Gate

App = Callable[[Scope, Receive, Send], Awaitable[None]]


async def status_of(gate: Gate, path: str) -> int:
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await gate({"type": "http", "method": "GET", "path": path, "headers": []}, receive, send)
    return statuses[0]


def holding(release: asyncio.Event, *, leave: bool = False) -> App:
    """An app that keeps a request until it is told to answer, after giving up its place where it may."""

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        if leave and SLOT in scope:
            scope[SLOT].release()
            scope[SLOT].release()
        if SLOT in scope:
            await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return app


def test_one_over_the_capacity_is_sent_away_and_health_is_not() -> None:
    async def scenario() -> tuple[int, int, list[int], int, int]:
        release = asyncio.Event()
        gate = Gate(holding(release), capacity=2)
        working = [asyncio.create_task(status_of(gate, "/v0/query")) for _ in range(2)]
        await asyncio.sleep(0)
        over, health = await status_of(gate, "/v0/query"), await status_of(gate, "/healthz")
        release.set()
        done = await asyncio.gather(*working)
        return over, health, done, await status_of(gate, "/v0/query"), gate.taken

    assert asyncio.run(scenario()) == (429, 200, [200, 200], 200, 0)


def test_a_request_that_waits_makes_room_once() -> None:
    async def scenario() -> tuple[int, int]:
        release = asyncio.Event()
        gate = Gate(holding(release, leave=True), capacity=1)
        waiting = [asyncio.create_task(status_of(gate, "/v0/ingest")) for _ in range(3)]
        await asyncio.sleep(0)
        taken = gate.taken
        release.set()
        await asyncio.gather(*waiting)
        return taken, gate.taken

    assert asyncio.run(scenario()) == (0, 0)


def test_a_request_that_breaks_gives_its_place_back() -> None:
    async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError

    async def scenario() -> int:
        gate = Gate(broken, capacity=1)
        for _ in range(3):
            try:
                await status_of(gate, "/v0/query")
            except RuntimeError:
                continue
        return gate.taken

    assert asyncio.run(scenario()) == 0
