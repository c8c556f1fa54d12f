"""The processes: `up` with all of them, each on its own, the schema they need, and the demo."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from infinicon.cli.app import app
from infinicon.cli.options import JsonOption, named
from infinicon.settings import Settings, set_for_libraries, settings


class WorkerKind(StrEnum):
    """The queues a worker drains."""

    cpu = "cpu"
    interactive = "interactive"
    embed = "embed"
    consolidate = "consolidate"


class HealthOf(StrEnum):
    """What can be asked for its health."""

    api = "api"
    encoder = "encoder"
    worker = "worker"
    beat = "beat"
    flower = "flower"


@app.command()
def up(
    data_dir: Annotated[Path, typer.Option(help="Where everything is kept: data, secrets, logs.", parser=named)] = Path(
        ".infinicon"
    ),
    host: Annotated[str, typer.Option(help="Where the API listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of the API; 0 takes a free one.")] = 8420,
) -> None:
    """Start everything here, in the foreground: Postgres, Valkey, API, encoder, workers, beat and Flower."""
    from infinicon.cli.up import run_everything

    raise typer.Exit(run_everything(data_dir, host=host, port=port))


@app.command()
def api() -> None:
    """Run the API."""
    ready = _settings_for("api")
    from infinicon.api.server import run

    run(ready)


@app.command()
def encoder() -> None:
    """Run the process that holds the model for queries."""
    ready = _settings_for("encoder")
    from infinicon.encoder.server import run

    run(ready)


@app.command()
def worker(kind: WorkerKind) -> None:
    """Run a worker: cpu (extract, index), interactive (small work, at once), or embed (bulk embedding)."""
    _settings_for("worker", kind.value)
    from infinicon.tasks.process import run_worker

    run_worker(kind.value)


@app.command()
def beat() -> None:
    """Run the clock."""
    _settings_for("beat")
    from infinicon.tasks.process import run_beat

    run_beat()


@app.command()
def flower() -> None:
    """Run Flower, behind a password and read-only."""
    ready = _settings_for("flower")
    from infinicon.tasks.flower import run

    run(ready)


@app.command(epilog="Example: infinicon health worker cpu")
def health(
    process: Annotated[HealthOf, typer.Argument(help="The process.")],
    kind: Annotated[WorkerKind | None, typer.Argument(help="The kind of a worker.")] = None,
    json: JsonOption = False,
) -> None:
    """Ask a process on this host whether it does its work: exit code 0 if it does, 1 if not.

    Started with the settings of that process, so that containers, systemd and load balancers can ask.
    """
    from infinicon.cli.health import run

    run(process.value, kind.value if kind else None, as_json=json)


@app.command(epilog="Example: infinicon migrate --tenant acme --quiet > first.key")
def migrate(
    tenant: Annotated[
        str | None,
        typer.Option(help="Make this tenant if it is new, and its first key if it has none; the key is printed once."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Tell nothing but the key.")] = False,
    json: JsonOption = False,
) -> None:
    """Bring the database to the schema of this release, as its owner (INFINICON_OWNER_DATABASE_URL).

    Where INFINICON_DATABASE_URL, INFINICON_SWEEPER_DATABASE_URL or INFINICON_RESULTS_DATABASE_URL are set, their users get the logins
    that these URLs name. It can run again at any time, and two at once do no harm.
    """
    from infinicon.cli.migrating import run

    run(tenant, quiet=quiet, as_json=json)


@app.command()
def demo(
    sample: Annotated[
        Path | None, typer.Option(help="A transcript as JSON lines, gzipped or not; Apollo 13 otherwise.")
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the data goes; a temporary directory otherwise.", parser=named)
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary directory.")] = False,
) -> None:
    """Ingest the Apollo 13 transcript into a fresh Infinicon, watch it pass every stage, and ask five questions."""
    from infinicon.cli.demo import run_demo

    raise typer.Exit(run_demo(sample, data_dir, keep=keep))


def _settings_for(*argv: str) -> Settings:
    """The settings, once everything that this process needs is set."""
    from infinicon.embedded.processes import process

    wanted = process(*argv)
    set_for_libraries(wanted.environment)
    ready = settings()
    ready.need(*wanted.settings)
    return ready
