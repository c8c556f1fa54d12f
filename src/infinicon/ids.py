"""UUID version 7 (RFC 9562): ids that sort by the time of their making, and within one process strictly."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from uuid import UUID


class Clock:
    """Milliseconds and a 12-bit counter in one number, which only grows, also when the clock goes back (RFC 9562, 6.2)."""

    def __init__(self, milliseconds: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._milliseconds = milliseconds
        self._lock = threading.Lock()
        self._last = 0

    def tick(self) -> int:
        with self._lock:
            self._last = max(self._last + 1, self._milliseconds() << 12)
            return self._last


_clock = Clock()


def new_id(clock: Clock = _clock) -> UUID:
    """A new UUIDv7; ids of one clock strictly increase."""
    tick = clock.tick()
    stamp, counter = tick >> 12, tick & 0xFFF
    return UUID(int=stamp << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | secrets.randbits(62))


def parse_id(text: str) -> UUID | None:
    """An id in its canonical form; other spellings of an id are other ids, and None."""
    try:
        value = UUID(text)
    except ValueError:
        return None
    return value if str(value) == text else None
