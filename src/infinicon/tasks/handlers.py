"""The tasks. Each translates its message and calls one operation.

One of the two files that may catch everything: what leaves a task is kept by Celery and shown in Flower, so an exception that is not
ours leaves as its type alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from celery.exceptions import Ignore

from infinicon.domain import BatchRef, Lane, RunRef, Stage
from infinicon.errors import InfiniconError, Internal, LeaseLost
from infinicon.operations import retention
from infinicon.operations.consolidating import consolidate
from infinicon.operations.dispatch import forget
from infinicon.operations.due import begin_due
from infinicon.operations.embed import embed
from infinicon.operations.erase import carry_on
from infinicon.operations.expire import expire
from infinicon.operations.extract import extract
from infinicon.operations.index import index
from infinicon.operations.redact import Tools
from infinicon.operations.redact import carry_on as redact
from infinicon.operations.tombstone import purge
from infinicon.runtime import runtime
from infinicon.tasks import enqueue, names, process
from infinicon.tasks.app import app

log = logging.getLogger(__name__)

T = TypeVar("T")

RETENTION = 7 * 24 * 3600.0


def _run(call: Callable[[], T]) -> T:
    """Run an operation. A message that came too late or twice ends here without a trace in its task's state."""
    try:
        return call()
    except LeaseLost:
        raise Ignore from None
    except InfiniconError:
        raise
    except Exception as fault:  # noqa: BLE001 -- the text of an exception may be a user's, and Celery would keep it
        log.error("a task failed: %s at %s", type(fault).__name__, _where(fault))
        raise Internal("the task failed", details={"exception": type(fault).__name__}) from None


def _where(fault: BaseException) -> str:
    """File and line of our own innermost frame; the text of the exception may be a user's and stays out of the log."""
    place, trace = "", fault.__traceback__
    while trace is not None:
        if "infinicon" in trace.tb_frame.f_code.co_filename:
            place = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


@app.task(name=names.EXTRACT)
def extract_batch(tenant: int, batch: str, lane: str, attempt: int) -> dict[str, int]:
    ref = BatchRef(tenant, UUID(batch), attempt, Stage.EXTRACT, Lane(lane))
    own = runtime()
    return _run(lambda: extract(own.database, own.keyring, own.extractor, own.counters, own.leases, ref))


@app.task(name=names.EMBED)
def embed_batch(tenant: int, batch: str, lane: str, attempt: int) -> dict[str, int]:
    ref = BatchRef(tenant, UUID(batch), attempt, Stage.EMBED, Lane(lane))
    return _run(lambda: embed(runtime().database, process.embedder(ref.lane), runtime().leases, ref))


@app.task(name=names.INDEX)
def index_batch(tenant: int, batch: str, lane: str, attempt: int) -> dict[str, int]:
    ref = BatchRef(tenant, UUID(batch), attempt, Stage.INDEX, Lane(lane))
    counts = _run(lambda: index(runtime().database, runtime().leases, ref))
    enqueue.window_moved()
    return counts


@app.task(name=names.CONSOLIDATE)
def consolidate_slice(tenant: int, job: str, attempt: int) -> None:
    following = _run(lambda: consolidate(runtime().workshop, RunRef(tenant, UUID(job), attempt)))
    enqueue.publish_runs([] if following is None else [following])


# Routine tasks come every second or two and send no events, so that Flower shows the stages.
@app.task(name=names.DISPATCH, ignore_result=True, send_events=False)
def dispatch_waiting() -> None:
    _run(lambda: enqueue.dispatch_all(runtime()))


@app.task(name=names.RECONCILE, ignore_result=True, send_events=False)
def reconcile_lost() -> None:
    _run(lambda: enqueue.reconcile(runtime()))


@app.task(name=names.CONSOLIDATE_DUE, ignore_result=True, send_events=False)
def consolidate_due() -> None:
    if _run(lambda: begin_due(runtime().sweeper, runtime().database)):
        enqueue.window_moved()


@app.task(name=names.PURGE, ignore_result=True, send_events=False)
def go_on_deleting(tenant: int, job: str) -> None:
    _run(lambda: purge(runtime().database, tenant, UUID(job)))
    _run(lambda: carry_on(runtime().database, tenant, UUID(job)))


@app.task(name=names.REDACT, ignore_result=True, send_events=False)
def go_on_redacting(tenant: int, job: str) -> None:
    own = runtime()
    tools = Tools(own.database, own.keyring, own.extractor, process.embedder(Lane.BULK), own.counters)
    _run(lambda: redact(tools, tenant, UUID(job)))


@app.task(name=names.EXPIRE, ignore_result=True, send_events=False)
def expire_memories() -> None:
    _run(lambda: expire(runtime().sweeper, runtime().database))


@app.task(name=names.FORGET, ignore_result=True, send_events=False)
def forget_done() -> None:
    _run(lambda: forget(runtime().sweeper, RETENTION))


@app.task(name=names.END_RETENTION, ignore_result=True, send_events=False)
def end_retention() -> None:
    own = runtime()
    _run(lambda: retention.end_retention(own.sweeper, own.settings.job_retention, own.settings.event_retention))
