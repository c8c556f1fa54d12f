"""What every column of every table holds, whoever it belongs to, and what lies in the files: for who must prove that a memory is gone.

It runs as a role that row-level security does not bind, and changes nothing but what VACUUM changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg.errors import Diagnostic
from psycopg.sql import SQL, Composed, Identifier

from infinicon.errors import MissingDependency
from infinicon.store.database import translate, unscoped

Connection = psycopg.Connection
"""Of a role that sees every row."""

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
    SELECT pg_relation_filepath(c.oid), n.nspname || '.' || c.relname || coalesce(' of ' || t.relname, ''), c.relkind = 't'
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_class t ON t.reltoastrelid = c.oid AND c.relkind = 't'
    WHERE c.relkind IN ('r', 'i', 't', 'm') AND pg_relation_filepath(c.oid) IS NOT NULL
      AND n.nspname IN ('infinicon', 'celery', 'pg_toast', 'pg_catalog')
    ORDER BY 2
""")
MAY_READ = SQL("""
    SELECT has_function_privilege('pg_read_binary_file(text, bigint, bigint, boolean)', 'execute')
       AND has_function_privilege('pg_ls_waldir()', 'execute')
""")
READ = SQL("SELECT pg_read_binary_file(%s, %s, %s, true)")
LOG_FILES = SQL("SELECT 'pg_wal/' || name FROM pg_ls_waldir()")
# Values of these kinds may stand compressed in a row of more than 2 KB, where nobody reads them from outside. The comment is of tables
# that had rows before their values were no longer compressed.
COMPRESSED = SQL("""
    SELECT DISTINCT n.nspname || '.' || c.relname
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type e ON e.oid = t.typelem
    WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped
      AND ((a.attstorage IN ('x', 'm') AND (t.typcategory = 'S' OR e.typcategory = 'S' OR t.typname IN ('json', 'jsonb', 'bytea')))
           OR obj_description(c.oid, 'pg_class') = 'compressed once')
    ORDER BY 1
""")
VACUUM = SQL("VACUUM (ANALYZE) {table}")
REWRITE = SQL("VACUUM (FULL, ANALYZE) {table}")
CHECKPOINT = SQL("CHECKPOINT")
SAMPLES = ("pg_catalog", "pg_statistic")
AS_IT_IS = SQL("{}")
AS_TEXT = SQL("{}::text")
NOTHING = SQL("NULL")
VALUES = SQL("SELECT {id}, {columns} FROM {table}")
STATISTICS = SQL("""
    SELECT schemaname || '.' || tablename || '.' || attname, most_common_vals::text, histogram_bounds::text, most_common_elems::text
    FROM pg_stats WHERE schemaname = ANY(%s)
""")
MEMORY = SQL("SELECT type, status FROM infinicon.memories WHERE id = %s")

WITHOUT_TEXT = frozenset({
    "smallint", "integer", "bigint", "real", "double precision", "boolean", "uuid", "date", "oid", "halfvec", "vector",
    "timestamp with time zone",
})  # fmt: skip
"""Kinds that hold no text, alone or in arrays. Whatever else there is, or will be, is looked at."""

NAMING = ("id", "memory", "episode", "from_id", "job", "task_id")
"""Columns by which a row is named, the best first."""


ROWS = 200
"""That are held at once; a memory may be as large as a request."""

BLOCK = 1 << 20
SEGMENT = 1 << 30
"""Bytes that are read at once, and of a file: a relation lies in PATH, PATH.1, PATH.2, …"""


@dataclass(frozen=True, slots=True)
class Place:
    """A column of the row `name`; several rows may go by one name, and some by none."""

    table: str
    column: str
    name: str | None


@dataclass(frozen=True, slots=True)
class File:
    """Where a relation lies. `cuts`: it holds long values in pieces."""

    path: str
    relation: str
    cuts: bool


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
    except psycopg.Error as fault:
        raise translate(fault) from None


@unscoped("proof is over all tenants")
def tables(connection: psycopg.Connection) -> list[tuple[str, str]]:
    """(schema, table) of everything of ours."""
    return [(row[0], row[1]) for row in connection.execute(TABLES, [list(SCHEMAS)])]


@unscoped("proof is over all tenants")
def expression_indexes(connection: psycopg.Connection) -> list[str]:
    """Indexes that hold something else than columns."""
    return [row[0] for row in connection.execute(EXPRESSIONS, [list(SCHEMAS)])]


