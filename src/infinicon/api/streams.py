"""Open event streams: how many there may be, and the one task that looks for all of them whether something happened."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar
from uuid import UUID

import anyio
import anyio.to_thread

from infinicon.api import limits
from infinicon.errors import Overloaded, Unavailable
from infinicon.operations import events
from infinicon.runtime import Runtime

P = ParamSpec("P")
T = TypeVar("T")

SHORTEST_PAUSE = 0.2
LONGEST_PAUSE = 1.0
THREADS = 4
"""However many streams there are, so many read a page at once: requests have threads and connections of their own."""


@dataclass(slots=True, eq=False)
class Waiter:
    """A stream that has told all it knows of a namespace, up to a position."""

    tenant: int
    namespace: str
    position: int
    moved: asyncio.Future[None] = field(default_factory=asyncio.Future)


class Streams:
    """All event streams of one process. Used from the event loop only."""

    def __init__(self, runtime: Runtime, capacity: int = limits.STREAMS, per_key: int = limits.STREAMS_PER_KEY) -> None:
        self.runtime = runtime
        self._closed = asyncio.Event()
        self._capacity = capacity
        self._per_key = per_key
        self._held: Counter[UUID] = Counter()
        self._waiters: set[Waiter] = set()
        self._poller: asyncio.Task[None] | None = None
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def closing(self) -> bool:
        """Whether the server stops."""
        return self._closed.is_set()

    async def until_closing(self) -> None:
        """Return when the server stops."""
        await self._closed.wait()

    @property
    def open(self) -> int:
        """How many there are."""
        return self._held.total()

    @contextmanager
    def place(self, key: UUID) -> Iterator[None]:
        """A place for one stream of this key, for the length of the block.

        Raises:
            Overloaded: the process or the key has as many as it may.
            Unavailable: the server is stopping.
        """
        if self.closing:
            raise Unavailable("the server is stopping")
        if self.open >= self._capacity:
            raise Overloaded("the server has as many event streams as it takes", details={"limit": self._capacity})
        if self._held[key] >= self._per_key:
            raise Overloaded("this key has as many event streams as one may", details={"limit": self._per_key})
        self._held[key] += 1
        try:
            yield
        finally:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]

    async def until_moved(self, tenant: int, namespace: str, position: int, within: float) -> None:
        """Return when the feed has gone on behind the position, or the time is over, or the server stops."""
        if self.closing:
            return
        waiter = Waiter(tenant, namespace, position)
        self._waiters.add(waiter)
        # One that a fault of ours has ended is replaced; until then nobody waits for longer than `within`.
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())
        try:
            async with asyncio.timeout(within):
                await waiter.moved
        except TimeoutError:
            pass
        finally:
            self._waiters.discard(waiter)

    async def ask(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run synchronous work of a stream in one of a few threads."""
        self._limiter = self._limiter or anyio.CapacityLimiter(THREADS)
        return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), limiter=self._limiter)

    def close(self) -> None:
        """Have every stream say its last word."""
        self._closed.set()
        for waiter in self._waiters:
            self._wake(waiter)

    async def _poll(self) -> None:
        limiter = anyio.CapacityLimiter(1)  # a thread of its own: news must not queue behind pages
        while self._waiters:
            started = time.monotonic()
            for waiter in await anyio.to_thread.run_sync(self._look, list(self._waiters), limiter=limiter):
                self._wake(waiter)
            await asyncio.sleep(min(LONGEST_PAUSE, SHORTEST_PAUSE + time.monotonic() - started))

    def _look(self, waiters: Sequence[Waiter]) -> list[Waiter]:
        """Those whose feed went on, by one question for each tenant. While the database does not answer there is no news."""
        names: defaultdict[int, set[str]] = defaultdict(set)
        for waiter in waiters:
            names[waiter.tenant].add(waiter.namespace)
        try:
            heads = {tenant: events.heads(self.runtime.database, tenant, names[tenant]) for tenant in names}
        except Unavailable:
            return []
        return [one for one in waiters if heads[one.tenant].get(one.namespace, 0) > one.position]

    @staticmethod
    def _wake(waiter: Waiter) -> None:
        if not waiter.moved.done():
            waiter.moved.set_result(None)
