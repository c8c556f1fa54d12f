"""Runs are played beside requests, and a fault of one is told of and ends nothing else."""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from infinicon.api.player import Player
from infinicon.domain import Caller, Permission
from infinicon.operations import runs
from tests.waiting import wait_until

CALLER = Caller(1, "acme", uuid4(), frozenset(Permission))


@pytest.fixture
def player(monkeypatch: pytest.MonkeyPatch) -> Player:
    monkeypatch.setattr(runs, "find_other", lambda *_: None)
    nothing = SimpleNamespace(ready=None, wake=None)
    runtime = SimpleNamespace(database=None, keyring=None, counters=None, embedder=nothing)
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
