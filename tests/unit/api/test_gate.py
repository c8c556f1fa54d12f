from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

from starlette.types import Message, Receive, Scope, Send

from infinicon.api import errors
from infinicon.api.gate import SLOT, Gate
from infinicon.domain import Caller
from infinicon.errors import Overloaded

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


def caller(tenant: int, key: int) -> Caller:
    return Caller(tenant, f"tenant-{tenant}", UUID(int=key), frozenset())


def admitting(callers: list[Caller], release: asyncio.Event) -> App:
    """An app that counts each request as the next caller's, as entry does, and keeps it until it is told to answer."""

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        try:
            scope[SLOT].belong_to(callers.pop(0))
        except Overloaded as fault:
            await errors.response(fault)(scope, _receive, send)
            return
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return app


def statuses_of(callers: list[Caller], capacity: int) -> list[int]:
    """What becomes of requests of these callers that are all there at once; and that they leave nothing behind."""

    async def scenario() -> list[int]:
        release = asyncio.Event()
        gate = Gate(admitting(list(callers), release), capacity)
        working = [asyncio.create_task(status_of(gate, "/v0/ingest")) for _ in callers]
        for _ in range(3):
            await asyncio.sleep(0)
        release.set()
        done = await asyncio.gather(*working)
        assert (gate.taken, gate._of_key, gate._of_tenant) == (0, {}, {})
        return done

    return asyncio.run(scenario())


def test_a_key_gets_half_of_the_places_and_leaves_the_others() -> None:
    callers = [caller(1, 1)] * 10 + [caller(2, 2)] * 2

    assert statuses_of(callers, 12) == [200] * 6 + [429] * 4 + [200] * 2


def test_a_tenant_gets_three_quarters_with_all_its_keys() -> None:
    callers = [caller(1, key) for key in (1, 2, 3) for _ in range(4)] + [caller(2, 4)] * 3

    assert statuses_of(callers, 12) == [200] * 9 + [429] * 3 + [200] * 3


def test_the_only_place_can_be_had() -> None:
    assert statuses_of([caller(1, 1)], 1) == [200]


def test_who_waits_is_not_counted_any_more() -> None:
    async def scenario() -> list[int]:
        release = asyncio.Event()
        statuses = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            scope[SLOT].belong_to(caller(1, 1))
            scope[SLOT].release()
            await admitting([caller(1, 1)], release)(scope, receive, send)

        gate = Gate(app, capacity=2)
        working = [asyncio.create_task(status_of(gate, "/v0/query")) for _ in range(5)]
        await asyncio.sleep(0)
        statuses.append(gate.taken)
        release.set()
        return statuses + await asyncio.gather(*working)

    assert asyncio.run(scenario()) == [0, 200, 200, 200, 200, 200]
