"""From claimed batches to messages: one chain for each batch, ids only."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence

from celery import chain
from kombu.exceptions import OperationalError

from infinicon.domain import BatchRef, Lane, RunRef, Stage
from infinicon.errors import InfiniconError
from infinicon.operations import dispatch
from infinicon.runtime import Runtime
from infinicon.tasks import names
from infinicon.tasks.app import app, configure

log = logging.getLogger(__name__)


def publish(batches: Iterable[BatchRef]) -> int:
    """Send each batch's chain, from its stage to the last; answers with how many went out.

    A broker that does not answer costs one time-out: the rest stays in Postgres, where the reconciler finds it.
    """
    sent = 0
    for batch in batches:
        try:
            _chain(batch).apply_async()
        except (OperationalError, OSError) as fault:
            log.warning("the broker does not take batch %s (%s); it stays for later", batch.batch, type(fault).__name__)
            break
        sent += 1
    return sent


def _chain(ref: BatchRef) -> chain:
    stages = list(names.STAGES)
    rest = stages[stages.index(ref.stage) :]
    return chain(*(_signature(ref, stage, ref.attempt if stage is ref.stage else 1) for stage in rest))


def _signature(ref: BatchRef, stage: Stage, attempt: int) -> object:
    batch = str(ref.batch)
    return app.signature(
        names.STAGES[stage],
        args=(ref.tenant, batch, ref.lane.value, attempt),
        immutable=True,
        task_id=names.task_id(batch, stage, attempt),
        queue=names.queue(stage, ref.lane),
    )


def publish_runs(runs: Iterable[RunRef]) -> int:
    """Send each consolidation's message; answers with how many went out. What the broker does not take, the reconciler finds."""
    sent = 0
    for run in runs:
        job = str(run.job)
        try:
            app.send_task(
                names.CONSOLIDATE,
                (run.tenant, job, run.attempt),
                task_id=names.task_id(job, Stage.CONSOLIDATE, run.attempt),
                queue=names.CONSOLIDATIONS,
            )
        except (OperationalError, OSError) as fault:
            log.warning("the broker does not take consolidation %s (%s); it stays for later", job, type(fault).__name__)
            break
        sent += 1
    return sent


def dispatch_all(runtime: Runtime) -> int:
    """Fill both lanes' windows and publish, the interactive one first; then consolidations that nobody has been told of."""
    sent = 0
    for lane in (Lane.INTERACTIVE, Lane.BULK):
        sent += publish(dispatch.dispatch(runtime.sweeper, lane, runtime.lane_limits(lane)))
    window = runtime.settings.consolidation_window
    return sent + publish_runs(dispatch.consolidations(runtime.sweeper, window=window))


def reconcile(runtime: Runtime) -> int:
    """Publish again what lost its worker or its message, and what is to be purged or redacted."""
    chosen = runtime.settings
    sent = publish(
        dispatch.reconcile(runtime.sweeper, republish_after=chosen.republish_after, attempts=chosen.stage_attempts)
    )
    sent += publish_runs(dispatch.lost_consolidations(runtime.sweeper, republish_after=chosen.republish_after))
    for tenant, job in dispatch.purges(runtime.sweeper):
        _send(names.PURGE, (tenant, str(job)), expires=chosen.reconcile_every)
    for tenant, job in dispatch.redactions(runtime.sweeper):
        _send(names.REDACT, (tenant, str(job)), queue=names.REDACTION, expires=chosen.reconcile_every)
    return sent


def _send(name: str, args: Sequence[object] = (), *, queue: str = names.CONTROL, expires: float) -> None:
    """A routine task. One that is lost is sent again by beat's next tick."""
    try:
        app.send_task(name, args, queue=queue, expires=expires, ignore_result=True)
    except (OperationalError, OSError) as fault:
        log.warning("the broker does not answer (%s); beat's next tick sends it again", type(fault).__name__)


def window_moved() -> None:
    """A batch has left the window: have the next one claimed now instead of at beat's next tick, which comes in any case."""
    _send(names.DISPATCH, expires=10.0)


class Dispatcher:
    """A thread that dispatches whenever it is woken; many calls while it works are one more round."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._wanted = threading.Event()
        self._stopped = False
        self._lock = threading.Lock()
        self._thread = self._new_thread()

    def _new_thread(self) -> threading.Thread:
        return threading.Thread(target=self._run, name="dispatcher", daemon=True)

    def start(self) -> None:
        configure(self._runtime.settings)  # the API is a process that publishes and runs no worker
        self._thread.start()

    def wake(self) -> None:
        """Returns at once; call it after a commit, never inside a transaction. A thread that a fault of ours ended is replaced."""
        self._wanted.set()
        if not self._thread.is_alive() and not self._stopped:
            with self._lock:
                if not self._thread.is_alive():
                    self._thread = self._new_thread()
                    self._thread.start()

    def stop(self, timeout: float = 1.0) -> None:
        """What a round that runs on has claimed and not published, the reconciler finds."""
        self._stopped = True
        self._wanted.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopped:
                return
            try:
                dispatch_all(self._runtime)
            except InfiniconError as fault:
                # Beat's next tick does what this round could not.
                log.warning("dispatch failed: %s", fault.code)
