"""What the owner of the schema may do in a database, and in words what it may not, with the remedy."""

from __future__ import annotations

import re
from typing import Any, Final

import psycopg

from infinicon.errors import InfiniconError, MissingDependency, Unavailable
from infinicon.store.database import unscoped

INSUFFICIENT: Final = "42501"

APP: Final = "infinicon_app"
SWEEPER: Final = "infinicon_sweeper"
RESULTS: Final = "infinicon_results"
ROLES: Final = (APP, SWEEPER, RESULTS)

ADMIN_OF_ROLES = 160_000  # from this release on, CREATEROLE alone no longer manages roles that somebody else made

RIGHTS = """
    SELECT current_user, current_database(), has_database_privilege(current_database(), 'CREATE'), r.rolcreaterole OR r.rolsuper,
           (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace n WHERE n.nspname = 'infinicon')
    FROM pg_roles r WHERE r.rolname = current_user
"""
FOREIGN_ROLES = """
    SELECT rolname FROM pg_roles WHERE rolname = ANY(%s) AND NOT pg_has_role(current_user, oid, 'MEMBER WITH ADMIN OPTION')
"""
MAKES_EXTENSION = """
    SELECT bool_or(trusted) FROM pg_available_extension_versions
    WHERE name = 'vector' AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')
"""
VERSION = "SELECT current_setting('server_version_num')::integer, current_setting('server_version')"

# libpq tells no SQLSTATE of a connection that failed, only text, in the server's language. What is not recognised is told in general.
_CAUSES = (
    (
        re.compile(r'database ".*" does not exist'),
        "the database {database} does not exist",
        "make it, as a superuser: CREATE DATABASE {database} OWNER {user};",
    ),
    (
        re.compile(r"password authentication failed|no password supplied"),
        "the server refuses the password of {user}",
        "check the password in the URL: special characters are written as %XX",
    ),
    (
        re.compile(r'role ".*" does not exist'),
        "there is no role {user}",
        "make it, as a superuser: CREATE ROLE {user} LOGIN CREATEROLE PASSWORD '…';",
    ),
    (
        re.compile(r"not permitted to log in"),
        "the role {user} may not log in",
        "as a superuser: ALTER ROLE {user} LOGIN;",
    ),
    (
        re.compile(r"no pg_hba\.conf entry"),
        "the server's pg_hba.conf does not let {user} into {database} from here",
        "add a line for it, with scram-sha-256, and reload the server",
    ),
    (
        re.compile(r"permission denied for database"),
        "{user} may not connect to the database {database}",
        "as a superuser: GRANT CONNECT ON DATABASE {database} TO {user};",
    ),
)


@unscoped("the server's version belongs to no tenant")
def server_version(connection: psycopg.Connection[Any]) -> tuple[int, str]:
    """As a number to compare (150004) and in words."""
    row = connection.execute(VERSION).fetchone()
    assert row is not None
    return row[0], row[1]


def unreachable(told: str, database: str, user: str) -> InfiniconError:
    """What to say of a connection that failed. `told` is libpq's text, of which nothing is passed on."""
    names = {"database": quoted(database), "user": quoted(user)}
    for pattern, words, remedy in _CAUSES:
        if pattern.search(told):
            return MissingDependency(words.format_map(names), details={"remedy": remedy.format_map(names)})
    return Unavailable(
        "the database does not answer",
        details={"remedy": "is the server running, and does the URL name its host and port?"},
    )


@unscoped("rights belong to no tenant")
def lacking_rights(connection: psycopg.Connection[Any]) -> MissingDependency:
    """Why the owner was refused, and what a superuser can do about it. The connection is the owner's."""
    row = connection.execute(RIGHTS).fetchone()
    assert row is not None
    owner, database, may_create, may_make_roles, schema_owner = row
    if schema_owner not in {None, owner}:
        return MissingDependency(
            f"the schema infinicon belongs to {quoted(schema_owner)}, and not to {quoted(owner)}",
            details={"remedy": "give INFINICON_OWNER_DATABASE_URL the user to whom it belongs"},
        )
    statements = []
    if not may_create:
        statements.append(f"GRANT CREATE ON DATABASE {quoted(database)} TO {quoted(owner)};")
    if not may_make_roles:
        statements.append(f"ALTER ROLE {quoted(owner)} CREATEROLE;")
    if foreign := _foreign_roles(connection):
        statements.append(f"GRANT {', '.join(foreign)} TO {quoted(owner)} WITH ADMIN OPTION;")
    if _needs_extension(connection):
        statements.append("CREATE EXTENSION vector;")
    if not statements:
        statements.append(f"ALTER DATABASE {quoted(database)} OWNER TO {quoted(owner)};")
    return MissingDependency(
        "the owner of the schema lacks a right in this database",
        details={"remedy": "as a superuser in this database: " + " ".join(statements)},
    )


def _foreign_roles(connection: psycopg.Connection[Any]) -> list[str]:
    """Those of the three roles that are there and that the owner does not administer."""
    number, _ = server_version(connection)
    if number < ADMIN_OF_ROLES:
        return []
    found = {name for (name,) in connection.execute(FOREIGN_ROLES, [list(ROLES)])}
    return [role for role in ROLES if role in found]


def _needs_extension(connection: psycopg.Connection[Any]) -> bool:
    """Whether pgvector is still to be created, and by a superuser: one that is trusted takes no more than CREATE on the database."""
    row = connection.execute(MAKES_EXTENSION).fetchone()
    return row is not None and row[0] is False


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'
