"""Episodes gathered into requests: those of one scope together, in their order, up to a number and a size."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from infinicon.cli.ingesting.shaping import Prepared

OPEN_SCOPES = 64
"""Scopes whose episodes wait for more of their kind; the one that has waited longest goes first."""
REQUEST_BYTES = 4 * 1024 * 1024
"""Of episodes in one request, beyond its first: far from what a server takes (32 MiB), and enough of short ones."""
WAITING_BYTES = 2 * REQUEST_BYTES
"""Of all episodes that wait, whatever their scopes."""


@dataclass(frozen=True, slots=True)
class Request:
    """What one POST carries."""

    scope: str
    episodes: Sequence[Prepared]

    @property
    def size(self) -> int:
        return sum(len(episode.wire) for episode in self.episodes)

    def halves(self) -> tuple[Request, Request]:
        middle = len(self.episodes) // 2
        return Request(self.scope, self.episodes[:middle]), Request(self.scope, self.episodes[middle:])


@dataclass(slots=True)
class _Waiting:
    episodes: list[Prepared] = field(default_factory=list)
    size: int = 0


class Batches:
    """Gathers. `hand_over` takes a request and may block; it is told whether it may, and answers whether it took it.

    `add` and `flush` are for the thread that reads, `flush_idle` is for another.
    """

    def __init__(self, hand_over: Callable[[Request, bool], bool], episodes: int, size: int = REQUEST_BYTES) -> None:
        self._hand_over = hand_over
        self._most = episodes
        self._size = size
        self._waiting: dict[str, _Waiting] = {}
        self._bytes = 0
        self._lock = threading.Lock()
        self._changed = time.monotonic()

    def add(self, episode: Prepared) -> None:
        with self._lock:
            self._changed = time.monotonic()
            waiting = self._waiting.setdefault(episode.scope, _Waiting())
            if waiting.episodes and waiting.size + len(episode.wire) > self._size:
                self._send(episode.scope)
                waiting = self._waiting.setdefault(episode.scope, _Waiting())
            waiting.episodes.append(episode)
            waiting.size += len(episode.wire)
            self._bytes += len(episode.wire)
            if len(waiting.episodes) >= self._most:
                self._send(episode.scope)
            while len(self._waiting) > OPEN_SCOPES or self._bytes > WAITING_BYTES:
                self._send(next(iter(self._waiting)))

    def flush(self) -> None:
        """Hand over everything that waits."""
        with self._lock:
            while self._waiting:
                self._send(next(iter(self._waiting)))

    def flush_idle(self, seconds: float) -> None:
        """Hand over what waits, where nothing new has come for so long and somebody takes it at once."""
        if self._lock.acquire(blocking=False):
            try:
                while self._waiting and time.monotonic() - self._changed >= seconds:
                    if not self._send(next(iter(self._waiting)), may_block=False):
                        return
            finally:
                self._lock.release()

    def _send(self, scope: str, *, may_block: bool = True) -> bool:
        waiting = self._waiting[scope]
        if not self._hand_over(Request(scope, waiting.episodes), may_block):
            return False
        del self._waiting[scope]
        self._bytes -= waiting.size
        return True
