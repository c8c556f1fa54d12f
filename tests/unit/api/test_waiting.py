from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import UUID, uuid4

import pytest

from infinicon.api import waiting as subject
from infinicon.api.waiting import WaitingRoom
from infinicon.domain import Caller, Permission, Scope
from infinicon.errors import InfiniconError, Internal, Overloaded, Unauthorized, Unavailable
from infinicon.operations import waiting as questions
from infinicon.store.database import Database

DATABASE = cast("Database", None)  # the questions below are answered by a script, not by Postgres
CALLER = Caller(1, "acme", uuid4(), frozenset(Permission))
SCOPE = Scope("acme", "notes")
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@dataclass
class Script:
    """Stands for the two questions: which episodes are pending, and until which moment a scope has pending work."""

    pending_episodes: set[UUID] = field(default_factory=set)
    busy_since: datetime | None = None
    fault: Exception | None = None
    questions: list[object] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)

    def unindexed(self, _database: Database, tenant: int, episodes: Sequence[UUID]) -> set[UUID]:
        self._ask((tenant, frozenset(episodes)))
        return self.pending_episodes & set(episodes)

    def pending(
        self, _database: Database, _caller: Caller, _scope: Scope, before: datetime, _permission: Permission
    ) -> bool:
        self._ask(before)
        return self.busy_since is not None and self.busy_since < before

    def _ask(self, question: object) -> None:
        self.questions.append(question)
        self.asked.set()
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    script = Script()
    monkeypatch.setattr(questions, "unindexed", script.unindexed)
    monkeypatch.setattr(questions, "pending", script.pending)
    monkeypatch.setattr(subject, "SHORTEST_PAUSE", 0.001)
    monkeypatch.setattr(subject, "LONGEST_PAUSE", 0.002)
    return script


async def asked_again(script: Script, times: int = 1) -> None:
    for _ in range(times):
        script.asked.clear()
        await asyncio.to_thread(script.asked.wait, 30)


def test_episodes_that_are_not_pending_let_go_at_once(script: Script) -> None:
    async def scenario() -> bool:
        return await WaitingRoom(DATABASE, patience=30).until_indexed(1, [uuid4()])

    assert asyncio.run(scenario())


def test_waiters_are_freed_as_their_own_episodes_are_done(script: Script) -> None:
    first, second = uuid4(), uuid4()
    script.pending_episodes = {first, second}

    async def scenario() -> tuple[bool, bool, bool]:
        room = WaitingRoom(DATABASE, patience=30)
        one = asyncio.create_task(room.until_indexed(1, [first]))
        both = asyncio.create_task(room.until_indexed(1, [first, second]))
        await asked_again(script, 2)
        script.pending_episodes = {second}
        freed = await one
        still = not both.done()
        script.pending_episodes = set()
        return freed, still, await both

    assert asyncio.run(scenario()) == (True, True, True)
    assert (1, frozenset({first, second})) in script.questions  # one question for both of them
    assert script.questions[-1] == (1, frozenset({second}))  # and no more about what is done


def test_patience_runs_out(script: Script) -> None:
    episode = uuid4()
    script.pending_episodes = {episode}

    async def scenario() -> bool:
        return await WaitingRoom(DATABASE, patience=0.05).until_indexed(1, [episode])

    assert not asyncio.run(scenario())


def test_tenants_are_asked_apart(script: Script) -> None:
    async def scenario() -> None:
        room = WaitingRoom(DATABASE, patience=30)
        await asyncio.gather(room.until_indexed(1, [uuid4()]), room.until_indexed(2, [uuid4()]))

    asyncio.run(scenario())

    assert {question[0] for question in script.questions if isinstance(question, tuple)} == {1, 2}


def test_a_database_that_is_away_costs_time_and_not_the_answer(script: Script) -> None:
    script.fault = Unavailable("away")

    async def scenario() -> bool:
        room = WaitingRoom(DATABASE, patience=30)
        waiter = asyncio.create_task(room.until_indexed(1, [uuid4()]))
        await asked_again(script, 2)
        script.fault = None
        return await waiter

    assert asyncio.run(scenario())


def test_a_fault_of_ours_ends_every_wait_and_the_next_one_starts_afresh(script: Script) -> None:
    script.fault = RuntimeError("broken")

    async def scenario() -> bool:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        room = WaitingRoom(DATABASE, patience=30)
        with pytest.raises(Internal):
            await room.until_indexed(1, [uuid4()])
        script.fault = None
        return await room.until_indexed(1, [uuid4()])

    assert asyncio.run(scenario())


def test_pending_work_before_the_moment_counts_and_later_work_does_not(script: Script) -> None:
    script.busy_since = NOW

    async def scenario() -> tuple[bool, bool, bool]:
        room = WaitingRoom(DATABASE, patience=30)
        before = await room.until_nothing_pending(CALLER, SCOPE, NOW)
        later = asyncio.create_task(room.until_nothing_pending(CALLER, SCOPE, NOW + timedelta(seconds=1)))
        await asked_again(script, 2)
        waits = not later.done()
        script.busy_since = None
        return before, waits, await later

    assert asyncio.run(scenario()) == (True, True, True)


def test_one_callers_fault_is_that_callers_alone(script: Script) -> None:
    script.fault = Unauthorized("not yours", authenticated=True)

    async def scenario() -> tuple[bool | BaseException, bool | BaseException]:
        room = WaitingRoom(DATABASE, patience=30)
        return await asyncio.gather(
            room.until_nothing_pending(CALLER, SCOPE, NOW),
            room.until_nothing_pending(CALLER, SCOPE, NOW),
            return_exceptions=True,
        )

    assert [type(outcome) for outcome in asyncio.run(scenario())] == [Unauthorized, Unauthorized]


def test_only_so_many_may_wait(script: Script) -> None:
    episode = uuid4()
    script.pending_episodes = {episode}

    async def scenario() -> type[InfiniconError] | None:
        room = WaitingRoom(DATABASE, patience=30, capacity=1)
        waiter = asyncio.create_task(room.until_indexed(1, [episode]))
        await asked_again(script)
        try:
            await room.until_indexed(1, [episode])
        except InfiniconError as fault:
            return type(fault)
        finally:
            script.pending_episodes = set()
            await waiter
        return None

    assert asyncio.run(scenario()) is Overloaded


def test_a_stopping_server_sends_everybody_home(script: Script) -> None:
    episode = uuid4()
    script.pending_episodes = {episode}

    async def scenario() -> None:
        room = WaitingRoom(DATABASE, patience=30)
        waiter = asyncio.create_task(room.until_indexed(1, [episode]))
        await asked_again(script)
        room.close()
        for attempt in (waiter, asyncio.create_task(room.until_indexed(1, [episode]))):
            with pytest.raises(Unavailable):
                await attempt

    asyncio.run(scenario())
