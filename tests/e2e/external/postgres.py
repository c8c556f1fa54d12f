"""A Postgres that is not `up`'s: over TCP, prepared by the script that `infinicon secrets` writes, as its container is."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg

from infinicon.embedded import launch
from infinicon.embedded.account import service_account
from infinicon.embedded.binaries import postgres_programs
from infinicon.settings import child_environment
from tests.e2e.external.servers import HOST
from tests.waiting import wait_until

SUPERUSER = "postgres"
PASSWORD = "superuser"


@contextlib.contextmanager
def postgres(folder: Path, port: int, script: str) -> Iterator[None]:
    """Running on the port, with what `script` makes (psql's, with one \\connect in it)."""
    account = service_account(folder / "data")
    data, words = folder / "data", folder / "password"
    data.mkdir(mode=0o700)
    words.write_text(PASSWORD)
    if account is not None:
        account.own(data)
        account.own(words)
    programs = postgres_programs()

    def command(program: str, *options: str) -> list[str]:
        return launch.command(
            [str(programs / program), "-D", str(data), *options],
            death_signal=signal.SIGKILL,
            account=account.ids if account else None,
            reach=[str(programs / program), str(data)],
        )

    initdb = command("initdb", "-U", SUPERUSER, "--pwfile", str(words), "--auth", "scram-sha-256", "--encoding", "UTF8")
    subprocess.run(
        [*initdb, "--locale", "C"], env=child_environment({}, bare=True), cwd="/", check=True, capture_output=True
    )
    options = {"listen_addresses": HOST, "port": str(port), "unix_socket_directories": "", "fsync": "off"}
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(
            command("postgres", *[part for name, value in options.items() for part in ("-c", f"{name}={value}")]),
            env=child_environment({}, bare=True),
            cwd="/",
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(lambda: _lets_in(port), "Postgres lets the superuser in")
        _run(port, script)
        yield
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)


def superuser_url(port: int, database: str = "postgres") -> str:
    return f"postgresql://{SUPERUSER}:{PASSWORD}@{HOST}:{port}/{database}"


def _lets_in(port: int) -> bool:
    try:
        psycopg.connect(superuser_url(port), connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _run(port: int, script: str) -> None:
    before, found, after = script.partition("\\connect infinicon\n")
    assert found
    for database, part in (("postgres", before), ("infinicon", after)):
        with psycopg.connect(superuser_url(port, database), autocommit=True) as connection:
            # One by one: a database is not made inside a transaction, and several statements together are one.
            for statement in filter(None, (line.strip() for line in part.splitlines() if not line.startswith("--"))):
                connection.execute(statement.encode())
