"""Postgres 18 with pgvector as a child: its cluster is made at the first start and kept; it listens on a Unix socket alone."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path
from urllib.parse import quote

import psycopg

from infinicon.embedded import launch
from infinicon.embedded.account import Account
from infinicon.embedded.binaries import postgres_programs
from infinicon.embedded.child import ChildSpec
from infinicon.embedded.files import sync_directory
from infinicon.embedded.leftovers import postgres_processes, send
from infinicon.embedded.supervisor import Supervisor
from infinicon.errors import MissingDependency
from infinicon.settings import child_environment

SUPERUSER = "infinicon_superuser"
DATABASE = "infinicon"
MAJOR_VERSION = "18"
INITDB_TIMEOUT = 120.0

# A fast shutdown, then an immediate one; both keep what is committed.
STOP = ((signal.SIGINT, 3.5), (signal.SIGQUIT, 1.0))
# What a predecessor is given that lost its supervisor: it may be in the middle of its last checkpoint.
ORPHAN_STEPS = ((0.0, signal.SIGINT), (8.0, signal.SIGQUIT), (11.0, signal.SIGKILL))

# For a small machine that does other things too. Durability is not for sale: fsync, full_page_writes and synchronous_commit stay on.
TUNING = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "120",
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "1GB",
    "min_wal_size": "128MB",
    "checkpoint_timeout": "15min",
    # A bulk load is over in a minute: statistics and the visibility map, on which the exact scan relies, must follow at once.
    "autovacuum_naptime": "10s",
    "jit": "off",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "password_encryption": "scram-sha-256",
    "cluster_name": "infinicon",
    # An error message can quote a value, and values are users' text: the log tells of the server, the callers log their own faults.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}


def socket_url(sockets: Path, role: str, password: str, database: str = DATABASE) -> str:
    """A libpq URL over the socket in that folder."""
    user = f"{quote(role, safe='')}:{quote(password, safe='')}"
    # The port is part of the socket's name; without it a PGPORT in somebody's environment would change it.
    return f"postgresql://{user}@/{database}?host={quote(str(sockets), safe='')}&port=5432"


class Postgres:
    """The server whose cluster is DIR/postgres and whose socket is in `sockets`."""

    def __init__(self, directory: Path, sockets: Path, account: Account | None, superuser_password: str) -> None:
        self._directory = directory
        self._data = directory / "postgres"
        self._sockets = sockets
        self._account = account
        self._password = superuser_password
        self._orphans = Orphans(self._data)

    def url(self, role: str, password: str, database: str = DATABASE) -> str:
        """A libpq URL over the socket."""
        return socket_url(self._sockets, role, password, database)

    def superuser_url(self, database: str = "postgres") -> str:
        return self.url(SUPERUSER, self._password, database)

    def make_cluster(self, supervisor: Supervisor, marks: dict[str, str]) -> None:
        """Run initdb, unless there is a cluster. It works on the side, so that one that was cut off leaves nothing half-made.

        Raises:
            MissingDependency: the cluster there is of another major version.
            Unavailable: initdb failed.
        """
        version = self._data / "PG_VERSION"
        if version.is_file():
            if (found := version.read_text().strip()) != MAJOR_VERSION:
                raise MissingDependency(
                    f"{self._data} was made by Postgres {found}, and this release brings {MAJOR_VERSION}"
                )
            return
        unfinished = self._directory / "postgres.unfinished"
        if unfinished.exists():
            shutil.rmtree(unfinished)
        unfinished.mkdir(mode=0o700)
        # In the folder of the sockets, because that one belongs to the account and is emptied at every start.
        password_file = self._sockets / "initdb.password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password + "\n")
        if self._account is not None:
            self._account.own(unfinished)
            self._account.own(password_file)
        try:
            supervisor.finish(self._initdb(unfinished, password_file, marks), INITDB_TIMEOUT)
        finally:
            password_file.unlink()
        unfinished.rename(self._data)
        sync_directory(self._directory)

    def spec(self) -> ChildSpec:
        """It carries no mark of its owner: a start after a kill ends Postgres in its own way, see Orphans."""
        program = postgres_programs() / "postgres"
        sockets = str(self._sockets).replace('"', '""')
        settings = {**TUNING, "unix_socket_directories": f'"{sockets}"'}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return ChildSpec(
            name="postgres",
            command=self._launched([str(program), "-D", str(self._data), *options], [self._data], signal.SIGINT),
            environment=child_environment({}, bare=True),
            stop=STOP,
            layer=0,
            directory=Path("/"),
            may_start=self._orphans.are_gone,
        )

    def is_ready(self) -> bool:
        """Whether the superuser gets in.

        Raises:
            MissingDependency: the password in secrets.json is not the cluster's.
        """
        try:
            psycopg.connect(self.superuser_url(), connect_timeout=2).close()
        except psycopg.OperationalError as fault:
            if "password authentication failed" in str(fault):
                raise MissingDependency(
                    f"{self._directory / 'secrets.json'} does not belong to the data in {self._data}"
                ) from None
            return False
        return True

    def _initdb(self, data: Path, password_file: Path, marks: dict[str, str]) -> ChildSpec:
        program = postgres_programs() / "initdb"
        options = [
            "--username",
            SUPERUSER,
            "--pwfile",
            str(password_file),
            "--auth",
            "scram-sha-256",
            "--data-checksums",
        ]
        # The built-in provider sorts the same on every machine, whatever its C library; the data can move.
        options += [
            "--encoding",
            "UTF8",
            "--locale-provider",
            "builtin",
            "--builtin-locale",
            "C.UTF-8",
            "--locale",
            "C",
        ]
        return ChildSpec(
            name="initdb",
            command=self._launched(
                [str(program), "-D", str(data), "--no-instructions", *options], [data], signal.SIGKILL
            ),
            environment=child_environment(marks, bare=True),
            directory=Path("/"),
        )

    def _launched(self, program: list[str], folders: list[Path], death_signal: signal.Signals) -> list[str]:
        return launch.command(
            program,
            death_signal=death_signal,
            account=self._account.ids if self._account else None,
            reach=[program[0], *(str(folder) for folder in folders), str(self._sockets)],
        )


class Orphans:
    """Ends servers that a killed supervisor left on this data directory, without losing what they committed."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._since: float | None = None
        self._steps = list(ORPHAN_STEPS)

    def are_gone(self) -> bool:
        """Does not block: False means ask again. Once True, stale lock files are gone too."""
        found = postgres_processes(self._data)
        if not found:
            # With nobody in the directory the file can only be stale; its number may meanwhile be another process's, and then
            # Postgres would refuse to start.
            (self._data / "postmaster.pid").unlink(missing_ok=True)
            self._since, self._steps = None, list(ORPHAN_STEPS)
            return True
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        while self._steps and now - self._since >= self._steps[0][0]:
            number = self._steps.pop(0)[1]
            numbers = {process.pid for process in found}
            # SIGINT to a backend would only cancel its query; the postmaster is the one that no other server started.
            heads = [process for process in found if process.ppid() not in numbers]
            send(heads if number is signal.SIGINT else found, number)
        return False
