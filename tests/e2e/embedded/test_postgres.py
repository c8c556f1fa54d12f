"""Postgres as `infinicon up` starts it: closed, durable, and started again whatever a killed run left."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import psutil
import psycopg
import pytest

from infinicon.embedded import bootstrap
from infinicon.embedded.leftovers import postgres_processes
from infinicon.embedded.postgres import Postgres
from infinicon.embedded.supervisor import Supervisor
from infinicon.errors import MissingDependency
from tests.e2e.embedded.conftest import Place
from tests.waiting import wait_until


def postgres_in(place: Place) -> Postgres:
    return Postgres(place.directory, place.sockets, place.account, place.secrets.superuser_password)


@pytest.fixture
def postgres(place: Place, supervisor: Supervisor) -> Postgres:
    """Running, with roles and database."""
    server = postgres_in(place)
    server.make_cluster(supervisor, {})
    supervisor.start(server.spec())
    supervisor.wait_until(server.is_ready, "Postgres", 60)
    bootstrap.bootstrap(server, place.secrets)
    return server


def ask(url: str, statement: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return row[0]


def test_it_is_closed_and_durable(place: Place, postgres: Postgres) -> None:
    url = postgres.superuser_url("infinicon")
    settings = {
        name: ask(url, f"SHOW {name}")
        for name in ("listen_addresses", "fsync", "synchronous_commit", "data_checksums", "server_encoding", "jit")
    }

    assert settings == {
        "listen_addresses": "",
        "fsync": "on",
        "synchronous_commit": "on",
        "data_checksums": "on",
        "server_encoding": "UTF8",
        "jit": "off",
    }
    assert (
        ask(url, "SELECT datlocprovider::text || datlocale FROM pg_database WHERE datname = 'infinicon'") == "bC.UTF-8"
    )
    assert ask(url, "SELECT lower('ÄÖ') || upper('é')") == "äöÉ"
    assert ask(url, "SELECT string_agg(DISTINCT auth_method, ',') FROM pg_hba_file_rules") == "scram-sha-256"
    server = next(process for process in postgres_processes(place.directory / "postgres"))
    assert not [connection for connection in server.net_connections("tcp") if connection.status == "LISTEN"]


def test_nobody_gets_in_without_the_password(place: Place, postgres: Postgres) -> None:
    for url in (
        postgres.url(bootstrap.APP, "wrong"),
        postgres.url("infinicon_superuser", "wrong", "postgres"),
        postgres.url("postgres", "", "postgres"),
    ):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)


def test_roles_can_do_what_they_are_for(place: Place, postgres: Postgres) -> None:
    words = bootstrap.passwords(place.secrets)
    for role, password in words.items():
        assert ask(postgres.url(role, password), "SELECT current_user") == role
    url = postgres.superuser_url("infinicon")
    weak = "rolsuper OR rolbypassrls OR rolcreatedb OR rolreplication OR rolinherit"
    assert (
        ask(url, f"SELECT count(*) FROM pg_roles WHERE rolname LIKE 'infinicon\\_%' AND rolcanlogin AND ({weak})") == 1
    )
    assert ask(url, "SELECT extversion FROM pg_extension WHERE extname = 'vector'") >= "0.8"  # type: ignore[operator] # text
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(postgres.url(bootstrap.APP, words[bootstrap.APP], "postgres"))
    with psycopg.connect(postgres.url(bootstrap.OWNER, words[bootstrap.OWNER])) as owner:
        owner.execute("CREATE SCHEMA made_by_owner")
        owner.execute("ALTER ROLE infinicon_app SET statement_timeout = '5s'")


def test_bootstrap_can_run_again_and_sets_new_passwords(place: Place, postgres: Postgres) -> None:
    bootstrap.bootstrap(postgres, place.secrets)

    assert ask(postgres.url(bootstrap.APP, place.secrets.app_password), "SELECT 1") == 1


def test_data_survives_a_kill_and_the_server_comes_back(
    place: Place, postgres: Postgres, supervisor: Supervisor, reports: list[str]
) -> None:
    owner = postgres.url(bootstrap.OWNER, place.secrets.owner_password)
    with psycopg.connect(owner) as connection:
        connection.execute("CREATE TABLE kept (x int)")
        connection.execute("INSERT INTO kept VALUES (7)")
    child = supervisor.children[0]
    first = child.pid
    assert first is not None

    psutil.Process(first).kill()
    supervisor.wait_until(lambda: child.pid not in (first, None) and postgres.is_ready(), "Postgres again", 60)

    assert ask(owner, "SELECT x FROM kept") == 7
    assert any("killed by SIGKILL" in line for line in reports)


def test_a_server_without_a_supervisor_is_ended_before_the_next_one(place: Place, supervisor: Supervisor) -> None:
    postgres = postgres_in(place)
    postgres.make_cluster(supervisor, {})
    spec = postgres.spec()
    # Started past the supervisor, with our test as the parent that lives on: nobody tells it to stop.
    orphan = subprocess.Popen(spec.command, env=dict(spec.environment), cwd="/", stderr=subprocess.DEVNULL)
    wait_until(postgres.is_ready, "the orphan runs")

    supervisor.start(postgres.spec())
    supervisor.wait_until(lambda: orphan.poll() is not None and postgres.is_ready(), "its successor runs", 60)

    assert orphan.returncode == 0  # a fast shutdown, not a kill
    assert supervisor.children[0].backoff.failures == 0


def test_a_stale_pid_file_of_somebody_elses_number_is_no_obstacle(place: Place, supervisor: Supervisor) -> None:
    postgres = postgres_in(place)
    postgres.make_cluster(supervisor, {})
    stale = place.directory / "postgres" / "postmaster.pid"
    stranger = subprocess.Popen(
        ["/bin/sleep", "60"],
        **({"user": place.account.uid} if place.account else {}),  # type: ignore[call-overload] # a dict
    )
    try:
        stale.write_text(f"{stranger.pid}\n{place.directory / 'postgres'}\n0\n5432\n{place.sockets}\n\n0 0\nready\n")
        if place.account:
            place.account.own(stale)

        supervisor.start(postgres.spec())
        supervisor.wait_until(postgres.is_ready, "Postgres", 60)

        assert supervisor.children[0].backoff.failures == 0
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_an_initdb_that_was_cut_off_starts_over(place: Place, supervisor: Supervisor) -> None:
    unfinished = place.directory / "postgres.unfinished"
    unfinished.mkdir()
    (unfinished / "PG_VERSION").write_text("18\n")
    postgres = postgres_in(place)

    postgres.make_cluster(supervisor, {})

    assert not unfinished.exists()
    assert list(place.sockets.iterdir()) == []  # the password file is gone
    made = (place.directory / "postgres" / "PG_VERSION").stat().st_mtime_ns
    postgres.make_cluster(supervisor, {})
    assert (place.directory / "postgres" / "PG_VERSION").stat().st_mtime_ns == made


def test_a_cluster_of_another_version_is_refused(place: Place, supervisor: Supervisor) -> None:
    data: Path = place.directory / "postgres"
    data.mkdir()
    (data / "PG_VERSION").write_text("16\n")

    with pytest.raises(MissingDependency, match=r"Postgres 16.*brings 18"):
        postgres_in(place).make_cluster(supervisor, {})


def test_secrets_of_another_directory_are_refused(place: Place, postgres: Postgres) -> None:
    other = Postgres(place.directory, place.sockets, place.account, "another password")

    with pytest.raises(MissingDependency, match=r"secrets\.json does not belong"):
        other.is_ready()


def test_users_text_does_not_reach_the_log(place: Place, postgres: Postgres) -> None:
    with psycopg.connect(postgres.superuser_url(), autocommit=True) as connection:
        for statement in (
            "SELECT 'CANARY-77'::int",
            "SELECT CANARY_77",
            "DO $$ BEGIN RAISE WARNING 'CANARY-77'; END $$",
        ):
            try:
                connection.execute(statement)
            except psycopg.Error:
                continue

    assert "CANARY" not in (place.directory / "postgres.log").read_text()


def test_it_stops_by_a_fast_shutdown(place: Place, postgres: Postgres, supervisor: Supervisor) -> None:
    with psycopg.connect(postgres.superuser_url()):
        supervisor.stop()

    assert postgres_processes(place.directory / "postgres") == []
    assert "database system is shut down" in (place.directory / "postgres.log").read_text()
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
