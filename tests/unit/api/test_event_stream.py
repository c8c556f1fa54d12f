from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from fastapi import Request
from starlette.types import Message

from infinicon.api import event_stream as subject
from infinicon.api import limits
from infinicon.api import streams as room
from infinicon.api.entry import Call, House
from infinicon.api.event_stream import EventStream
from infinicon.api.protocol import HANG_UP
from infinicon.api.streams import Streams
from infinicon.domain import Caller, EventPage, EventType, MemoryEvent, Permission, Scope, SubscribeRequest
from infinicon.errors import InvalidCursor, Unauthorized, Unavailable
from infinicon.operations import events, keys
from tests.unit.api.samples import WHEN

SCOPE = Scope("acme", "notes")
CALLER = Caller(1, "acme", uuid4(), frozenset(Permission))
NOTHING = cast("Any", None)


class Feed:
    """Stands for Postgres: a feed whose cursors are plain numbers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.length = 0
        self.fault: Exception | None = None
        self.key_fault: Exception | None = None
        self.failed = threading.Semaphore(0)
        self.reads = 0
        self.streams = Streams(cast("Any", SimpleNamespace(database=None, keyring=None)), capacity=2, per_key=2)
        monkeypatch.setattr(events, "subscribe", lambda _d, _k, _c, request: self.page(request))
        monkeypatch.setattr(events, "heads", lambda _d, _t, _n: {"notes": self.length})
        monkeypatch.setattr(keys, "authenticate", lambda _d, _token: self.caller())
        monkeypatch.setattr(room, "SHORTEST_PAUSE", 0.001)
        monkeypatch.setattr(room, "LONGEST_PAUSE", 0.002)

    def caller(self) -> Caller:
        if self.key_fault:
            raise self.key_fault
        return CALLER

    def page(self, request: SubscribeRequest) -> EventPage:
        self.reads += 1
        if self.fault:
            self.failed.release()
            raise self.fault
        start = int(request.cursor or 0)
        end = min(self.length, start + request.limit)
        found = [
            MemoryEvent(EventType.MEMORY_INDEXED, SCOPE, str(number + 1), WHEN, None, UUID(int=number))
            for number in range(start, end)
            if EventType.MEMORY_INDEXED in request.types
        ]
        return EventPage(found, str(end), end, end < self.length)

    def stream(self, request: SubscribeRequest | None = None) -> EventStream:
        asked = request or SubscribeRequest(SCOPE)
        http = Request({"type": "http", "headers": [(b"authorization", b"Bearer inf_x")]})
        call = Call(House(NOTHING, NOTHING, NOTHING, NOTHING, self.streams, NOTHING, NOTHING), CALLER, http, b"")
        return EventStream(call, asked, self.page(asked))


class Reader:
    """A reader over ASGI. It takes what comes until it stalls or goes."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.body = b""
        self.went = asyncio.Event()
        self.told = asyncio.Event()
        self.takes = asyncio.Event()
        self.takes.set()
        self.hung_up = False

    async def send(self, message: Message) -> None:
        await self.takes.wait()
        self.messages.append(message)
        self.body += message.get("body", b"")
        self.told.set()

    async def receive(self) -> Message:
        await self.went.wait()
        return {"type": "http.disconnect"}

    def read(self, stream: EventStream) -> asyncio.Task[None]:
        scope = {"type": "http", "method": "GET", HANG_UP: self.hang_up}
        return asyncio.create_task(cast("Any", stream(scope, self.receive, self.send)))

    def hang_up(self) -> None:
        self.hung_up = True
        self.went.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                self.told.clear()
                await self.told.wait()

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def ids(self) -> list[str]:
        """Of events, and not of heartbeats."""
        frames = [frame.splitlines() for frame in self.body.decode().split("\n\n")]
        return [lines[0].removeprefix("id: ") for lines in frames if len(lines) == 3 and lines[0].startswith("id: ")]


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    return Feed(monkeypatch)


def played(scene: Callable[[], Coroutine[Any, Any, Reader]]) -> Reader:
    return asyncio.run(asyncio.wait_for(scene(), 60))


def test_what_is_there_then_what_comes_then_a_last_word(feed: Feed) -> None:
    feed.length = 250  # more than a page

    async def scene() -> Reader:
        reader = Reader()
        task = reader.read(feed.stream())
        await reader.until(lambda: len(reader.ids) == 250)
        feed.length = 253
        await reader.until(lambda: len(reader.ids) == 253)
        feed.streams.close()
        await task
        return reader

    reader = played(scene)
    assert reader.ids == [str(number) for number in range(1, 254)]
    assert reader.status == 200
    assert reader.headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
        "x-content-type-options": "nosniff",
    }
    assert reader.body.endswith(subject.FAREWELL)
    assert reader.messages[-1] == {"type": "http.response.body", "body": b""}
    assert feed.streams.open == 0


def test_it_goes_on_behind_the_cursor(feed: Feed) -> None:
    feed.length = 5

    async def scene() -> Reader:
        reader = Reader()
        task = reader.read(feed.stream(SubscribeRequest(SCOPE, cursor="3")))
        await reader.until(lambda: len(reader.ids) == 2)
        reader.went.set()
        await task
        return reader

    assert played(scene).ids == ["4", "5"]


