from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from infinicon.api import logs, strict_json
from infinicon.errors import InvalidRequest


@pytest.fixture
def hooks() -> Iterator[None]:
    """configure() changes the process; put it back."""
    root = logging.getLogger()
    handlers, level, hook = root.handlers[:], root.level, threading.excepthook
    yield
    root.handlers[:], threading.excepthook = handlers, hook
    root.setLevel(level)


def logged(function: Callable[[], object]) -> list[str]:
    """The lines that a log of the function's exception consists of."""
    with pytest.raises((ValueError, InvalidRequest)) as caught:
        function()
    info = (caught.type, caught.value, caught.tb)
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "it failed", None, info)
    return logs.Formatter("%(message)s").format(record).splitlines()


def test_an_exception_is_logged_by_type_and_our_lines() -> None:
    lines = logged(lambda: strict_json.loads(b"CANARY-77"))

    assert lines[:2] == ["it failed", "infinicon.errors.InvalidRequest"]
    assert lines[2].startswith("  api/strict_json.py:")


def test_the_text_of_a_foreign_exception_is_dropped() -> None:
    assert logged(lambda: int("CANARY-77")) == ["it failed", "builtins.ValueError"]


@pytest.mark.usefixtures("hooks")
def test_a_thread_that_breaks_is_logged_without_text(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO")
    thread = threading.Thread(target=int, args=("CANARY-77",), name="worker-1")
    thread.start()
    thread.join()

    said = capsys.readouterr().err
    assert "worker-1 ended" in said
    assert "builtins.ValueError" in said
    assert "CANARY" not in said
