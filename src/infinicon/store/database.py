"""Connections, transactions, and the one place where the driver's errors become ours."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import psycopg
import sqlalchemy
from pgvector.psycopg import register_vector
from sqlalchemy import event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from infinicon.errors import Internal, MissingDependency, Unavailable

P = ParamSpec("P")
T = TypeVar("T")

Transaction = sqlalchemy.Connection
"""An open transaction. Only `Database.transaction` makes one, and only the operation that opened it commits."""

ENTER_TENANT = text("SELECT set_config('infinicon.tenant', :tenant, true)")

DISK_FULL = "53100"
# Of the server, not of what it was asked: it answers, and says what it lacks. Nothing of this is repeated from its message.
SCARCE = {
    DISK_FULL: "the database's disk is full: nothing more can be stored until there is room",
    "53200": "the database is out of memory; try again",
    "53300": "the database takes no more connections; try again",
    "53400": "the database has reached a limit of its configuration; try again",
    "58030": "the database cannot read or write its files: its disk or file system is at fault",
}
FULL_SECONDS = 60.0
"""For so long a disk that was full is taken to be full still, unless something says so again."""

CONFLICTS = frozenset({"40P01", "40001", "55P03"})  # deadlock, serialisation failure, lock not available
UNREACHABLE = frozenset({"57P01", "57P02", "57P03", *SCARCE})  # shutdown, start-up, and what is scarce


LIMITS = "54"  # the class of program limits: a row or an index entry is too large, and will be the next time, too


class Conflict(Unavailable):
    """The transaction met another one (deadlock, serialisation) and was rolled back; running it again is safe."""


def unscoped(reason: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Marks a store function that spans tenants on purpose. The reason is for the reader; a test demands the mark."""
    assert reason

    def mark(function: Callable[P, T]) -> Callable[P, T]:
        return function

    return mark


class Database:
    """One role's pool of connections. Make it after the fork; close it before the process ends."""

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 12,
        timeout: float = 5.0,
        prepared_statements: bool = True,
        vectors: bool = True,
    ) -> None:
        parsed = make_url(url)
        if parsed.drivername in {"postgresql", "postgres"}:
            parsed = parsed.set(drivername="postgresql+psycopg")
        connect_args: dict[str, Any] = {"connect_timeout": max(2, int(timeout)), "application_name": "infinicon"}
        if not prepared_statements:
            connect_args["prepare_threshold"] = None
        self._engine = sqlalchemy.create_engine(
            parsed,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=timeout,
            pool_pre_ping=True,
            pool_recycle=1800,
            connect_args=connect_args,
            hide_parameters=True,  # a failed statement must not carry user text into a log
        )
        if vectors:
            event.listen(self._engine, "connect", _register_vector)
        self._full_at = -FULL_SECONDS
        self._snapshots = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @contextmanager
    def transaction(self, tenant: int | None, *, snapshot: bool = False) -> Iterator[Transaction]:
        """A transaction that sees one tenant's rows; with None (sweeper's and owner's roles) what the role itself may see.

        A `snapshot` sees the database as it was at its first statement, and writes nothing.

        Raises:
            Conflict: another transaction won; run the whole block again (`retry_conflicts`).
            Unavailable: Postgres does not answer or is out of something, such as disk, or no connection came free in time.
        """
        try:
            with (self._snapshots if snapshot else self._engine).begin() as tx:
                if tenant is not None:
                    tx.execute(ENTER_TENANT, {"tenant": str(tenant)})
                yield tx
        except (DBAPIError, PoolTimeout, psycopg.Error) as fault:
            if _sqlstate(fault) == DISK_FULL:
                self._full_at = time.monotonic()
            raise translate(fault) from None

    @property
    def is_full(self) -> bool:
        """Whether Postgres refused something in the last minute because its disk is full."""
        return time.monotonic() - self._full_at < FULL_SECONDS

    def close(self) -> None:
        self._engine.dispose()


def _register_vector(connection: psycopg.Connection[Any], _record: object) -> None:
    try:
        register_vector(connection)
    except psycopg.ProgrammingError:
        connection.rollback()
        raise MissingDependency("the Postgres database has no extension 'vector'; run `infinicon migrate`") from None
    connection.commit()


def translate(fault: Exception) -> Exception:
    """A driver's error as one of ours. The driver's message may quote rows, so nothing of it but the SQLSTATE is kept."""
    origin = fault.orig if isinstance(fault, DBAPIError) else fault
    state = _sqlstate(fault)
    if state in CONFLICTS:
        return Conflict("another transaction was first; try again", details={"sqlstate": str(state)})
    if not str(state).startswith(LIMITS) and (
        isinstance(fault, PoolTimeout | OperationalError)
        or isinstance(origin, psycopg.OperationalError)
        or state in UNREACHABLE
        or (isinstance(fault, DBAPIError) and fault.connection_invalidated)
    ):
        said = SCARCE.get(str(state), "the database does not answer; try again")
        return Unavailable(said, details={"sqlstate": str(state)})
    constraint = getattr(getattr(origin, "diag", None), "constraint_name", None)
    return Internal("the database refused a statement", details={"sqlstate": str(state), "constraint": constraint})


def _sqlstate(fault: Exception) -> str | None:
    origin = fault.orig if isinstance(fault, DBAPIError) else fault
    return getattr(origin, "sqlstate", None)


def retry_conflicts(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function again whose single transaction lost against another one: at most 5 times, with a short random wait."""

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        for attempt in range(4):
            try:
                return function(*args, **kwargs)
            except Conflict:
                time.sleep(random.uniform(0.005, 0.02) * 2**attempt)  # noqa: S311 -- spreads rivals, protects nothing
        return function(*args, **kwargs)

    run.__name__ = getattr(function, "__name__", "run")
    run.__doc__ = function.__doc__
    return run


def raw(tx: Transaction) -> psycopg.Connection[Any]:
    """The driver's own connection, for COPY."""
    connection = tx.connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    return connection
