"""What every tier may ask for: a Postgres of its own, migrated, and the markers of the slow tiers."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from infinicon.embedded.account import service_account
from infinicon.embedded.bootstrap import APP, OWNER, RESULTS, SWEEPER, bootstrap, passwords
from infinicon.embedded.postgres import Postgres
from infinicon.embedded.secrets import load_or_create
from infinicon.embedded.sockets import close_socket_directory, open_socket_directory
from infinicon.embedded.supervisor import Supervisor
from infinicon.keyring import new_api_key
from infinicon.store.migrate import migrate
from tests.waiting import wait_until

MARKED_FOLDERS = ("e2e", "chaos")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for folder in MARKED_FOLDERS:
            if folder in item.path.parts:
                item.add_marker(folder)


@dataclass(frozen=True, slots=True)
class Cluster:
    """URLs of one migrated database, a URL for each role. `superuser_url` is for looking under the hood."""

    owner_url: str
    app_url: str
    sweeper_url: str
    results_url: str
    superuser_url: str
    server_log: Path


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Postgres as `infinicon up` makes it, for the length of the session."""
    directory = tmp_path_factory.mktemp("pg")
    account = service_account(directory / "postgres")
    secrets = load_or_create(directory, new_api_key=new_api_key, has_data=False)
    server = Postgres(directory, open_socket_directory(directory, account), account, secrets.superuser_password)
    with Supervisor(lambda _: None) as supervisor:  # only for initdb: it would take Ctrl-C away from pytest
        supervisor.log_to(directory)
        server.make_cluster(supervisor, {})
    child = _start(server, directory / "server.log")
    try:
        wait_until(server.is_ready, "Postgres is ready")
        bootstrap(server, secrets)
        words = passwords(secrets)
        urls = {role: server.url(role, words[role]) for role in (OWNER, APP, SWEEPER, RESULTS)}
        migrate(urls[OWNER])
        superuser_url = server.superuser_url("infinicon")
        yield Cluster(
            urls[OWNER], urls[APP], urls[SWEEPER], urls[RESULTS], superuser_url, server_log=directory / "server.log"
        )
    finally:
        child.send_signal(signal.SIGINT)
        child.wait(30)
        close_socket_directory(directory)


def _start(server: Postgres, log: Path) -> subprocess.Popen[bytes]:
    spec = server.spec()
    with log.open("ab") as output:
        return subprocess.Popen(
            spec.command, env=dict(spec.environment), stdout=output, stderr=output, start_new_session=True
        )
