"""Leases: a worker's hold on a batch or on a consolidation while it works on one stage, its heartbeat, and its ceiling.

Either can be worked on twice, never finished twice: each stage ends in one transaction that checks the lease's token.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID, uuid4

from infinicon.domain import BatchRef, RunRef
from infinicon.errors import InfiniconError, Internal, LeaseLost, MissingDependency
from infinicon.store import batches, consolidation_runs
from infinicon.store.database import Database, Transaction

log = logging.getLogger(__name__)


Work: TypeAlias = "BatchRef | RunRef"
"""What one worker holds at a time."""


@dataclass(frozen=True, slots=True)
class Held:
    """A lease that this process holds. `since` is monotonic time."""

    ref: Work
    since: float


class Leases:
    """Takes, renews and gives back leases for one process. One thread beats for all of them; it starts with the first lease."""

    def __init__(
        self,
        database: Database,
        *,
        seconds: float,
        ceiling: float,
        retry_base: float,
        on_overrun: Callable[[Work], None],
    ) -> None:
        """`on_overrun` is called once a stage has run for `ceiling` seconds: it must end the process, since nothing else ends a
        thread that hangs in a model or a plug-in."""
        self._database = database
        self._seconds = seconds
        self._ceiling = ceiling
        self._retry_base = retry_base
        self._on_overrun = on_overrun
        self._held: dict[UUID, Held] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._beating = False

    @contextmanager
    def stage(self, ref: Work) -> Iterator[UUID]:
        """Hold the work for the length of the block, which writes under the token that it gets.

        Whatever ends the block early gives the work back for another attempt: at no cost for an outage, as a fault of the try for
        anything else.

        Raises:
            LeaseLost: the message is old, or a copy; another worker has the work, or it is done.
        """
        token = uuid4()
        with self._database.transaction(ref.tenant) as tx:
            if not _lease(ref, tx, token, self._seconds):
                raise LeaseLost("the work is taken, done, or at another stage")
        with self._lock:
            self._held[token] = Held(ref, time.monotonic())
            if not self._beating:
                self._beating = True
                threading.Thread(target=self._beat, name="leases", daemon=True).start()
        counts = True
        try:
            yield token
            counts = False
        except InfiniconError as fault:
            counts = not is_outage(fault)
            raise
        finally:
            with self._lock:
                del self._held[token]
            # After a block that ended well the token is spent, and giving back touches nothing.
            with suppress(InfiniconError):
                self._give_back(ref, token, counts=counts)

    def _give_back(self, ref: Work, token: UUID, *, counts: bool) -> None:
        with self._database.transaction(ref.tenant) as tx:
            if isinstance(ref, BatchRef):
                batches.release(ref.tenant, tx, ref.batch, token, retry_base=self._retry_base, counts=counts)
            else:
                consolidation_runs.release(ref, tx, token, retry_base=self._retry_base, counts=counts)

    def _beat(self) -> None:
        while not self._stopped.wait(self._seconds / 3):
            with self._lock:
                held = dict(self._held)
            for token, lease in held.items():
                if time.monotonic() - lease.since > self._ceiling:
                    self._on_overrun(lease.ref)
                    continue
                try:
                    with self._database.transaction(lease.ref.tenant) as tx:
                        _renew(lease.ref, tx, token, self._seconds)
                except InfiniconError as fault:
                    # The next beat tries again; if it is too late by then, the last transaction of the stage finds the lease gone.
                    log.warning("%s: heartbeat failed: %s", named(lease.ref), fault.code)

    def close(self) -> None:
        """Stop the heartbeat."""
        self._stopped.set()


def named(ref: Work) -> str:
    """For the log."""
    return f"batch {ref.batch}" if isinstance(ref, BatchRef) else f"consolidation {ref.job}"


def _lease(ref: Work, tx: Transaction, token: UUID, seconds: float) -> bool:
    if isinstance(ref, BatchRef):
        return batches.lease(ref, tx, token, seconds)
    return consolidation_runs.lease(ref, tx, token, seconds)


def _renew(ref: Work, tx: Transaction, token: UUID, seconds: float) -> bool:
    if isinstance(ref, BatchRef):
        return batches.renew(ref.tenant, tx, ref.batch, token, seconds)
    return consolidation_runs.renew(ref, tx, token, seconds)


def is_outage(fault: InfiniconError) -> bool:
    """Whether the batch's data has nothing to do with it. What Postgres refuses (Internal) may well be the data, and would be refused
    for ever; a model that is not the index's concerns every batch alike."""
    return isinstance(fault, MissingDependency) or (fault.retryable and not isinstance(fault, Internal))
