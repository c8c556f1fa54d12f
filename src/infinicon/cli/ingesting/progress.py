"""How far it is: one line that is drawn anew on a terminal, a line every ten seconds elsewhere, none when quiet."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import deque
from typing import TextIO

from infinicon.cli.output import clipped

DRAW_SECONDS = 0.2
LINE_SECONDS = 10.0
WINDOW_SECONDS = 20.0
CLEAR = "\r\x1b[2K"


class Pace:
    """How fast a number grows, by its last twenty seconds: what was quick before says nothing of what comes."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque()

    def add(self, now: float, value: float) -> None:
        self._samples.append((now, value))
        while len(self._samples) > 2 and self._samples[1][0] <= now - WINDOW_SECONDS:
            self._samples.popleft()

    @property
    def rate(self) -> float:
        """A second; 0 before anything has moved."""
        if not self._samples:
            return 0.0
        (began, before), (now, value) = self._samples[0], self._samples[-1]
        return max(0.0, value - before) / (now - began) if now > began else 0.0

    def left(self, remaining: float) -> float | None:
        """Seconds until `remaining` more; None where nothing moves."""
        return remaining / self.rate if self.rate > 0 else None


class Display:
    """The line, on standard error. `is_due` says when the next one is wanted, so that nobody makes lines that are not shown."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._quiet = quiet
        self._drawn = False
        self._lock = threading.RLock()  # those who send have notes, too
        self._last = time.monotonic() if not self._live else 0.0

    def is_due(self) -> bool:
        return not self._quiet and time.monotonic() - self._last >= (DRAW_SECONDS if self._live else LINE_SECONDS)

    def show(self, line: str) -> None:
        self._last = time.monotonic()
        width = shutil.get_terminal_size().columns - 1
        with self._lock:
            self._stream.write(CLEAR + clipped(line, width) if self._live else line + "\n")
            self._stream.flush()
            self._drawn = self._live

    def note(self, line: str) -> None:
        """Something that stays, above the line."""
        with self._lock:
            self.clear()
            self._stream.write(line + "\n")
            self._stream.flush()

    def clear(self) -> None:
        with self._lock:
            if self._drawn:
                self._stream.write(CLEAR)
                self._stream.flush()
                self._drawn = False


def duration(seconds: float) -> str:
    """1:05, or 1:02:05."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
