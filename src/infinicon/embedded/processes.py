"""Our own processes: the one list that `infinicon up`, docker-compose and the command line agree on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from infinicon.embedded import launch
from infinicon.embedded.child import ChildSpec, StopSteps
from infinicon.settings import PREFIX, child_environment

# Two-thread encoding beside anything else falls to a quarter where OpenMP's threads spin while they wait; and Hugging Face's tokenizers
# must not start threads of their own in a process that may fork.
MODEL_ENVIRONMENT: Mapping[str, str] = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "GOMP_SPINCOUNT": "0",
    "TOKENIZERS_PARALLELISM": "false",
}

# Together with the four seconds that Postgres may take, none of these makes a stop longer than ten.
_TERM: StopSteps = ((signal.SIGTERM, 5.0),)
# The encoder owes nobody anything: whoever waits for it is stopping, too.
_BRIEF: StopSteps = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 1.0))
# For a Celery worker SIGTERM is a warm shutdown: it finishes the stage it is in. A stage that runs on is cut off, and no news: the next
# start gives its batch out again.
_WARM: StopSteps = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 1.0))


@dataclass(frozen=True, slots=True)
class Process:
    """One process kind. `argv` follows `python -m infinicon.cli`; `settings` are the addresses and secrets it needs, and no others.

    `place` are the settings that say where it listens, or leaves its sign of life: their values differ from host to host. `optional` are
    addresses that it uses where they are given.
    """

    name: str
    argv: tuple[str, ...]
    settings: tuple[str, ...]
    environment: Mapping[str, str]
    stop: StopSteps
    place: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def grace(self) -> float:
        """Seconds from the first signal of a stop until nothing is left but to kill it."""
        return sum(pause for _, pause in self.stop)


PROCESSES: tuple[Process, ...] = (
    Process("encoder", ("encoder",), ("encoder_url", "master_key"), MODEL_ENVIRONMENT, _BRIEF),
    Process(
        "api",
        ("api",),
        ("database_url", "sweeper_database_url", "broker_url", "encoder_url", "master_key"),
        {},
        _TERM,
        place=("host", "port"),
    ),
    Process(
        "worker-cpu",
        ("worker", "cpu"),
        ("database_url", "sweeper_database_url", "results_database_url", "broker_url", "master_key"),
        MODEL_ENVIRONMENT,
        _WARM,
    ),
    Process(
        "worker-interactive",
        ("worker", "interactive"),
        ("database_url", "results_database_url", "broker_url", "encoder_url", "master_key"),
        MODEL_ENVIRONMENT,
        _WARM,
    ),
    Process(
        "worker-embed",
        ("worker", "embed"),
        ("database_url", "results_database_url", "broker_url", "master_key"),
        MODEL_ENVIRONMENT,
        _WARM,
    ),
    Process(
        "worker-consolidate",
        ("worker", "consolidate"),
        ("database_url", "results_database_url", "broker_url", "encoder_url", "master_key"),
        MODEL_ENVIRONMENT,
        _WARM,
    ),
    Process("beat", ("beat",), ("broker_url",), {}, _TERM, place=("heartbeat_file",)),
    Process("flower", ("flower",), ("broker_url", "flower_password"), {}, _TERM, place=("flower_host", "flower_port")),
)
"""What `infinicon up` keeps running."""

WORKER_KINDS = tuple(process.argv[1] for process in PROCESSES if process.argv[0] == "worker")


MIGRATE = Process(
    "migrate",
    ("migrate",),
    ("owner_database_url",),
    {},
    _TERM,
    optional=("database_url", "sweeper_database_url", "results_database_url"),
)
WORKER_GPU = replace(
    next(process for process in PROCESSES if process.name == "worker-embed"),
    name="worker-gpu",
    environment={**MODEL_ENVIRONMENT, f"{PREFIX}DEVICE": "cuda"},
)

SERVICES: tuple[Process, ...] = (MIGRATE, *PROCESSES, WORKER_GPU)
"""What docker-compose runs of ours: the schema first, then what `up` keeps running, and where there is a GPU an embed worker on it."""


def process(*argv: str) -> Process:
    """The process of this command line."""
    return next(found for found in PROCESSES if found.argv == argv)


def child_spec(process: Process, values: Mapping[str, str], extra: Mapping[str, str]) -> ChildSpec:
    """How the supervisor starts it: `values` are all addresses, secrets and places by setting name, of which it gets its own; `extra` are
    whole variables that it gets besides."""
    given = {PREFIX + name.upper(): values[name] for name in (*process.settings, *process.place)}
    # Without PYTHONSAFEPATH `python -m` would import from whatever folder the person stood in.
    python = {"PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1"}
    return ChildSpec(
        name=process.name,
        command=launch.command(
            [sys.executable, "-m", "infinicon.cli", *process.argv],
            # Abruptly: leases and unacknowledged messages exist for this, and the port must be free for the next start.
            death_signal=signal.SIGKILL,
        ),
        environment=child_environment({**python, **process.environment, **given, **extra}),
        stop=process.stop,
    )
