"""Roles, database and extension, made by the superuser before there is a schema. Every step can run again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from infinicon.embedded.postgres import DATABASE, SUPERUSER, Postgres, socket_url
from infinicon.embedded.secrets import Secrets, load_or_create

OWNER = "infinicon_owner"
APP = "infinicon_app"
SWEEPER = "infinicon_sweeper"
RESULTS = "infinicon_results"
MEMBERS = (APP, SWEEPER, RESULTS)

_ROLE_EXISTS = SQL("SELECT 1 FROM pg_roles WHERE rolname = %s")
_CREATE_ROLE = SQL("CREATE ROLE {role}")
_SET_ROLE = SQL(
    "ALTER ROLE {role} LOGIN NOSUPERUSER NOCREATEDB {createrole} NOREPLICATION NOBYPASSRLS NOINHERIT PASSWORD {password}"
)
# ADMIN lets the owner's migrations manage the three; it does not work with their rights unless it says SET ROLE.
_ADMINISTER = SQL("GRANT {role} TO {owner} WITH ADMIN TRUE, INHERIT FALSE, SET TRUE")
_DATABASE_EXISTS = SQL("SELECT 1 FROM pg_database WHERE datname = %s")
_CREATE_DATABASE = SQL("CREATE DATABASE {database} OWNER {owner}")
_CLOSE_DATABASE = SQL("REVOKE ALL ON DATABASE {database} FROM PUBLIC")
_OPEN_DATABASE = SQL("GRANT CONNECT ON DATABASE {database} TO {role}")
_CREATE_EXTENSION = SQL("CREATE EXTENSION IF NOT EXISTS vector")
_UPDATE_EXTENSION = SQL("ALTER EXTENSION vector UPDATE")


def passwords(secrets: Secrets) -> Mapping[str, str]:
    """Role to password."""
    return {
        OWNER: secrets.owner_password,
        APP: secrets.app_password,
        SWEEPER: secrets.sweeper_password,
        RESULTS: secrets.results_password,
    }


def owner_url(directory: Path) -> str:
    """How another command reaches the database of a running `up` as the owner of its schema.

    Raises:
        MissingDependency: the directory's secrets cannot be read.
    """
    secrets = load_or_create(directory, new_api_key=str, has_data=True)
    return socket_url((directory / "run").resolve(), OWNER, secrets.owner_password)


def superuser_url(directory: Path) -> str:
    """How another command reaches everything in the database of a running `up`.

    Raises:
        MissingDependency: the directory's secrets cannot be read.
    """
    secrets = load_or_create(directory, new_api_key=str, has_data=True)
    return socket_url((directory / "run").resolve(), SUPERUSER, secrets.superuser_password)


def bootstrap(postgres: Postgres, secrets: Secrets) -> None:
    """Make what is missing; set every role's rights and password to what they should be."""
    with psycopg.connect(postgres.superuser_url(), autocommit=True) as connection:
        for role, password in passwords(secrets).items():
            _make_role(connection, role, password)
        for role in MEMBERS:
            grant = _ADMINISTER.format(role=Identifier(role), owner=Identifier(OWNER))
            connection.execute(grant)
        _make_database(connection)
    with psycopg.connect(postgres.superuser_url(DATABASE), autocommit=True) as connection:
        connection.execute(_CREATE_EXTENSION)
        connection.execute(_UPDATE_EXTENSION)


def _make_role(connection: psycopg.Connection, role: str, password: str) -> None:
    if connection.execute(_ROLE_EXISTS, [role]).fetchone() is None:
        create = _CREATE_ROLE.format(role=Identifier(role))
        connection.execute(create)
    # The server gets the scram verifier only, so that no statement holds the password.
    verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    change = _SET_ROLE.format(
        role=Identifier(role),
        createrole=SQL("CREATEROLE" if role == OWNER else "NOCREATEROLE"),
        password=Literal(verifier),
    )
    connection.execute(change)


def _make_database(connection: psycopg.Connection) -> None:
    if connection.execute(_DATABASE_EXISTS, [DATABASE]).fetchone() is None:
        create = _CREATE_DATABASE.format(database=Identifier(DATABASE), owner=Identifier(OWNER))
        connection.execute(create)
    for database in (DATABASE, "postgres", "template1"):
        close = _CLOSE_DATABASE.format(database=Identifier(database))
        connection.execute(close)
    for role in (OWNER, *MEMBERS):
        opened = _OPEN_DATABASE.format(database=Identifier(DATABASE), role=Identifier(role))
        connection.execute(opened)
