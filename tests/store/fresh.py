"""Databases and users of a test's own, in the session's Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote
from uuid import uuid4

import psycopg
from psycopg.sql import SQL, Identifier, Literal
from sqlalchemy.engine import make_url

PASSWORD = "a p@ss/word:%?#"


@dataclass(frozen=True, slots=True)
class Fresh:
    """A database that nobody has migrated, a user who may connect to it, and the superuser's way in."""

    database: str
    user: str
    url: str
    superuser_url: str


def url_with(url: str, *, user: str = "", password: str = "", database: str = "") -> str:
    """The same server by another user, password or database."""
    parts = make_url(url)
    name = quote(user or parts.username or "", safe="")
    word = quote(password or parts.password or "", safe="")
    query = "&".join(f"{key}={quote(str(value), safe='')}" for key, value in parts.query.items())
    return f"postgresql://{name}:{word}@/{database or parts.database}?{query}"


@contextmanager
def fresh_database(superuser_url: str, *, owned: bool, attributes: str = "") -> Iterator[Fresh]:
    """Both go when the block ends. `attributes` are the user's, such as CREATEROLE; `owned` makes the database the user's."""
    name = f"fresh_{uuid4().hex[:12]}"
    user = Identifier(name)
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        make = SQL("CREATE ROLE {} LOGIN " + attributes + " PASSWORD {}").format(user, Literal(PASSWORD))
        connection.execute(make)
        connection.execute(
            SQL("CREATE DATABASE {} {}").format(user, SQL("OWNER {}").format(user) if owned else SQL(""))
        )
        connection.execute(SQL("GRANT CONNECT ON DATABASE {} TO {}").format(user, user))
        try:
            own = url_with(superuser_url, user=name, password=PASSWORD, database=name)
            yield Fresh(name, name, own, url_with(superuser_url, database=name))
        finally:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(user))
            drop_user(superuser_url, name)


def drop_user(superuser_url: str, name: str) -> None:
    """The user, with all that hangs on it in the database of the URL and in the whole server."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute(SQL("DROP OWNED BY {} CASCADE").format(Identifier(name)))
        connection.execute(SQL("DROP ROLE IF EXISTS {}").format(Identifier(name)))


def run_statements(superuser_url: str, statements: str) -> None:
    """What a remedy says, as the superuser would run it."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute(statements.encode())
