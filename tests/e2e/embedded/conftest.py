"""The bundled servers under a supervisor, each test with a data directory of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from infinicon.embedded.account import Account, service_account
from infinicon.embedded.secrets import Secrets, load_or_create
from infinicon.embedded.sockets import close_socket_directory, open_socket_directory
from infinicon.embedded.supervisor import Supervisor


@dataclass(frozen=True, slots=True)
class Place:
    """A data directory, closed to everybody but us, and what servers in it need."""

    directory: Path
    sockets: Path
    account: Account | None
    secrets: Secrets


@pytest.fixture
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="inf-") as name:
        directory = Path(name)
        account = service_account(directory / "postgres")
        secrets = load_or_create(directory, new_api_key=lambda: "inf_key", has_data=False)
        yield Place(directory, open_socket_directory(directory, account), account, secrets)
        close_socket_directory(directory)


@pytest.fixture
def reports() -> list[str]:
    """What the supervisor told."""
    return []


@pytest.fixture
def supervisor(place: Place, reports: list[str]) -> Iterator[Supervisor]:
    with Supervisor(reports.append) as running:
        running.log_to(place.directory)
        yield running
