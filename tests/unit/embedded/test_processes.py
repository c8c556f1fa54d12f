"""Every process gets what it needs, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from infinicon.cli.commands.processes import WorkerKind
from infinicon.embedded.postgres import STOP
from infinicon.embedded.processes import (
    MIGRATE,
    PROCESSES,
    SERVICES,
    WORKER_GPU,
    WORKER_KINDS,
    Process,
    child_spec,
)
from infinicon.embedded.processes import process as process_of
from infinicon.settings import Settings

SECRETS = {
    name: f"secret-of-{name}"
    for name in (
        "database_url",
        "owner_database_url",
        "sweeper_database_url",
        "results_database_url",
        "broker_url",
        "encoder_url",
        "master_key",
        "flower_password",
    )
}


PLACE = {"host": "0.0.0.0", "port": "1", "flower_host": "::", "flower_port": "2", "heartbeat_file": "/run/beat"}
VALUES = {**SECRETS, **PLACE}


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_it_gets_its_own_secrets_and_no_others(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.setenv(f"INFINICON_{name.upper()}", f"inherited-{name}")
        monkeypatch.setenv(f"infinicon_{name}", f"inherited-{name}")

    environment = child_spec(process, VALUES, {"INFINICON_LOG_LEVEL": "DEBUG"}).environment

    held = {name for name in SECRETS if f"secret-of-{name}" in environment.values()}
    assert held == set(process.settings)
    assert not any(value.startswith("inherited-") for value in environment.values())
    assert environment["INFINICON_LOG_LEVEL"] == "DEBUG"


def test_places_go_to_those_who_are_there() -> None:
    for process in PROCESSES:
        environment = child_spec(process, VALUES, {}).environment
        given = {name for name in PLACE if f"INFINICON_{name.upper()}" in environment}
        assert given == set(process.place)
    assert {process.name: process.place for process in PROCESSES if process.place} == {
        "api": ("host", "port"),
        "beat": ("heartbeat_file",),
        "flower": ("flower_host", "flower_port"),
    }


def test_docker_compose_runs_what_up_runs_and_two_more() -> None:
    assert SERVICES[0] is MIGRATE
    assert SERVICES[1:-1] == PROCESSES
    assert SERVICES[-1] is WORKER_GPU
    assert (WORKER_GPU.argv, WORKER_GPU.settings) == (
        process_of("worker", "embed").argv,
        process_of("worker", "embed").settings,
    )
    assert WORKER_GPU.environment.items() > process_of("worker", "embed").environment.items()


def test_only_migrations_see_every_database_url() -> None:
    urls = {name for name in Settings.model_fields if name.endswith("database_url")}

    assert set(MIGRATE.settings + MIGRATE.optional) == urls


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_no_secret_is_in_the_argument_list(process: Process) -> None:
    command = child_spec(process, VALUES, {}).command

    assert not any("secret-of" in part for part in command)
    assert list(command[-len(process.argv) - 3 :]) == [sys.executable, "-m", "infinicon.cli", *process.argv]


def test_tuning_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINICON_BULK_WINDOW", "3")

    assert child_spec(PROCESSES[0], VALUES, {}).environment["INFINICON_BULK_WINDOW"] == "3"


def test_only_those_who_dispatch_are_the_sweeper() -> None:
    assert {process.name for process in PROCESSES if "sweeper_database_url" in process.settings} == {
        "api",
        "worker-cpu",
    }


def test_nobody_is_the_owner_and_beat_and_flower_see_no_database() -> None:
    for process in PROCESSES:
        assert "owner_database_url" not in process.settings
    watchers = [process for process in PROCESSES if process.name in {"beat", "flower"}]
    assert not any("database" in name for process in watchers for name in process.settings)


def test_names_are_settings_and_kinds_are_those_of_the_command_line() -> None:
    assert {name for process in PROCESSES for name in process.settings} <= set(Settings.model_fields)
    assert set(WORKER_KINDS) == {kind.value for kind in WorkerKind}
    assert len({process.name for process in PROCESSES}) == len(PROCESSES) == 8


def test_each_has_a_row_in_the_table_of_operations() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")

    assert [one.name for one in PROCESSES if f"| `infinicon {' '.join(one.argv)}` |" not in page] == []


def test_models_run_with_passive_threads() -> None:
    models = {process.name for process in PROCESSES if process.environment.get("OMP_WAIT_POLICY") == "PASSIVE"}

    assert models == {"encoder", "worker-cpu", "worker-interactive", "worker-embed", "worker-consolidate"}


def test_a_stop_takes_at_most_twelve_seconds() -> None:
    """Our processes stop together, then the servers do."""
    ours = max(process.grace for process in PROCESSES)

    assert ours + sum(pause for _, pause in STOP) + 1.0 <= 12.0
