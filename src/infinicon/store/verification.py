"""Looks for a text in every column of every table, whoever it belongs to: for who must prove that a deleted memory is gone.

It runs as a role that row-level security does not bind, and changes nothing but what VACUUM changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg.sql import SQL, Composed, Identifier

from infinicon.errors import MissingDependency, Unavailable
from infinicon.store.database import unscoped

SCHEMAS = ("infinicon", "celery")

UNBOUND = SQL("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
TABLES = SQL("""
    SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname = ANY(%s) ORDER BY 1, 2
""")
COLUMNS = SQL("""
    SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a
    WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
""")
# Indexes hold what their columns hold. One over an expression may hold something else, and is named.
EXPRESSIONS = SQL("""
    SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY(%s) AND i.indexprs IS NOT NULL ORDER BY 1
""")
FILES = SQL("""
    SELECT pg_relation_filepath(c.oid), n.nspname || '.' || c.relname
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'i', 't', 'm') AND pg_relation_filepath(c.oid) IS NOT NULL
      AND n.nspname IN ('infinicon', 'celery', 'pg_toast', 'pg_catalog')
""")
VACUUM = SQL("VACUUM (ANALYZE) {table}")
REWRITE = SQL("VACUUM (FULL, ANALYZE) {table}")
CHECKPOINT = SQL("CHECKPOINT")
IN_TEXT = SQL("""
    SELECT {id}, count(*) FROM {table} WHERE position(lower(%(needle)s) IN lower({column}::text)) > 0 GROUP BY 1 ORDER BY 2 DESC LIMIT 1000
""")
IN_BYTES = SQL("""
    SELECT {id}, count(*) FROM {table} WHERE position(convert_to(%(needle)s, 'UTF8') IN {column}) > 0 GROUP BY 1 ORDER BY 2 DESC LIMIT 1000
""")
IN_STATISTICS = SQL("""
    SELECT schemaname || '.' || tablename || '.' || attname FROM pg_stats
    WHERE schemaname = ANY(%(schemas)s)
      AND (position(lower(%(needle)s) IN lower(coalesce(most_common_vals::text, ''))) > 0
           OR position(lower(%(needle)s) IN lower(coalesce(histogram_bounds::text, ''))) > 0
           OR position(lower(%(needle)s) IN lower(coalesce(most_common_elems::text, ''))) > 0)
""")
MEMORY = SQL("SELECT type, status FROM infinicon.memories WHERE id = %s")

TEXTUAL = ("text", "character varying", "name", "json", "jsonb", "text[]", "xml")
BINARY = ("bytea",)
NAMING = ("id", "memory", "episode", "from_id", "job", "task_id")
"""Columns by which a row is named, the best first."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A row, or several of one name, in which a text was found. `kind` and `status` where the name is a memory's."""

    table: str
    column: str
    name: str | None
    rows: int
    kind: str | None = None
    status: str | None = None


@contextmanager
@unscoped("proof is over all tenants")
def looking(url: str) -> Iterator[psycopg.Connection]:
    """A connection that sees every row.

    Raises:
        MissingDependency: the role sees only what row-level security lets it see, and so proves nothing.
        Unavailable: Postgres does not answer.
    """
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
            row = connection.execute(UNBOUND).fetchone()
            if row is None or not row[0]:
                raise MissingDependency(
                    "this role sees only a part of the rows, and so proves nothing: use a superuser, or a role with BYPASSRLS"
                )
            yield connection
    except psycopg.OperationalError:
        raise Unavailable("the database does not answer") from None


@unscoped("proof is over all tenants")
def tables(connection: psycopg.Connection) -> list[tuple[str, str]]:
    """(schema, table) of everything of ours."""
    return [(row[0], row[1]) for row in connection.execute(TABLES, [list(SCHEMAS)])]


@unscoped("proof is over all tenants")
def expression_indexes(connection: psycopg.Connection) -> list[str]:
    """Indexes that hold something else than columns."""
    return [row[0] for row in connection.execute(EXPRESSIONS, [list(SCHEMAS)])]


@unscoped("proof is over all tenants")
def vacuum(connection: psycopg.Connection, *, rewrite: bool) -> None:
    """Remove the dead versions of rows; `rewrite` writes every table anew, under a lock, so that their bytes go too."""
    for schema, table in tables(connection):
        cleaning = (REWRITE if rewrite else VACUUM).format(table=Identifier(schema, table))
        connection.execute(cleaning)
    connection.execute(CHECKPOINT)


@unscoped("proof is over all tenants")
def traces(connection: psycopg.Connection, needle: str) -> list[Trace]:
    """Where the text stands, letter case aside, in any column of any table."""
    found: list[Trace] = []
    for schema, table in tables(connection):
        columns: Sequence[tuple[str, str]] = connection.execute(COLUMNS, [f"{schema}.{table}"]).fetchall()
        names = {column for column, _ in columns}
        named = next((Identifier(column) for column in NAMING if column in names), None)
        for column, kind in columns:
            statement = IN_BYTES if kind in BINARY else IN_TEXT if kind in TEXTUAL else None
            if statement is not None:
                query = statement.format(
                    id=SQL("NULL") if named is None else SQL("{}::text").format(named),
                    table=Identifier(schema, table),
                    column=Identifier(column),
                )
                found += _traces(connection, query, f"{schema}.{table}", column, needle)
    sampled = connection.execute(IN_STATISTICS, {"schemas": list(SCHEMAS), "needle": needle}).fetchall()
    return found + [Trace("pg_catalog.pg_statistic", name, None, 1) for (name,) in sampled]


def _traces(connection: psycopg.Connection, query: Composed, table: str, column: str, needle: str) -> Iterator[Trace]:
    for name, rows in connection.execute(query, {"needle": needle}).fetchall():
        memory = connection.execute(MEMORY, [name]).fetchone() if _is_id(name) else None
        yield Trace(table, column, name, rows, *(memory or (None, None)))


def _is_id(name: str | None) -> bool:
    try:
        UUID(name or "")
    except ValueError:
        return False
    return True


@unscoped("proof is over all tenants")
def files(connection: psycopg.Connection) -> dict[str, str]:
    """Paths below the data directory to the names of the relations that they hold."""
    return {row[0]: row[1] for row in connection.execute(FILES)}
