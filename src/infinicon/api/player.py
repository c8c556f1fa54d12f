"""Threads that play runs of the conformance seam, beside the requests that ask for them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from uuid import UUID

from infinicon.domain import Caller
from infinicon.operations import runs, workflows
from infinicon.operations.run_memory import Parts
from infinicon.runtime import Runtime
from infinicon.tasks.enqueue import Dispatcher

log = logging.getLogger(__name__)

AT_ONCE = 4


class Player:
    """Plays runs in the order in which they came. Those that a stop leaves unplayed are lost, and say so after a while."""

    def __init__(self, runtime: Runtime, dispatcher: Dispatcher) -> None:
        self._runtime = runtime
        self._dispatcher = dispatcher
        self._threads = ThreadPoolExecutor(AT_ONCE, "player")

    def play(self, caller: Caller, run: UUID) -> None:
        """Returns at once."""
        self._threads.submit(self._play, caller, run).add_done_callback(_tell)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def parts(self) -> Parts:
        """What runs are played with."""
        own = self._runtime
        return Parts(
            own.database,
            own.keyring,
            own.counters,
            own.embedder,
            runs.find_other(own.database, own.keyring),
            self._dispatcher.wake,
            own.embedder.ready,
        )

    def playable(self) -> Sequence[str]:
        """The workflows that can be played now."""
        parts = self.parts()
        return workflows.playable(other=parts.other is not None, counted=parts.counters.budget_unit() is not None)

    def _play(self, caller: Caller, run: UUID) -> None:
        runs.play(self.parts(), caller, run)


def _tell(played: Future[None]) -> None:
    """A thread has nobody who would hear of its fault."""
    if not played.cancelled() and (fault := played.exception()) is not None:
        log.error("a run was not played to its end: %s", type(fault).__name__)
