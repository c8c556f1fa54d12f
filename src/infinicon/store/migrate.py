"""Brings a database to the schema of this release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import sqlalchemy
from alembic import command
from alembic.config import Config
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from infinicon.errors import MissingDependency
from infinicon.store.database import raw, translate, unscoped
from infinicon.store.ownership import INSUFFICIENT, lacking_rights, server_version, unreachable

HEAD = "0004"
MIGRATIONS_LOCK = 4_932_117_603  # an arbitrary number, the same in every release
OLDEST_POSTGRES = 150_000
OLDEST_VECTOR = (0, 8)

TAKE_LOCK = text("SELECT pg_advisory_xact_lock(:key)")
MAKE_SCHEMA = text("CREATE SCHEMA IF NOT EXISTS infinicon")
MAKE_EXTENSION = text("CREATE EXTENSION IF NOT EXISTS vector")
EXTENSION_VERSION = text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
EXTENSION_OFFERED = text("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'")
SCHEMA_VERSION = text("SELECT version_num FROM infinicon.schema_version")


@unscoped("the schema belongs to no tenant")
def migrate(owner_url: str) -> None:
    """Run every migration that the database lacks, one process at a time.

    Raises:
        MissingDependency: the database is not there or too old, pgvector is missing or too old, or the owner lacks a right; `details`
            have the remedy.
        Unavailable: Postgres does not answer.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with _owner(owner_url) as engine:
        try:
            with engine.begin() as connection:
                _need_version(connection)
                connection.execute(TAKE_LOCK, {"key": MIGRATIONS_LOCK})
                connection.execute(MAKE_SCHEMA)
                _need_vector(connection)
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        except (DBAPIError, psycopg.Error) as fault:
            if _state(fault) != INSUFFICIENT:
                raise translate(fault) from None
            with engine.begin() as connection:
                raise lacking_rights(raw(connection)) from None


@contextmanager
def _owner(owner_url: str) -> Iterator[sqlalchemy.Engine]:
    """An engine that reaches the database. A database that cannot be reached is told in words before anything is tried in it."""
    url = make_url(owner_url).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(
        url, poolclass=sqlalchemy.NullPool, hide_parameters=True, connect_args={"connect_timeout": 10}
    )
    try:
        try:
            engine.connect().close()
        except (OperationalError, InterfaceError) as fault:
            raise unreachable(str(fault.orig), url.database or "", url.username or "") from None
        yield engine
    finally:
        engine.dispose()


def _need_version(connection: sqlalchemy.Connection) -> None:
    number, words = server_version(raw(connection))
    if number < OLDEST_POSTGRES:
        raise MissingDependency(
            f"Postgres must be 15 or newer, and this is {words}",
            details={"remedy": "move the database to a newer server; with Docker: the image pgvector/pgvector:pg18"},
        )


def _need_vector(connection: sqlalchemy.Connection) -> None:
    found = connection.execute(EXTENSION_VERSION).scalar()
    if found is None:
        _make_vector(connection)
        found = connection.execute(EXTENSION_VERSION).scalar()
    if tuple(int(part) for part in str(found).split(".")[:2]) < OLDEST_VECTOR:
        raise MissingDependency(
            f"pgvector must be 0.8 or newer, and this database has {found}",
            details={
                "found": str(found),
                "remedy": "install a newer pgvector on the server, then as a superuser in this database: ALTER EXTENSION vector UPDATE;",
            },
        )


def _make_vector(connection: sqlalchemy.Connection) -> None:
    if connection.execute(EXTENSION_OFFERED).scalar() is None:
        raise MissingDependency(
            "this Postgres server has no pgvector",
            details={
                "remedy": "install it on the server (Debian: postgresql-18-pgvector; Docker: the image pgvector/pgvector:pg18)"
            },
        )
    connection.execute(MAKE_EXTENSION)


def _state(fault: Exception) -> object:
    return getattr(fault.orig if isinstance(fault, DBAPIError) else fault, "sqlstate", None)
