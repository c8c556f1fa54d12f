"""Whether this process can serve: asked at most once a second, answered within two, whatever the database does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import anyio
import anyio.to_thread

from infinicon.errors import InfiniconError, Unavailable

FRESH_SECONDS = 1.0
PATIENCE_SECONDS = 2.0


class Readiness:
    """Runs `look` (which raises what is missing) in a thread of its own; callers in between share its outcome."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look
        self._running: asyncio.Task[InfiniconError | None] | None = None
        self._finished_at = 0.0
        self._limiter: anyio.CapacityLimiter | None = None

    async def check(self) -> None:
        """Raises what `look` raised, or Unavailable where it takes too long."""
        if self._running is None or (self._running.done() and time.monotonic() - self._finished_at > FRESH_SECONDS):
            self._running = asyncio.create_task(self._run())
        done, _ = await asyncio.wait({self._running}, timeout=PATIENCE_SECONDS)
        if not done:
            raise Unavailable("the database or the encoder does not answer in time")
        fault = self._running.result()
        if fault is not None:
            raise fault

    async def _run(self) -> InfiniconError | None:
        self._limiter = self._limiter or anyio.CapacityLimiter(1)
        try:
            await anyio.to_thread.run_sync(self._look, limiter=self._limiter)
        except InfiniconError as fault:
            return fault
        finally:
            self._finished_at = time.monotonic()
        return None
