"""`infinicon up`: everything on one machine, in the foreground, under one supervisor."""

from __future__ import annotations

import contextlib
import http.client
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import sqlalchemy.exc

from infinicon.cli.place import Dev, flower_port, free_port, held, url_of, withdraw
from infinicon.embedded import bootstrap, leftovers
from infinicon.embedded.account import service_account
from infinicon.embedded.files import private_directory
from infinicon.embedded.postgres import Postgres
from infinicon.embedded.processes import PROCESSES, WORKER_KINDS, child_spec
from infinicon.embedded.secrets import Secrets, load_or_create
from infinicon.embedded.sockets import close_socket_directory, open_socket_directory
from infinicon.embedded.supervisor import StopRequested, Supervisor
from infinicon.embedded.valkey import Valkey
from infinicon.errors import InfiniconError
from infinicon.keyring import Keyring, new_api_key
from infinicon.settings import settings

SERVERS_TIMEOUT = 60.0
READY_TIMEOUT = 150.0
PATIENCE = 10.0
"""Seconds in which a process that starts need not say why it is not ready."""
LOOPBACK = "127.0.0.1"
TENANT = "default"


def run_everything(directory: Path, *, host: str, port: int) -> int:
    """Returns the exit code: 0 where somebody asked us to stop, 1 where we could not start; the reason is on standard error."""
    with Supervisor(_report) as supervisor:
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            with held(directory.resolve()):
                _Up(supervisor, directory.resolve(), host, port).run()
        except StopRequested:
            return 0
        except (InfiniconError, OSError, psycopg.Error, sqlalchemy.exc.SQLAlchemyError) as fault:
            _report(_in_words(fault))
            return 1
    return 0


def _report(line: str) -> None:
    # Whoever read our standard error may be gone; that is no reason to stop.
    with contextlib.suppress(OSError):
        sys.stderr.write(f"infinicon: {line}\n")
        sys.stderr.flush()


def _in_words(fault: Exception) -> str:
    if isinstance(fault, InfiniconError):
        return fault.message
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.strerror}: {fault.filename}" if fault.filename else fault.strerror
    return f"{type(fault).__name__} while starting; see the logs in the data directory"


@dataclass(frozen=True, slots=True)
class _Addresses:
    """Where everything is reached."""

    api: str
    flower: str
    broker: str
    encoder: str
    heartbeat: Path


