from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest

from infinicon.api import streams as subject
from infinicon.api.streams import Streams
from infinicon.errors import Overloaded, Unavailable
from infinicon.operations import events

RUNTIME = cast("Any", SimpleNamespace(database=None))  # the question below is answered by a script, not by Postgres


class Script:
    """Stands for the question where feeds end."""

    def __init__(self) -> None:
        self.heads: dict[str, int] = {}
        self.questions: list[tuple[int, frozenset[str]]] = []
        self.asked = threading.Event()
        self.fault: Exception | None = None

    def __call__(self, _database: object, tenant: int, names: Collection[str]) -> dict[str, int]:
        self.questions.append((tenant, frozenset(names)))
        self.asked.set()
        if self.fault is not None:
            raise self.fault
        return self.heads


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    script = Script()
    monkeypatch.setattr(events, "heads", script)
    monkeypatch.setattr(subject, "SHORTEST_PAUSE", 0.001)
    monkeypatch.setattr(subject, "LONGEST_PAUSE", 0.002)
    return script


async def asked_again(script: Script, times: int = 1) -> None:
    for _ in range(times):
        script.asked.clear()
        await asyncio.to_thread(script.asked.wait, 30)


def test_one_question_for_all_streams_of_a_tenant(script: Script) -> None:
    script.heads = {"a": 5, "b": 5}

    async def scenario() -> tuple[bool, bool]:
        streams = Streams(RUNTIME)
        waits = [asyncio.create_task(streams.until_moved(1, name, 5, 30)) for name in ("a", "a", "b")]
        await asked_again(script, 2)
        still = any(wait.done() for wait in waits)
        script.heads = {"a": 6, "b": 5}
        await asyncio.gather(*waits[:2])
        later = waits[2].done()
        script.heads = {"b": 6}
        await waits[2]
        return still, later

    assert asyncio.run(scenario()) == (False, False)
    assert (1, frozenset({"a", "b"})) in script.questions
    assert script.questions[-1] == (1, frozenset({"b"}))


def test_a_namespace_that_comes_to_be_is_news(script: Script) -> None:
    async def scenario() -> None:
        streams = Streams(RUNTIME)
        wait = asyncio.create_task(streams.until_moved(1, "later", 0, 30))
        await asked_again(script, 2)
        assert not wait.done()
        script.heads = {"later": 1}
        await wait

    asyncio.run(scenario())


def test_time_runs_out_and_nobody_is_asked_for_those_who_left(script: Script) -> None:
    async def scenario() -> int:
        streams = Streams(RUNTIME)
        await streams.until_moved(1, "a", 0, 0.01)
        poller = streams._poller
        assert poller is not None
        await poller
        return len(script.questions)

    assert asyncio.run(scenario()) >= 1


def test_a_database_that_is_away_is_no_news(script: Script) -> None:
    script.fault = Unavailable("away")

    async def scenario() -> None:
        streams = Streams(RUNTIME)
        wait = asyncio.create_task(streams.until_moved(1, "a", 0, 30))
        await asked_again(script, 3)
        assert not wait.done()
        script.heads, script.fault = {"a": 1}, None
        await wait

    asyncio.run(scenario())


def test_a_fault_of_ours_costs_time_and_no_stream(script: Script) -> None:
    script.fault = RuntimeError("broken")

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        streams = Streams(RUNTIME)
        await streams.until_moved(1, "a", 0, 0.01)
        script.heads, script.fault = {"a": 1}, None
        await asyncio.wait_for(streams.until_moved(1, "a", 0, 30), 20)

    asyncio.run(scenario())


def test_a_stopping_server_wakes_everybody_and_takes_nobody(script: Script) -> None:
    async def scenario() -> None:
        streams = Streams(RUNTIME)
        waits = [asyncio.create_task(streams.until_moved(1, "a", 0, 30)) for _ in range(3)]
        await asked_again(script)
        streams.close()
        await asyncio.gather(*waits)
        await streams.until_moved(1, "a", 0, 30)
        with pytest.raises(Unavailable), streams.place(uuid4()):
            pass

    asyncio.run(scenario())


def test_places_are_counted_for_the_process_and_for_each_key() -> None:
    one, two, three = uuid4(), uuid4(), uuid4()
    streams = Streams(RUNTIME, capacity=3, per_key=2)

    with streams.place(one), streams.place(one):
        with pytest.raises(Overloaded, match="this key"), streams.place(one):
            pass
        with streams.place(two):
            assert streams.open == 3
            with pytest.raises(Overloaded, match="the server"), streams.place(three):
                pass
        with streams.place(three):
            pass
    assert streams.open == 0
    assert not streams._held


def test_pages_are_read_by_a_few_at_a_time() -> None:
    """However many streams wake at once, requests keep their threads and connections."""
    at_once: list[int] = []
    running = 0
    lock = threading.Lock()
    gate = threading.Event()

    def read() -> None:
        nonlocal running
        with lock:
            running += 1
            at_once.append(running)
            if len(at_once) == subject.THREADS:
                gate.set()
        gate.wait(30)
        with lock:
            running -= 1

    async def scenario() -> None:
        streams = Streams(RUNTIME)
        await asyncio.gather(*(streams.ask(read) for _ in range(40)))

    asyncio.run(scenario())

    assert max(at_once) == subject.THREADS
