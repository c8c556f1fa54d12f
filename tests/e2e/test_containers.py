"""docker-compose.yml against a running `infinicon up`: the same command lines and the same settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from infinicon.cli.instance import Instance
from infinicon.embedded.leftovers import OWNER_VARIABLE
from infinicon.embedded.processes import MODEL_ENVIRONMENT, PROCESSES, Process
from infinicon.settings import FILE_SUFFIX, PREFIX, SECRETS

COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"
PROGRAM = ["-m", "infinicon.cli"]


def service_of(process: Process) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"][process.name]
    return found


def running(live: Instance, process: Process) -> tuple[list[str], dict[str, str]]:
    """Arguments after the program, and environment, of the child of `up` that is this process: from /proc, not from the list."""
    for child in psutil.Process(live.pid).children():
        arguments = Path(f"/proc/{child.pid}/cmdline").read_bytes().decode().rstrip("\0").split("\0")
        if arguments[1:3] == PROGRAM and arguments[3:] == list(process.argv):
            pairs = Path(f"/proc/{child.pid}/environ").read_bytes().decode().rstrip("\0").split("\0")
            return arguments[3:], dict(pair.split("=", 1) for pair in pairs)
    raise AssertionError(f"`infinicon up` runs no {process.name}")


def setting_of(variable: str) -> str:
    """The variable that holds the value itself."""
    secret = variable.removesuffix(FILE_SUFFIX)
    return secret if secret.removeprefix(PREFIX).lower() in SECRETS else variable


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_a_container_runs_what_up_runs(live: Instance, process: Process) -> None:
    arguments, environment = running(live, process)
    service = service_of(process)

    inherited = {name for name in os.environ if name.startswith(PREFIX)} | {OWNER_VARIABLE}
    ours = {name for name in environment if name.startswith(PREFIX)} - inherited
    theirs = {setting_of(name) for name in service["environment"] if name.startswith(PREFIX)}
    assert service["command"] == arguments
    assert theirs == ours
    for name in MODEL_ENVIRONMENT:
        assert service["environment"].get(name) == environment.get(name), name


def test_up_runs_nothing_of_ours_that_compose_does_not(live: Instance) -> None:
    commands = [child.cmdline() for child in psutil.Process(live.pid).children()]
    running_now = {tuple(command[3:]) for command in commands if command[1:3] == PROGRAM}

    assert running_now == {process.argv for process in PROCESSES}
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"].values()
    assert running_now < {tuple(service["command"]) for service in services}
