"""Requests that wait for the pipeline: one poller asks for all of them, so that none holds a thread or a connection."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

import anyio
import anyio.to_thread

from infinicon.api import limits
from infinicon.domain import Caller, Permission, Scope
from infinicon.errors import InfiniconError, Internal, Overloaded, Unavailable
from infinicon.operations import waiting
from infinicon.store.database import Database

SHORTEST_PAUSE = 0.05
LONGEST_PAUSE = 0.15
IDS_PER_QUESTION = 10_000

Outcome: TypeAlias = "InfiniconError | None"


@dataclass(slots=True, eq=False)
class ForIndex:
    """Waits until none of the episodes is pending. The poller drops those that are done."""

    tenant: int
    episodes: set[UUID]
    done: asyncio.Future[Outcome] = field(default_factory=asyncio.Future)


@dataclass(slots=True, eq=False)
class ForPending:
    """Waits until nothing is pending that was accepted in the scope before a moment."""

    caller: Caller
    scope: Scope
    before: datetime
    permission: Permission
    done: asyncio.Future[Outcome] = field(default_factory=asyncio.Future)


@dataclass(slots=True, eq=False)
class ForJob:
    """Waits until the job is over."""

    tenant: int
    job: UUID
    done: asyncio.Future[Outcome] = field(default_factory=asyncio.Future)


Waiter: TypeAlias = "ForIndex | ForPending | ForJob"


class WaitingRoom:
    """All waiting requests of one process, and the task that looks for them. Used from the event loop only."""

    def __init__(self, database: Database, patience: float, capacity: int = limits.WAITING_REQUESTS) -> None:
        self._database = database
        self._patience = patience
        self._capacity = capacity
        self._waiters: set[Waiter] = set()
        self._poller: asyncio.Task[None] | None = None
        self._closing = False

    async def until_indexed(self, tenant: int, episodes: Iterable[UUID]) -> bool:
        """Whether none of the episodes was pending any more before patience ran out. Raises Overloaded, Unavailable."""
        return await self._wait(ForIndex(tenant, set(episodes)))

    async def until_nothing_pending(
        self, caller: Caller, scope: Scope, before: datetime, permission: Permission = Permission.QUERY
    ) -> bool:
        """Whether what was accepted before the moment was processed before patience ran out. Raises what the operation raises."""
        return await self._wait(ForPending(caller, scope, before, permission))

    async def until_over(self, tenant: int, job: UUID) -> bool:
        """Whether the job was over before patience ran out. Raises Overloaded, Unavailable."""
        return await self._wait(ForJob(tenant, job))

    def close(self) -> None:
        """Send everybody home, so that a stopping server need not wait for them."""
        self._closing = True
        self._finish(dict.fromkeys(self._waiters, Unavailable("the server is stopping")))

    async def _wait(self, waiter: Waiter) -> bool:
        if self._closing:
            raise Unavailable("the server is stopping")
        if len(self._waiters) >= self._capacity:
            raise Overloaded("too many requests are waiting already", details={"limit": self._capacity})
        self._waiters.add(waiter)
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll())
            self._poller.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(self._patience):
                outcome = await waiter.done
        except TimeoutError:
            return False
        finally:
            self._waiters.discard(waiter)
        if outcome is not None:
            raise outcome
        return True

    async def _poll(self) -> None:
        limiter = anyio.CapacityLimiter(1)  # a thread of its own: waiting requests must not queue behind working ones
        while self._waiters:
            started = time.monotonic()
            self._finish(await anyio.to_thread.run_sync(self._look, list(self._waiters), limiter=limiter))
            await asyncio.sleep(min(LONGEST_PAUSE, SHORTEST_PAUSE + time.monotonic() - started))

    def _ended(self, poller: asyncio.Task[None]) -> None:
        """Nobody waits for a poller that is gone. The next waiter starts another one."""
        self._poller = None
        if poller.cancelled() or poller.exception() is not None:
            self._finish(dict.fromkeys(self._waiters, Internal("a fault of ours; trying again may help")))
            if not poller.cancelled():
                poller.result()  # raises in the loop's callback, which logs it
        elif self._waiters:
            self._poller = asyncio.get_running_loop().create_task(self._poll())
            self._poller.add_done_callback(self._ended)

    @staticmethod
    def _finish(outcomes: dict[Waiter, Outcome]) -> None:
        for waiter, outcome in outcomes.items():
            if not waiter.done.done():
                waiter.done.set_result(outcome)

    def _look(self, waiters: Sequence[Waiter]) -> dict[Waiter, Outcome]:
        """Those that are finished. While the database does not answer nobody is: the waiters' own time runs on."""
        try:
            indexed = self._look_for_index([waiter for waiter in waiters if isinstance(waiter, ForIndex)])
            quiet = self._look_for_pending([waiter for waiter in waiters if isinstance(waiter, ForPending)])
            over = self._look_for_jobs([waiter for waiter in waiters if isinstance(waiter, ForJob)])
        except Unavailable:
            return {}
        return {**indexed, **quiet, **over}

    def _look_for_jobs(self, waiters: Sequence[ForJob]) -> dict[Waiter, Outcome]:
        by_tenant: defaultdict[int, set[UUID]] = defaultdict(set)
        for waiter in waiters:
            by_tenant[waiter.tenant].add(waiter.job)
        over = {tenant: waiting.over(self._database, tenant, jobs) for tenant, jobs in by_tenant.items()}
        return {waiter: None for waiter in waiters if waiter.job in over[waiter.tenant]}

    def _look_for_index(self, waiters: Sequence[ForIndex]) -> dict[Waiter, Outcome]:
        by_tenant: defaultdict[int, set[UUID]] = defaultdict(set)
        for waiter in waiters:
            by_tenant[waiter.tenant] |= waiter.episodes
        still: dict[int, set[UUID]] = {}
        for tenant, episodes in by_tenant.items():
            ordered = list(episodes)
            slices = [ordered[start : start + IDS_PER_QUESTION] for start in range(0, len(ordered), IDS_PER_QUESTION)]
            still[tenant] = set().union(*(waiting.unindexed(self._database, tenant, part) for part in slices))
        for waiter in waiters:
            waiter.episodes &= still[waiter.tenant]
        return {waiter: None for waiter in waiters if not waiter.episodes}

    def _look_for_pending(self, waiters: Sequence[ForPending]) -> dict[Waiter, Outcome]:
        """Ask for the earliest moment first: what is pending for it is pending for every later one."""
        outcomes: dict[Waiter, Outcome] = {}
        busy: set[tuple[UUID, str]] = set()
        for waiter in sorted(waiters, key=lambda waiter: waiter.before):
            place = (waiter.caller.key, repr(waiter.scope))
            if place in busy:
                continue
            try:
                if waiting.pending(self._database, waiter.caller, waiter.scope, waiter.before, waiter.permission):
                    busy.add(place)
                else:
                    outcomes[waiter] = None
            except Unavailable:
                raise
            except InfiniconError as fault:  # of this caller alone: a namespace that is not theirs
                outcomes[waiter] = fault
        return outcomes
