"""Logins of the three roles: gives them the users and passwords that the processes' URLs name.

A password reaches the server as its SCRAM verifier only, so that no statement, and no log of one, holds it. Every step can run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier, Literal
from sqlalchemy.engine import make_url

from infinicon.errors import MissingDependency
from infinicon.store.database import translate, unscoped
from infinicon.store.migrate import MIGRATIONS_LOCK
from infinicon.store.ownership import ADMIN_OF_ROLES, quoted, server_version

CONNECT_SECONDS: Final = 10

TAKE_LOCK = "SELECT pg_advisory_xact_lock(%s)"
FIND_USER = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s"
MAKE_USER = SQL("CREATE ROLE {user} NOSUPERUSER NOCREATEDB NOCREATEROLE INHERIT")
LET_IN = SQL("ALTER ROLE {user} LOGIN")
LET_IN_WITH_PASSWORD = SQL("ALTER ROLE {user} LOGIN PASSWORD {verifier}")
GRANT = SQL("GRANT {role} TO {user}")
GRANT_INHERITED = SQL("GRANT {role} TO {user} WITH INHERIT TRUE, SET FALSE")
ROLE_SETTINGS = """
    SELECT split_part(item, '=', 1), substr(item, strpos(item, '=') + 1)
    FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase CROSS JOIN unnest(s.setconfig) AS item
    WHERE s.setrole = (SELECT oid FROM pg_roles WHERE rolname = %s) AND d.datname = current_database()
"""
TAKE_VALUE = "SELECT set_config(%s, %s, true)"
# A value in a statement would have to be quoted by the rules of its setting; what is current is kept as it is.
KEEP_VALUE = SQL("ALTER ROLE {user} IN DATABASE {database} SET {name} FROM CURRENT")
MAY_WORK = """
    SELECT pg_has_role(current_user, %s, 'USAGE') AND NOT (rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname = current_user
"""
CURRENT = "SELECT current_setting(%s)"


@dataclass(frozen=True, slots=True)
class Login:
    """One role, and the URL by which a process will come as it. `variable` is what messages call the URL."""

    role: str
    variable: str
    url: str = field(repr=False)

    @property
    def user(self) -> str:
        return make_url(self.url).username or ""

    @property
    def password(self) -> str:
        return make_url(self.url).password or ""


@unscoped("roles belong to no tenant")
def give_logins(owner_url: str, logins: Sequence[Login]) -> None:
    """See to it that every URL gets in as its role: the role itself, or another user, who is made and becomes its member.

    The password of another user who is there already stays as it is. What the owner may not do is no fault where the URL works as it
    is.

    Raises:
        MissingDependency: two URLs share a user, one names the owner or a user above row-level security, or the owner may not give a
            login that does not work yet; `details` have the remedy.
        Unavailable: Postgres does not answer.
    """
    _check_users(owner_url, logins)
    try:
        with psycopg.connect(_libpq(owner_url), connect_timeout=CONNECT_SECONDS) as connection:
            connection.execute(TAKE_LOCK, [MIGRATIONS_LOCK])
            refused = [login for login in logins if not _given(connection, login)]
            wanted = {login.role: _settings_of(connection, login.role) for login in refused}
            owner = connection.info.user
    except psycopg.Error as fault:
        raise translate(fault) from None
    for login in refused:
        if not _works(login, wanted[login.role]):
            raise _not_given(login, owner)


def _check_users(owner_url: str, logins: Sequence[Login]) -> None:
    """One user for each role: a user with two of them would see with both."""
    taken = {make_url(owner_url).username: "INFINICON_OWNER_DATABASE_URL"}
    for login in logins:
        if not login.user:
            raise MissingDependency(
                f"{login.variable} names no user",
                details={"remedy": f"write {login.role} before the @, with its password"},
            )
        if login.user in taken:
            raise MissingDependency(
                f"{login.variable} and {taken[login.user]} have the same user",
                details={"remedy": f"give each URL a user of its own; {login.role} is the one that is meant here"},
            )
        taken[login.user] = login.variable


def _given(connection: psycopg.Connection[Any], login: Login) -> bool:
    """Whether the owner was allowed to."""
    try:
        with connection.transaction():
            _give(connection, login)
    except InsufficientPrivilege:
        return False
    return True


def _give(connection: psycopg.Connection[Any], login: Login) -> None:
    user = Identifier(login.user)
    if login.user == login.role:
        _let_in(connection, login)
        return
    found = connection.execute(FIND_USER, [login.user]).fetchone()
    if found is None:
        make = MAKE_USER.format(user=user)
        connection.execute(make)
        _let_in(connection, login)
    elif found[0]:
        raise MissingDependency(
            f"the user of {login.variable} is above row-level security",
            details={"remedy": f"take {login.role}, or a user who is no superuser and has no BYPASSRLS"},
        )
    number, _ = server_version(connection)
    template = GRANT_INHERITED if number >= ADMIN_OF_ROLES else GRANT
    grant = template.format(role=Identifier(login.role), user=user)
    connection.execute(grant)
    for name, value in _settings_of(connection, login.role).items():
        connection.execute(TAKE_VALUE, [name, value])
        keep = KEEP_VALUE.format(user=user, database=Identifier(connection.info.dbname), name=Identifier(name))
        connection.execute(keep)


def _let_in(connection: psycopg.Connection[Any], login: Login) -> None:
    """With the URL's password, if it has one: others come by certificate, or by a password file."""
    statement = LET_IN.format(user=Identifier(login.user))
    if login.password:
        verifier = connection.pgconn.encrypt_password(
            login.password.encode(), login.user.encode(), b"scram-sha-256"
        ).decode()
        statement = LET_IN_WITH_PASSWORD.format(user=Identifier(login.user), verifier=Literal(verifier))
    connection.execute(statement)


def _settings_of(connection: psycopg.Connection[Any], role: str) -> Mapping[str, str]:
    """What the migrations have set for the role in this database: settings are not inherited by its members."""
    return dict(connection.execute(ROLE_SETTINGS, [role]).fetchall())


def _works(login: Login, wanted: Mapping[str, str]) -> bool:
    """Whether the URL gets in as the role, with the role's settings, and not above row-level security."""
    try:
        with psycopg.connect(_libpq(login.url), connect_timeout=CONNECT_SECONDS) as connection:
            row = connection.execute(MAY_WORK, [login.role]).fetchone()
            current = {name: _current(connection, name) for name in wanted}
    except psycopg.Error:
        return False
    return row is not None and bool(row[0]) and current == dict(wanted)


def _current(connection: psycopg.Connection[Any], name: str) -> str:
    row = connection.execute(CURRENT, [name]).fetchone()
    assert row is not None
    return str(row[0])


def _not_given(login: Login, owner: str) -> MissingDependency:
    administer = f"GRANT {login.role} TO {quoted(owner)} WITH ADMIN OPTION; ALTER ROLE {quoted(owner)} CREATEROLE;"
    if login.user == login.role:
        by_hand = f"or give it yourself: ALTER ROLE {login.role} LOGIN PASSWORD '…';"
    else:
        by_hand = f"or leave out another user: {login.role} itself is meant for this URL"
    return MissingDependency(
        f"the owner may not give {quoted(login.user)} the login of {login.variable}, and the one that there is does not work",
        details={"remedy": f"as a superuser: {administer} then migrate again; {by_hand}"},
    )


def _libpq(url: str) -> str:
    """As libpq takes it. Not taken apart and put together again: SQLAlchemy would leave a space in a password as it is."""
    return "postgresql://" + url.partition("://")[2]
