"""Runs are played beside requests, and a fault of one is told of and ends nothing else."""

from __future__ import annotations

import json
import logging
import threading
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from infinicon.api.entry import Call, House
from infinicon.api.player import Player
from infinicon.api.routes import conformance
from infinicon.domain import Caller, Permission
from infinicon.errors import Unavailable
from infinicon.operations import runs
from infinicon.operations.workflows import COUNTED, OF_TWO_TENANTS, WORKFLOWS
from tests.waiting import wait_until

CALLER = Caller(1, "acme", uuid4(), frozenset(Permission))


@pytest.fixture
def player(monkeypatch: pytest.MonkeyPatch) -> Player:
    monkeypatch.setattr(runs, "find_other", lambda *_: None)
    nothing = SimpleNamespace(ready=None, wake=None)
    counters = SimpleNamespace(budget_unit=lambda: None)
    runtime = SimpleNamespace(database=None, keyring=None, counters=counters, embedder=nothing)
    return Player(cast("Any", runtime), cast("Any", nothing))


def test_a_fault_is_told_and_the_next_run_is_played(
    player: Player, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    played = threading.Event()
    faulty, good = uuid4(), uuid4()

    def play(_parts: object, caller: Caller, run: UUID) -> None:
        if run == faulty:
            raise ZeroDivisionError("CANARY-77")
        assert (caller, run) == (CALLER, good)
        played.set()

    monkeypatch.setattr(runs, "play", play)
    with caplog.at_level(logging.ERROR):
        player.play(CALLER, faulty)
        wait_until(lambda: "ZeroDivisionError" in caplog.text, "the fault is told")
        player.play(CALLER, good)
        assert played.wait(10)

    assert "CANARY-77" not in caplog.text
    player.close()


@pytest.mark.parametrize(
    ("other", "unit", "unplayable"),
    [
        (None, None, OF_TWO_TENANTS | COUNTED),
        (CALLER, None, COUNTED),
        (None, "chars", OF_TWO_TENANTS),
        (CALLER, "chars", set()),
    ],
)
def test_what_can_be_played_and_nothing_else_is_begun(
    player: Player, monkeypatch: pytest.MonkeyPatch, other: Caller | None, unit: str | None, unplayable: set[str]
) -> None:
    monkeypatch.setattr(runs, "find_other", lambda *_: other)
    monkeypatch.setattr(player.parts().counters, "budget_unit", lambda: unit)

    assert set(player.playable()) == WORKFLOWS.keys() - unplayable
    for workflow in unplayable:
        with pytest.raises(Unavailable):
            conformance.start_run(asking(player, workflow))


def asking(player: Player, workflow: str) -> Call:
    """A request for a run, in a house that has nothing but the player."""
    house = SimpleNamespace(player=player, runtime=SimpleNamespace(database=None))
    return Call(cast("House", house), CALLER, cast("Any", None), json.dumps({"workflowId": workflow}).encode())
