from __future__ import annotations

import asyncio
import threading

import pytest

from infinicon.api import readiness
from infinicon.api.readiness import Readiness
from infinicon.errors import MissingDependency, Unavailable


def test_many_callers_share_one_look() -> None:
    looks: list[int] = []

    async def scenario() -> None:
        ready = Readiness(lambda: looks.append(1))
        await asyncio.gather(*(ready.check() for _ in range(20)))
        await ready.check()

    asyncio.run(scenario())

    assert len(looks) == 1


def test_it_looks_again_when_the_outcome_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "FRESH_SECONDS", -1.0)
    outcomes = [MissingDependency("no extension"), None]

    def look() -> None:
        if fault := outcomes.pop(0):
            raise fault

    async def scenario() -> None:
        ready = Readiness(look)
        with pytest.raises(MissingDependency):
            await ready.check()
        await ready.check()

    asyncio.run(scenario())


def test_a_look_that_hangs_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "PATIENCE_SECONDS", 0.01)
    let_go = threading.Event()

    def look() -> None:
        let_go.wait(30)

    async def scenario() -> None:
        ready = Readiness(look)
        try:
            for _ in range(2):
                with pytest.raises(Unavailable):
                    await ready.check()
        finally:
            let_go.set()

    asyncio.run(scenario())
