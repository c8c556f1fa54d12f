"""What is advertised is looked at, and is kept for a moment."""

from __future__ import annotations

import asyncio

import pytest

from infinicon.api import readiness
from infinicon.api.discovery import Discovery
from infinicon.api.wire.discovery import Advertised
from infinicon.errors import Unavailable


def test_many_callers_share_one_look() -> None:
    looks: list[Advertised] = []

    def look() -> Advertised:
        looks.append(Advertised("chars", semantic=True))
        return looks[-1]

    async def scenario() -> list[Advertised]:
        discovery = Discovery(look)
        return await asyncio.gather(*(discovery.advertised() for _ in range(20)))

    assert asyncio.run(scenario()) == looks * 20


def test_what_has_changed_is_told_and_a_fault_is_no_old_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "FRESH_SECONDS", -1.0)
    outcomes = [Advertised("chars", semantic=True), None, Advertised(None, semantic=False)]

    def look() -> Advertised:
        found = outcomes.pop(0)
        if found is None:
            raise Unavailable("nobody answers")
        return found

    async def scenario() -> None:
        discovery = Discovery(look)
        assert (await discovery.advertised()).semantic
        with pytest.raises(Unavailable):
            await discovery.advertised()
        assert (await discovery.advertised()).token_counter is None

    asyncio.run(scenario())
