"""Logins: every URL gets in as its role, with the role's settings, and no log holds a password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from infinicon.errors import MissingDependency
from infinicon.store.logins import Login, give_logins
from infinicon.store.ownership import APP, RESULTS, SWEEPER
from tests.conftest import Cluster
from tests.store.fresh import PASSWORD, drop_user, fresh_database, run_statements, url_with
from tests.together import together

SETTINGS = (
    "SELECT current_setting('search_path'), current_setting('plan_cache_mode'), current_setting('synchronous_commit')"
)
VARIABLE = "INFINICON_DATABASE_URL"


def ask(url: str, statement: str) -> tuple[object, ...]:
    with psycopg.connect(url) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return row


def new_user(cluster: Cluster, name: str = "") -> str:
    return url_with(cluster.app_url, user=name or f"user_{uuid4().hex[:12]}", password=PASSWORD)


def user_of(url: str) -> str:
    return Login("", "", url).user


@contextmanager
def gone_afterwards(cluster: Cluster, *urls: str) -> Iterator[None]:
    try:
        yield
    finally:
        for url in urls:
            drop_user(cluster.superuser_url, user_of(url))


def test_a_role_gets_the_password_of_its_url(cluster: Cluster) -> None:
    other = url_with(cluster.results_url, password=PASSWORD)
    try:
        give_logins(cluster.owner_url, [Login(RESULTS, VARIABLE, other)])

        assert ask(other, "SELECT current_user") == (RESULTS,)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(cluster.results_url)
    finally:
        give_logins(cluster.owner_url, [Login(RESULTS, VARIABLE, cluster.results_url)])
    assert ask(cluster.results_url, "SELECT current_user") == (RESULTS,)


@pytest.mark.parametrize(
    ("role", "commit"),
    [(APP, "on"), (SWEEPER, "on"), (RESULTS, "off")],
)
def test_another_user_is_made_a_member_with_the_roles_settings(cluster: Cluster, role: str, commit: str) -> None:
    url = new_user(cluster)
    with gone_afterwards(cluster, url):
        give_logins(cluster.owner_url, [Login(role, VARIABLE, url)])
        give_logins(cluster.owner_url, [Login(role, VARIABLE, url)])

        assert ask(url, f"SELECT current_user = '{user_of(url)}', pg_has_role(current_user, '{role}', 'USAGE')") == (
            True,
            True,
        )
        assert ask(url, SETTINGS) == ("infinicon, public", "force_custom_plan", commit)
        assert ask(
            url, "SELECT rolsuper OR rolbypassrls OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
        ) == (False,)


def test_another_user_works_like_the_role(cluster: Cluster) -> None:
    url = new_user(cluster, 'User of "ours"')
    with gone_afterwards(cluster, url):
        give_logins(cluster.owner_url, [Login(APP, VARIABLE, url)])

        assert ask(url, "SELECT count(*) FROM namespaces") == (0,), (
            "row-level security holds before a tenant is entered"
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            ask(url, "SELECT digest FROM keys")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            ask(url, "SET ROLE infinicon_sweeper")


def test_a_user_who_is_there_keeps_the_password(cluster: Cluster) -> None:
    url = new_user(cluster)
    with gone_afterwards(cluster, url):
        give_logins(cluster.owner_url, [Login(APP, VARIABLE, url)])

        give_logins(cluster.owner_url, [Login(APP, VARIABLE, url_with(url, password="other"))])

        assert ask(url, "SELECT 1") == (1,)


def test_two_at_once_do_no_harm(cluster: Cluster) -> None:
    url = new_user(cluster)
    wanted = [Login(APP, VARIABLE, url), Login(RESULTS, "INFINICON_RESULTS_DATABASE_URL", cluster.results_url)]
    with gone_afterwards(cluster, url):
        together(*[lambda: give_logins(cluster.owner_url, wanted)] * 4)

        assert ask(url, "SELECT 1") == (1,)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("owner_url", "sweeper_url", f"{VARIABLE} and INFINICON_OWNER_DATABASE_URL have the same user"),
        ("app_url", "app_url", f"B and {VARIABLE} have the same user"),
    ],
)
def test_a_user_for_two_things_is_refused(cluster: Cluster, first: str, second: str, message: str) -> None:
    wanted = [Login(APP, VARIABLE, getattr(cluster, first)), Login(SWEEPER, "B", getattr(cluster, second))]

    with pytest.raises(MissingDependency) as refused:
        give_logins(cluster.owner_url, wanted)

    assert refused.value.message == message


def test_a_url_without_a_user_is_refused(cluster: Cluster) -> None:
    with pytest.raises(MissingDependency, match="names no user"):
        give_logins(cluster.owner_url, [Login(APP, VARIABLE, "postgresql:///infinicon")])


@pytest.mark.parametrize("attribute", ["SUPERUSER", "BYPASSRLS"])
def test_a_user_above_the_policies_is_refused(cluster: Cluster, attribute: str) -> None:
    url = new_user(cluster)
    with gone_afterwards(cluster, url):
        run_statements(cluster.superuser_url, f"CREATE ROLE {user_of(url)} LOGIN {attribute}")

        with pytest.raises(MissingDependency, match="above row-level security") as refused:
            give_logins(cluster.owner_url, [Login(APP, VARIABLE, url)])

    assert "BYPASSRLS" in str(refused.value.details["remedy"])


def test_an_owner_who_may_not_is_no_obstacle_where_the_login_works(cluster: Cluster) -> None:
    with fresh_database(cluster.superuser_url, owned=True) as fresh:
        give_logins(fresh.url, [Login(APP, VARIABLE, cluster.app_url)])

        with pytest.raises(MissingDependency) as refused:
            give_logins(fresh.url, [Login(APP, VARIABLE, url_with(cluster.app_url, password="CANARY"))])

        assert "may not give infinicon_app the login of INFINICON_DATABASE_URL" in refused.value.message
        remedy = str(refused.value.details["remedy"])
        assert f"GRANT infinicon_app TO {fresh.user} WITH ADMIN OPTION; ALTER ROLE {fresh.user} CREATEROLE;" in remedy
        assert "CANARY" not in remedy + refused.value.message
        assert ask(cluster.app_url, "SELECT 1") == (1,)


def test_a_working_login_without_the_roles_settings_is_not_good_enough(cluster: Cluster) -> None:
    """Without them the vector operators are not found, or a plan from when the tables were empty stays."""
    url = new_user(cluster)
    with gone_afterwards(cluster, url), fresh_database(cluster.superuser_url, owned=True) as fresh:
        run_statements(
            cluster.superuser_url, f"CREATE ROLE {user_of(url)} LOGIN IN ROLE infinicon_app PASSWORD '{PASSWORD}'"
        )
        run_statements(
            fresh.superuser_url, f"ALTER ROLE infinicon_app IN DATABASE {fresh.database} SET work_mem = '7MB'"
        )

        with pytest.raises(MissingDependency, match="does not work"):
            give_logins(fresh.url, [Login(APP, VARIABLE, url)])


def test_no_password_reaches_the_servers_log(cluster: Cluster) -> None:
    """Neither of a statement that is logged nor of one that fails."""
    url = new_user(cluster)
    loud = SQL("ALTER ROLE {} SET {} = {}")
    with gone_afterwards(cluster, url), fresh_database(cluster.superuser_url, owned=True) as fresh:
        with psycopg.connect(cluster.superuser_url, autocommit=True) as connection:
            for owner in ("infinicon_owner", fresh.user):
                for name, value in (
                    ("log_statement", "all"),
                    ("log_min_messages", "error"),
                    ("log_min_error_statement", "error"),
                ):
                    change = loud.format(Identifier(owner), Identifier(name), value)
                    connection.execute(change)
        try:
            before = cluster.server_log.stat().st_size
            give_logins(cluster.owner_url, [Login(APP, VARIABLE, url)])
            with pytest.raises(MissingDependency):
                give_logins(fresh.url, [Login(SWEEPER, VARIABLE, url_with(cluster.sweeper_url, password=PASSWORD))])
            logged = cluster.server_log.read_bytes()[before:].decode()
        finally:
            run_statements(cluster.superuser_url, "ALTER ROLE infinicon_owner RESET ALL")

    assert "LOGIN PASSWORD 'SCRAM-SHA-256$" in logged
    assert "STATEMENT:  ALTER ROLE" in logged
    assert PASSWORD not in logged


def test_a_login_prints_no_password() -> None:
    assert "CANARY" not in repr(Login(APP, VARIABLE, "postgresql://u:CANARY@h/d"))
