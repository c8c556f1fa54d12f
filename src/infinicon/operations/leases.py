"""Leases: a worker's hold on a batch while it works on one stage, its heartbeat, and its ceiling.

A batch can be worked on twice, never finished twice: each stage ends in one transaction that checks the lease's token.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import UUID, uuid4

from infinicon.domain import BatchRef
from infinicon.errors import InfiniconError, Internal, LeaseLost, MissingDependency
from infinicon.store import batches
from infinicon.store.database import Database

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Held:
    """A lease that this process holds. `since` is monotonic time."""

    ref: BatchRef
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
        on_overrun: Callable[[BatchRef], None],
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
    def stage(self, ref: BatchRef) -> Iterator[UUID]:
        """Hold the batch for the length of the block, which writes under the token that it gets.

        Whatever ends the block early gives the batch back for another attempt: at no cost for an outage, as a fault of the try for
        anything else.

        Raises:
            LeaseLost: the message is old, or a copy; another worker has the batch, or it is done.
        """
        token = uuid4()
        with self._database.transaction(ref.tenant) as tx:
            if not batches.lease(ref, tx, token, self._seconds):
                raise LeaseLost("the batch is taken, done, or at another stage")
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
            counts = not _is_outage(fault)
            raise
        finally:
            with self._lock:
                del self._held[token]
            # After a block that ended well the token is spent, and giving back touches nothing.
            with suppress(InfiniconError):
                self._give_back(ref, token, counts=counts)

    def _give_back(self, ref: BatchRef, token: UUID, *, counts: bool) -> None:
        with self._database.transaction(ref.tenant) as tx:
            batches.release(ref.tenant, tx, ref.batch, token, retry_base=self._retry_base, counts=counts)

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
                        batches.renew(lease.ref.tenant, tx, lease.ref.batch, token, self._seconds)
                except InfiniconError as fault:
                    # The next beat tries again; if it is too late by then, the last transaction of the stage finds the lease gone.
                    log.warning("batch %s: heartbeat failed: %s", lease.ref.batch, fault.code)

    def close(self) -> None:
        """Stop the heartbeat."""
        self._stopped.set()


def _is_outage(fault: InfiniconError) -> bool:
    """Whether the batch's data has nothing to do with it. What Postgres refuses (Internal) may well be the data, and would be refused
    for ever; a model that is not the index's concerns every batch alike."""
    return isinstance(fault, MissingDependency) or (fault.retryable and not isinstance(fault, Internal))
