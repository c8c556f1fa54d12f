"""How far it is."""

from __future__ import annotations

import io

import pytest

from infinicon.cli.ingesting import progress
from infinicon.cli.ingesting.progress import CLEAR, Display, Pace, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_rate_is_that_of_the_last_seconds() -> None:
    pace = Pace()
    assert (pace.rate, pace.left(10)) == (0.0, None)
    for second in range(100):
        pace.add(float(second), 1000.0 * second if second < 50 else 50_000.0 + 10 * second)

    assert pace.rate == pytest.approx(10)
    assert pace.left(100) == pytest.approx(10)


def test_nothing_moves() -> None:
    pace = Pace()
    pace.add(0, 5)
    pace.add(1, 5)

    assert (pace.rate, pace.left(10)) == (0.0, None)


def test_a_terminal_has_one_line_that_is_drawn_anew() -> None:
    terminal = Terminal()
    display = Display(terminal)
    assert display.is_due()
    display.show("one")
    assert not display.is_due()
    display.show("two " * 100)
    display.note("stays")
    display.clear()

    first, second, rest = terminal.getvalue().split(CLEAR)[1:]
    assert first == "one"
    assert len(second) < 200
    assert rest == "stays\n"


def test_elsewhere_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    stream = io.StringIO()
    display = Display(stream)

    assert not display.is_due()
    now[0] += progress.LINE_SECONDS
    assert display.is_due()
    display.show("one")
    assert not display.is_due()
    display.clear()
    assert stream.getvalue() == "one\n"


def test_quiet_is_never_due_and_still_notes() -> None:
    stream = Terminal()
    display = Display(stream, quiet=True)
    display.note("a fault")

    assert not display.is_due()
    assert stream.getvalue() == "a fault\n"


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (65, "1:05"), (3599.7, "1:00:00"), (7325, "2:02:05")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
