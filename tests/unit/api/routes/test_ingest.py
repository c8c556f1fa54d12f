from __future__ import annotations

import asyncio
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from fastapi import Request

from infinicon.api import gate
from infinicon.api.entry import Call, House
from infinicon.api.routes.ingest import until_visible
from infinicon.domain import (
    Caller,
    Fault,
    IngestReply,
    IngestResult,
    IngestStatus,
    MemoryRef,
    MemoryType,
    Permission,
    Scope,
)
from infinicon.errors import IndexTimeout, Overloaded
from infinicon.operations import waiting

SCOPE = Scope("acme", "notes")
CREATED, KNOWN = (MemoryRef(uuid4(), MemoryType.EPISODE, SCOPE) for _ in range(2))
FAULT = Fault("plugin_failed", "the extractor failed", retryable=False)
REPLY = IngestReply(
    [
        IngestResult(CREATED, IngestStatus.CREATED),
        IngestResult(KNOWN, IngestStatus.DEDUPLICATED),
        IngestResult(MemoryRef(UUID(int=0), MemoryType.EPISODE, SCOPE), IngestStatus.REJECTED, FAULT),
    ],
    uuid4(),
)


class Room:
    """A waiting room that has made up its mind."""

    def __init__(self, outcome: bool | Exception) -> None:
        self.outcome = outcome
        self.asked: list[set[UUID]] = []

    async def until_indexed(self, _tenant: int, episodes: Collection[UUID]) -> bool:
        self.asked.append(set(episodes))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def wait_for(reply: IngestReply, room: Room, monkeypatch: pytest.MonkeyPatch, failed: dict[UUID, Fault]) -> gate.Gate:
    monkeypatch.setattr(waiting, "failed", lambda _database, _tenant, _episodes: failed)
    door = gate.Gate(cast("Any", None), capacity=1)
    request = Request({"type": "http", gate.SLOT: gate.Slot(door)})
    nothing = cast("Any", None)
    house = House(
        cast("Any", SimpleNamespace(database=None)), nothing, cast("Any", room), nothing, nothing, nothing, nothing
    )
    call = Call(house, Caller(1, "acme", uuid4(), frozenset(Permission)), request, b"")
    asyncio.run(until_visible(call, reply))
    return door


def test_created_and_deduplicated_episodes_are_waited_for_outside_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(outcome=True)

    assert wait_for(REPLY, room, monkeypatch, {}).taken == 0
    assert room.asked == [{CREATED.id, KNOWN.id}]


@pytest.mark.parametrize("outcome", [False, Overloaded("too many wait")])
def test_what_is_not_visible_in_time_is_still_accounted_for(
    monkeypatch: pytest.MonkeyPatch, outcome: bool | Exception
) -> None:
    with pytest.raises(IndexTimeout) as caught:
        wait_for(REPLY, Room(outcome), monkeypatch, {})

    details: Any = caught.value.details
    assert details["jobId"] == str(REPLY.job_id)
    assert [result["status"] for result in details["results"]] == ["created", "deduplicated", "rejected"]
    assert "failed" not in details


def test_an_episode_that_failed_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IndexTimeout) as caught:
        wait_for(REPLY, Room(outcome=True), monkeypatch, {KNOWN.id: FAULT})

    (failed,) = cast("Any", caught.value.details["failed"])
    assert failed["ref"]["id"] == str(KNOWN.id)
    assert failed["error"]["code"] == "plugin_failed"


def test_nothing_accepted_is_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(outcome=False)

    wait_for(IngestReply(REPLY.results[2:], REPLY.job_id), room, monkeypatch, {})

    assert room.asked == []