@unscoped("proof is over all tenants")
def vacuum(connection: psycopg.Connection, *, rewrite: bool) -> list[str]:
    """Remove the dead versions of rows; `rewrite` writes every table anew, under a lock, so that their bytes go too.

    The answer names tables that Postgres passed over, since the role may not do this to them: of that it only warns.
    """
    passed_over: list[str] = []
    name = ""

    def note(notice: Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":  # it cannot be asked any more later
            passed_over.append(name)

    connection.add_notice_handler(note)
    for schema, table in [*tables(connection), *([SAMPLES] if rewrite else [])]:
        name = f"{schema}.{table}"
        cleaning = (REWRITE if rewrite else VACUUM).format(table=Identifier(schema, table))
        connection.execute(cleaning)
    connection.remove_notice_handler(note)
    return passed_over


@unscoped("proof is over all tenants")
def values(connection: psycopg.Connection) -> Iterator[tuple[Place, str | bytes]]:
    """Everything in any column of any table that may hold text, row by row, and the statistics that the planner keeps of it."""
    for schema, table in tables(connection):
        columns: Sequence[tuple[str, str]] = connection.execute(COLUMNS, [f"{schema}.{table}"]).fetchall()
        named = next((Identifier(name) for name in NAMING if name in dict(columns)), None)
        held = {name: kind for name, kind in columns if kind.removesuffix("[]") not in WITHOUT_TEXT}
        if held:
            query = VALUES.format(
                id=NOTHING if named is None else AS_TEXT.format(named),
                columns=SQL(", ").join(
                    (AS_IT_IS if kind == "bytea" else AS_TEXT).format(Identifier(name)) for name, kind in held.items()
                ),
                table=Identifier(schema, table),
            )
            yield from _rows(connection, query, f"{schema}.{table}", list(held))
    for column, *samples in connection.execute(STATISTICS, [list(SCHEMAS)]):
        yield from ((Place("pg_catalog.pg_statistic", column, None), sample) for sample in samples if sample)


def _rows(
    connection: psycopg.Connection, query: Composed, table: str, columns: Sequence[str]
) -> Iterator[tuple[Place, str | bytes]]:
    with connection.transaction(), connection.cursor("values") as cursor:
        cursor.itersize = ROWS
        for name, *held in cursor.execute(query):
            for column, value in zip(columns, held, strict=True):
                if value:
                    yield Place(table, column, name), value


@unscoped("proof is over all tenants")
def memory(connection: psycopg.Connection, name: str | None) -> tuple[str, str] | None:
    """(type, status) of the memory of that id, if it is one."""
    try:
        wanted = UUID(name or "")
    except ValueError:
        return None
    row: tuple[str, str] | None = connection.execute(MEMORY, [wanted]).fetchone()
    return row


@unscoped("proof is over all tenants")
def may_read_files(connection: psycopg.Connection) -> bool:
    """Whether this role reads the files of the server."""
    row = connection.execute(MAY_READ).fetchone()
    return row is not None and bool(row[0])


@unscoped("proof is over all tenants")
def write_out(connection: psycopg.Connection) -> None:
    """What is in memory goes to the files."""
    connection.execute(CHECKPOINT)


@unscoped("proof is over all tenants")
def compressed(connection: psycopg.Connection) -> list[str]:
    """Tables in whose files a text may stand compressed."""
    return [row[0] for row in connection.execute(COMPRESSED, [list(SCHEMAS)])]


@unscoped("proof is over all tenants")
def files(connection: psycopg.Connection) -> list[File]:
    """Where every relation lies that may hold text."""
    return [File(*row) for row in connection.execute(FILES)]


@unscoped("proof is over all tenants")
def log_files(connection: psycopg.Connection) -> list[str]:
    """The files of the write-ahead log."""
    return [row[0] for row in connection.execute(LOG_FILES)]


@unscoped("proof is over all tenants")
def blocks(connection: psycopg.Connection, path: str) -> Iterator[bytes]:
    """What lies in a file and its further segments, piece by piece; nothing where it is gone since it was listed."""
    segment = 0
    with connection.cursor(binary=True) as cursor:
        while True:
            name = f"{path}.{segment}" if segment else path
            for offset in range(0, SEGMENT, BLOCK):
                row = cursor.execute(READ, [name, offset, BLOCK]).fetchone()
                if row is None or not row[0]:
                    return
                yield row[0]
            segment += 1
