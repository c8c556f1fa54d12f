"""Processes that run tasks: which queues a kind of worker drains, how many threads it has, and what it builds before it starts.

Every worker uses threads: a process that hangs in a model still answers pings, and a stage that runs past its ceiling ends the process
(`Leases`), whatever it hangs in.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from celery.platforms import SecurityWarning
from celery.signals import after_task_publish, setup_logging, worker_shutting_down

from infinicon.domain import Lane, Stage
from infinicon.errors import InvalidRequest
from infinicon.ports import Embedder
from infinicon.runtime import Runtime, runtime
from infinicon.settings import settings
from infinicon.tasks import names
from infinicon.tasks.app import app, configure


@dataclass(frozen=True, slots=True)
class WorkerKind:
    """One kind of worker process."""

    queues: tuple[str, ...]
    threads: int
    warm_up: Callable[[Runtime], object]


def _warm_cpu(built: Runtime) -> object:
    return built.database, built.sweeper, built.extractor, built.leases


def _warm_interactive(built: Runtime) -> object:
    return built.database, built.extractor, built.leases, built.embedder


def _warm_embed(built: Runtime) -> object:
    return built.database, built.leases, built.bulk_embedder.embed(["warm up"])


def _warm_consolidate(built: Runtime) -> object:
    return built.database, built.consolidator, built.consolidation_leases, built.embedder


WORKERS: dict[str, WorkerKind] = {
    # Extraction and indexing are short and mostly wait for Postgres.
    "cpu": WorkerKind(
        (names.CONTROL, names.queue(Stage.EXTRACT, Lane.BULK), names.queue(Stage.INDEX, Lane.BULK)), 4, _warm_cpu
    ),
    # Everything of a conversation, in a process that bulk work cannot fill; it embeds through the encoder process.
    "interactive": WorkerKind(
        tuple(names.queue(stage, Lane.INTERACTIVE) for stage in names.STAGES), 4, _warm_interactive
    ),
    # Holds a model. Its threads wait for one encoder thread, which takes what they all have as one call.
    "embed": WorkerKind((names.queue(Stage.EMBED, Lane.BULK), names.REDACTION), 3, _warm_embed),
    # Thinks for long and holds nothing back: it has a process of its own, and embeds the little that it makes through the encoder process.
    "consolidate": WorkerKind((names.CONSOLIDATIONS,), 2, _warm_consolidate),
}


def embedder(lane: Lane) -> Embedder:
    """The encoder process for conversations, the model of this process for bulk work."""
    return runtime().embedder if lane is Lane.INTERACTIVE else runtime().bulk_embedder


def run_worker(kind: str) -> None:
    """Run a worker until SIGTERM (which lets running stages finish) or SIGINT, and end the process.

    Raises:
        InvalidRequest: no such kind.
        MissingDependency: a model or plug-in that the kind needs is not there.
    """
    wanted = WORKERS.get(kind)
    if wanted is None:
        raise InvalidRequest("there is no such worker; kinds are " + ", ".join(WORKERS))
    chosen = settings()
    chosen.need("database_url", "results_database_url", "master_key")
    configure(chosen)
    setup_logging.connect(_logging, weak=False)
    wanted.warm_up(runtime())
    worker_shutting_down.connect(_close, weak=False)
    # Celery warns root of messages that run code when they are read (pickle); here nothing but JSON is accepted.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    app.worker_main(
        [
            "--quiet",
            "worker",
            f"--queues={','.join(wanted.queues)}",
            "--pool=threads",
            f"--concurrency={wanted.threads}",
            f"--hostname={kind}@%h",
            "--task-events",
            "--without-gossip",
            "--without-mingle",
            f"--loglevel={chosen.log_level}",
        ]
    )
    _leave()


def _leave() -> None:
    """End now. Taking an interpreter with torch apart takes seconds, in which nothing is left to do: the stages are over."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def run_beat() -> None:
    """Run the clock until it is stopped. Its schedule is in memory: a corrupt file cannot stop it, and nothing depends on its past."""
    chosen = settings()
    configure(chosen)
    setup_logging.connect(_logging, weak=False)
    after_task_publish.connect(_sign_of_life, weak=False)
    app.Beat(scheduler_cls="celery.beat:Scheduler", loglevel=chosen.log_level, quiet=True, max_interval=1.0).run()


def _sign_of_life(**_signal: object) -> None:
    """Beat is alive while its tasks reach the broker: a process that is there and sends nothing is not."""
    if (file := settings().heartbeat_file) is not None:
        file.touch()


QUIET = ("celery.worker.strategy", "celery.beat", "httpx", "kombu.mixins")
"""Loggers that say every second what the end of a task says once."""


def _logging(**_signal: object) -> None:
    """One line an event, on standard error. Celery's own messages name tasks and ids, which is all that messages carry."""
    logging.basicConfig(level=settings().log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("celery.app.trace").addFilter(_not_routine)
    logging.getLogger("celery.beat").addFilter(_in_one_line)


def _not_routine(record: logging.LogRecord) -> bool:
    """Ticks that went well are no news."""
    return record.levelno > logging.INFO or not any(name in record.getMessage() for name in names.ROUTINE)


def _close(**_signal: object) -> None:
    logging.getLogger(__name__).info("stopping: running stages may finish, nothing new is taken")


def _in_one_line(record: logging.LogRecord) -> bool:
    """While the broker is away, beat would write two stack traces every other second; the exception says it all."""
    if record.exc_info and isinstance(record.args, tuple) and record.args:
        record.msg, record.args, record.exc_info = "%s", record.args[:1], None
    return True