def test_silence_is_broken_and_the_cursor_moves_past_what_is_not_asked_for(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HEARTBEAT_SECONDS", 0.01)
    feed.length = 5

    async def scene() -> Reader:
        reader = Reader()
        task = reader.read(feed.stream(SubscribeRequest(SCOPE, types=(EventType.MEMORY_DISPUTED,))))
        await reader.until(lambda: b"id: 5\n\n" in reader.body)
        feed.length = 7
        await reader.until(lambda: reader.body.count(b": still here\nid: 7\n\n") >= 2)
        reader.went.set()
        await task
        return reader

    assert b"event:" not in played(scene).body


def test_a_reader_without_events_learns_its_cursor_at_once(feed: Feed) -> None:
    async def scene() -> Reader:
        reader = Reader()
        task = reader.read(feed.stream())
        await reader.until(lambda: b"id: 0\n\n" in reader.body)
        reader.went.set()
        await task
        return reader

    assert played(scene).body.startswith(subject.OPENING)


def test_a_reader_who_goes_gives_its_place_back_at_whatever_moment(feed: Feed) -> None:
    async def scene() -> Reader:
        reader = Reader()
        for moment in range(40):
            reader = Reader()
            task = reader.read(feed.stream())
            for _ in range(moment % 8):
                await asyncio.sleep(0)
            reader.went.set()
            await task
            assert feed.streams.open == 0
        return reader

    played(scene)


def test_a_stream_that_is_never_sent_holds_nothing(feed: Feed) -> None:
    for _ in range(10):
        feed.stream()

    assert feed.streams.open == 0


def test_one_stream_too_many_is_told_to_come_back(feed: Feed) -> None:
    async def scene() -> Reader:
        readers = [Reader(), Reader()]
        tasks = [reader.read(feed.stream()) for reader in readers]
        for reader in readers:
            await reader.until(lambda reader=reader: bool(reader.messages))  # type: ignore[misc]  # bound to this one
        over = Reader()
        await over.read(feed.stream())
        for reader in readers:
            reader.went.set()
        await asyncio.gather(*tasks)
        return over

    over = played(scene)
    assert over.status == 429
    assert over.headers["retry-after"] == "1"
    assert json.loads(over.body)["code"] == "overloaded"


def test_a_stopping_server_takes_no_stream(feed: Feed) -> None:
    async def scene() -> Reader:
        feed.streams.close()
        reader = Reader()
        await reader.read(feed.stream())
        return reader

    assert played(scene).status == 503


def last_event(reader: Reader) -> tuple[str, dict[str, Any]]:
    kind, data = reader.body.decode().rstrip("\n").split("\n\n")[-1].split("\n")
    return kind, json.loads(data.removeprefix("data: "))


@pytest.mark.parametrize("place", ["key", "cursor"])
def test_a_stream_that_cannot_go_on_says_why(feed: Feed, place: str) -> None:
    """A key that was revoked, and a reader so slow that what it wants next is not kept any more."""

    async def scene() -> Reader:
        reader = Reader()
        task = reader.read(feed.stream())
        await reader.until(lambda: bool(reader.body))
        if place == "key":
            feed.key_fault = Unauthorized("the API key is not valid")
        else:
            feed.fault = InvalidCursor("not kept any more")
        feed.length = 1
        await task
        return reader

    kind, fault = last_event(played(scene))
    assert kind == "event: error"
    assert fault["code"] == ("unauthorized" if place == "key" else "invalid_cursor")


def test_a_database_that_is_away_ends_no_stream(feed: Feed) -> None:
    async def scene() -> Reader:
        reader = Reader()
        task = reader.read(feed.stream())
        await reader.until(lambda: bool(reader.body))
        feed.fault = Unavailable("away")
        feed.length = 3
        assert await asyncio.to_thread(feed.failed.acquire, timeout=30)
        assert await asyncio.to_thread(feed.failed.acquire, timeout=30)
        feed.fault = None
        await reader.until(lambda: len(reader.ids) == 3)
        reader.went.set()
        await task
        return reader

    assert played(scene).ids == ["1", "2", "3"]


def test_a_slow_reader_holds_one_page_and_nobody_else(feed: Feed) -> None:
    feed.length = 5_000

    async def scene() -> Reader:
        slow, quick = Reader(), Reader()
        slow.takes.clear()
        tasks = [slow.read(feed.stream()), quick.read(feed.stream(SubscribeRequest(SCOPE, cursor="4900")))]
        await quick.until(lambda: len(quick.ids) == 100)
        reads = feed.reads
        slow.takes.set()
        await slow.until(lambda: len(slow.ids) == 5_000)
        for reader in (slow, quick):
            reader.went.set()
        await asyncio.gather(*tasks)
        assert reads < 10
        return slow

    assert len(set(played(scene).ids)) == 5_000


def test_a_reader_that_takes_nothing_is_hung_up_on(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STREAM_STALL_SECONDS", 0.01)
    feed.length = 1

    async def scene() -> Reader:
        reader = Reader()
        reader.takes.clear()
        await reader.read(feed.stream())
        return reader

    assert played(scene).hung_up
    assert feed.streams.open == 0


def test_a_stopping_server_does_not_wait_for_who_takes_nothing(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "LAST_WORD_SECONDS", 0.01)

    async def scene() -> Reader:
        reader = Reader()
        task = reader.read(feed.stream())
        await reader.until(lambda: bool(reader.body))
        reader.takes.clear()
        feed.length = 1
        await asyncio.sleep(0)
        feed.streams.close()
        await task
        return reader

    assert played(scene).hung_up
    assert feed.streams.open == 0


def test_a_cancelled_stream_gives_its_place_back(feed: Feed) -> None:
    """As the server does it once its grace is over."""

    async def scene() -> Reader:
        reader = Reader()
        task = reader.read(feed.stream())
        await reader.until(lambda: bool(reader.body))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return reader

    played(scene)
    assert feed.streams.open == 0


def test_the_page_of_a_stream_is_not_the_caller_s_to_choose(feed: Feed) -> None:
    asked = SubscribeRequest(SCOPE, limit=1_000)

    assert feed.stream(asked)._request == replace(asked, limit=limits.EVENTS_DEFAULT)
