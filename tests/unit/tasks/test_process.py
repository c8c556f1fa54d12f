"""What processes that run tasks do beside running them."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from infinicon.settings import Settings
from infinicon.tasks import process


def test_beat_leaves_a_sign_of_life_where_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(process, "settings", lambda: Settings(heartbeat_file=tmp_path / "beat"))
    process._sign_of_life()
    assert (tmp_path / "beat").exists()

    monkeypatch.setattr(process, "settings", Settings)
    process._sign_of_life()


def test_a_tick_that_fails_is_one_line() -> None:
    try:
        raise OSError("the broker is away")
    except OSError as fault:
        record = logging.LogRecord(
            "celery.beat", logging.ERROR, "", 0, "Message Error: %s\n%s", (fault, ["a stack"]), sys.exc_info()
        )

    assert process._in_one_line(record)

    assert logging.Formatter().format(record) == "the broker is away"


def test_what_beat_says_otherwise_stays() -> None:
    record = logging.LogRecord("celery.beat", logging.WARNING, "", 0, "late by %s", ("2 s",), None)

    assert process._in_one_line(record)

    assert logging.Formatter().format(record) == "late by 2 s"