class _Up:
    """One run, from the lock to the last child."""

    def __init__(self, supervisor: Supervisor, directory: Path, host: str, port: int) -> None:
        self.supervisor = supervisor
        self.directory = directory
        self.host = host
        self.port = port
        self.marks = {leftovers.OWNER_VARIABLE: str(directory)}

    def run(self) -> None:
        """Start, serve, stop.

        Raises:
            StopRequested: while starting.
        """
        try:
            settings()  # A wrong setting is told before anything starts.
            self._clear()
            self._start()
            self.supervisor.run()
            _report("stopping")
        except StopRequested:
            _report("stopping before everything was up")
            raise
        finally:
            withdraw(self.directory)
            self.supervisor.stop()
            close_socket_directory(self.directory)

    def _clear(self) -> None:
        """Remove what a killed run left: its processes (Postgres is ended by its own rules), its dev.json, its sockets."""
        withdraw(self.directory)
        if ended := leftovers.end_marked(self.directory):
            _report(f"ended {ended} processes that a killed run had left")
        self.supervisor.log_to(private_directory(self.directory / "logs"))
        self.port = free_port(self.host, self.port)

    def _start(self) -> None:
        data = self.directory / "postgres"
        secrets = load_or_create(self.directory, new_api_key=new_api_key, has_data=data.exists())
        account = service_account(data)
        sockets = open_socket_directory(self.directory, account)
        postgres = Postgres(self.directory, sockets, account, secrets.superuser_password)
        valkey = Valkey(sockets, account, secrets.broker_password)

        _report(f"starting Postgres and Valkey in {self.directory}")
        postgres.make_cluster(self.supervisor, self.marks)
        self.supervisor.start(postgres.spec())
        self.supervisor.start(valkey.spec(self.marks))
        self.supervisor.wait_until(postgres.is_ready, "Postgres", SERVERS_TIMEOUT)
        self.supervisor.wait_until(valkey.is_ready, "Valkey", SERVERS_TIMEOUT)

        with self.supervisor.interruptible():
            self._prepare(postgres, secrets)
        port = flower_port(self.directory, LOOPBACK)
        addresses = _Addresses(
            api=url_of(self.host, self.port),
            flower=url_of(LOOPBACK, port),
            broker=valkey.url,
            encoder=f"unix://{sockets / 'encoder.sock'}",
            heartbeat=sockets / "beat.heartbeat",
        )
        self._start_processes(postgres, secrets, addresses, port)
        self._publish(secrets, addresses)

    def _prepare(self, postgres: Postgres, secrets: Secrets) -> None:
        """Roles, database, schema, tenant and key; every step can run again."""
        from infinicon.operations.dispatch import abandon
        from infinicon.operations.keys import provision
        from infinicon.operations.runs import make_other_tenant
        from infinicon.store.migrate import migrate

        _report("preparing the database")
        bootstrap.bootstrap(postgres, secrets)
        owner_url = postgres.url(bootstrap.OWNER, secrets.owner_password)
        migrate(owner_url)
        provision(owner_url, tenant_name=TENANT, api_key=secrets.api_key)
        if settings().conformance:
            make_other_tenant(owner_url, Keyring(secrets.master_key))
        # Valkey starts empty and every worker is new, so what a killed run had in hand is free at once.
        abandon(postgres.url(bootstrap.SWEEPER, secrets.sweeper_password))

    def _start_processes(self, postgres: Postgres, secrets: Secrets, addresses: _Addresses, flower_port: int) -> None:
        values = {
            "database_url": postgres.url(bootstrap.APP, secrets.app_password),
            "sweeper_database_url": postgres.url(bootstrap.SWEEPER, secrets.sweeper_password),
            "results_database_url": postgres.url(bootstrap.RESULTS, secrets.results_password),
            "broker_url": addresses.broker,
            "encoder_url": addresses.encoder,
            "master_key": secrets.master_key,
            "flower_password": secrets.flower_password,
            "host": self.host,
            "port": str(self.port),
            "flower_host": LOOPBACK,
            "flower_port": str(flower_port),
            "heartbeat_file": str(addresses.heartbeat),
        }
        _report("starting API, encoder, workers, beat and Flower")
        for process in PROCESSES:
            self.supervisor.start(child_spec(process, values, self.marks))
        for what, condition in _conditions(addresses):
            self.supervisor.wait_until(condition, what, READY_TIMEOUT)

    def _publish(self, secrets: Secrets, addresses: _Addresses) -> None:
        dev = Dev(
            url=addresses.api,
            api_key=secrets.api_key,
            tenant_id=TENANT,
            flower_url=addresses.flower,
            flower_user=settings().flower_user,
            flower_password=secrets.flower_password,
        )
        self.supervisor.check()
        dev.publish(self.directory)
        print(f"infinicon is ready: {addresses.api}", flush=True)


def _conditions(addresses: _Addresses) -> list[tuple[str, Callable[[], bool]]]:
    """What must hold before the first request would succeed, and before dev.json tells the truth."""
    from infinicon.tasks.ping import answering

    return [
        ("the API", _Readiness(addresses.api)),
        ("a worker", lambda: len(answering(addresses.broker)) >= len(WORKER_KINDS)),
        ("Flower", lambda: _status(addresses.flower, "/") == http.HTTPStatus.UNAUTHORIZED),
    ]


class _Readiness:
    """Whether the API is ready. What it says instead, a while after the start, is told once: somebody may have to do something about it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._patient_until = time.monotonic() + PATIENCE
        self._told = ""

    def __call__(self) -> bool:
        status, body = _get(self._url, "/readyz")
        if status == http.HTTPStatus.SERVICE_UNAVAILABLE and time.monotonic() > self._patient_until:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                why = str(json.loads(body)["message"])
                if why != self._told:
                    self._told = why
                    _report(f"the API is not ready: {why}")
        return status == http.HTTPStatus.OK


def _status(url: str, path: str) -> int | None:
    """The HTTP status of a GET, None where nobody answers."""
    return _get(url, path)[0]


def _get(url: str, path: str) -> tuple[int | None, bytes]:
    """Status and body of a GET; None and nothing where nobody answers."""
    where = urlsplit(url)
    assert where.hostname is not None
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=3)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return None, b""
    finally:
        connection.close()
