"""What a migration says where it cannot go on, and that the remedy is one."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import text

from infinicon.errors import MissingDependency, Unavailable
from infinicon.store import migrate as migration
from infinicon.store.migrate import HEAD, migrate
from infinicon.store.ownership import quoted, unreachable
from tests.conftest import Cluster
from tests.store.fresh import fresh_database, run_statements, url_with
from tests.together import together


def told(url: str) -> tuple[str, str]:
    """Message and remedy of a migration that cannot be."""
    with pytest.raises(MissingDependency) as refused:
        migrate(url)
    return refused.value.message, str(refused.value.details["remedy"])


def test_what_an_owner_lacks_is_what_the_remedy_gives(cluster: Cluster) -> None:
    with fresh_database(cluster.superuser_url, owned=False) as fresh:
        message, remedy = told(fresh.url)

        assert message == "the owner of the schema lacks a right in this database"
        assert remedy.startswith("as a superuser in this database: GRANT CREATE ON DATABASE")
        run_statements(fresh.superuser_url, remedy.partition(": ")[2])
        migrate(fresh.url)
        migrate(fresh.url)
        with psycopg.connect(fresh.url) as connection:
            connection.execute("SELECT count(*) FROM infinicon.tenants")


def test_two_migrations_at_once_are_one(cluster: Cluster) -> None:
    with fresh_database(cluster.superuser_url, owned=True, attributes="CREATEROLE") as fresh:
        run_statements(
            fresh.superuser_url,
            f"CREATE EXTENSION vector; GRANT infinicon_app, infinicon_sweeper, infinicon_results TO {fresh.user} WITH ADMIN OPTION",
        )

        together(*[lambda: migrate(fresh.url)] * 3)

        with psycopg.connect(fresh.url) as connection:
            assert connection.execute("SELECT version_num FROM infinicon.schema_version").fetchall() == [(HEAD,)]


def test_a_superuser_is_asked_for_the_extension_only_where_it_is_missing(cluster: Cluster) -> None:
    with fresh_database(cluster.superuser_url, owned=True) as fresh:
        run_statements(fresh.superuser_url, "CREATE EXTENSION vector")

        assert "CREATE EXTENSION" not in told(fresh.url)[1]


def test_an_owner_who_may_make_roles_but_not_manage_those_that_are_there(cluster: Cluster) -> None:
    with fresh_database(cluster.superuser_url, owned=True, attributes="CREATEROLE") as fresh:
        _, remedy = told(fresh.url)

        grant = f"GRANT infinicon_app, infinicon_sweeper, infinicon_results TO {fresh.user} WITH ADMIN OPTION;"
        assert remedy.removesuffix(" CREATE EXTENSION vector;") == f"as a superuser in this database: {grant}"


def test_somebody_elses_schema_is_told_with_its_owner(cluster: Cluster) -> None:
    with fresh_database(cluster.superuser_url, owned=True, attributes="CREATEROLE") as fresh:
        run_statements(fresh.superuser_url, "CREATE EXTENSION vector; CREATE SCHEMA infinicon")

        message, remedy = told(fresh.url)

        assert message == f"the schema infinicon belongs to infinicon_superuser, and not to {fresh.user}"
        assert "INFINICON_OWNER_DATABASE_URL" in remedy


def test_a_database_that_is_not_there(cluster: Cluster) -> None:
    message, remedy = told(url_with(cluster.owner_url, database="Nothing"))

    assert message == 'the database "Nothing" does not exist'
    assert remedy == 'make it, as a superuser: CREATE DATABASE "Nothing" OWNER infinicon_owner;'


def test_a_wrong_password_is_told_and_not_shown(cluster: Cluster) -> None:
    message, remedy = told(url_with(cluster.owner_url, password="CANARY"))

    assert message == "the server refuses the password of infinicon_owner"
    assert "CANARY" not in message + remedy


def test_a_server_that_does_not_answer(cluster: Cluster) -> None:
    with pytest.raises(Unavailable) as refused:
        migrate("postgresql://owner:x@127.0.0.1:9/nothing")

    assert "is the server running" in str(refused.value.details["remedy"])


def test_a_postgres_that_is_too_old(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "OLDEST_POSTGRES", 990_000)

    message, remedy = told(cluster.owner_url)

    assert message.startswith("Postgres must be 15 or newer, and this is 18")
    assert "newer server" in remedy


def test_a_pgvector_that_is_too_old(cluster: Cluster) -> None:
    with fresh_database(cluster.superuser_url, owned=True) as fresh:
        run_statements(
            fresh.superuser_url,
            "CREATE EXTENSION vector; UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'",
        )

        message, remedy = told(fresh.url)

        assert message == "pgvector must be 0.8 or newer, and this database has 0.7.4"
        assert remedy.endswith("ALTER EXTENSION vector UPDATE;")


def test_a_server_without_pgvector(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "EXTENSION_OFFERED", text("SELECT NULL"))
    with fresh_database(cluster.superuser_url, owned=True) as fresh:
        message, remedy = told(fresh.url)

    assert message == "this Postgres server has no pgvector"
    assert "postgresql-18-pgvector" in remedy


@pytest.mark.parametrize(
    ("text_of_libpq", "message"),
    [
        ('FATAL:  role "x" is not permitted to log in', "the role owner may not log in"),
        ('FATAL:  role "x" does not exist', "there is no role owner"),
        ('FATAL:  no pg_hba.conf entry for host "CANARY"', "does not let owner into db from here"),
        ("connection failed: fe_sendauth: no password supplied", "the server refuses the password of owner"),
        ('FATAL:  permission denied for database "x"', "owner may not connect to the database db"),
        ("Verbindung CANARY verweigert", "the database does not answer"),
    ],
)
def test_a_failed_connection_in_words_of_ours(text_of_libpq: str, message: str) -> None:
    fault = unreachable(text_of_libpq, "db", "owner")

    assert message in fault.message
    assert "CANARY" not in fault.message + str(fault.details)


def test_names_are_written_as_sql_writes_them() -> None:
    assert [quoted(name) for name in ("plain_1", "Big", 'a"b', "1st")] == ["plain_1", '"Big"', '"a""b"', '"1st"']
