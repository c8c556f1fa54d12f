"""Brings a database to the schema of this release."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy
from alembic import command
from alembic.config import Config
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from infinicon.errors import MissingDependency, Unavailable
from infinicon.store.database import unscoped

HEAD = "0002"
MIGRATIONS_LOCK = 4_932_117_603  # an arbitrary number, the same in every release

TAKE_LOCK = text("SELECT pg_advisory_xact_lock(:key)")
MAKE_SCHEMA = text("CREATE SCHEMA IF NOT EXISTS infinicon")
MAKE_EXTENSION = text("CREATE EXTENSION IF NOT EXISTS vector")
EXTENSION_VERSION = text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
SCHEMA_VERSION = text("SELECT version_num FROM infinicon.schema_version")


@unscoped("the schema belongs to no tenant")
def migrate(owner_url: str) -> None:
    """Run every migration that the database lacks, one process at a time.

    Raises:
        MissingDependency: no extension pgvector of at least 0.8, and no right to create it.
        Unavailable: Postgres does not answer.
    """
    url = make_url(owner_url).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool, hide_parameters=True)
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    try:
        with engine.begin() as connection:
            connection.execute(TAKE_LOCK, {"key": MIGRATIONS_LOCK})
            connection.execute(MAKE_SCHEMA)
            _need_vector(connection)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except sqlalchemy.exc.OperationalError as fault:
        raise Unavailable("the database does not answer", details={"sqlstate": str(_state(fault))}) from None
    finally:
        engine.dispose()


def _need_vector(connection: sqlalchemy.Connection) -> None:
    found = connection.execute(EXTENSION_VERSION).scalar()
    if found is None:
        try:
            with connection.begin_nested():
                connection.execute(MAKE_EXTENSION)
        except DBAPIError as fault:
            raise MissingDependency(
                "the extension pgvector cannot be created here: install it and run CREATE EXTENSION vector as a superuser",
                details={"sqlstate": str(_state(fault))},
            ) from None
        found = connection.execute(EXTENSION_VERSION).scalar()
    if tuple(int(part) for part in str(found).split(".")[:2]) < (0, 8):
        raise MissingDependency("pgvector must be 0.8 or newer", details={"found": str(found)})


def _state(fault: DBAPIError) -> object:
    return getattr(fault.orig, "sqlstate", None)
