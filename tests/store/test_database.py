"""Transactions, and what becomes of the driver's errors."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from threading import Barrier
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import text

from infinicon.errors import Internal, Unavailable
from infinicon.store import database as database_module
from infinicon.store.database import Conflict, Database, Transaction, retry_conflicts, translate
from tests.conftest import Cluster
from tests.store.conftest import Sql
from tests.together import together

SECRET = "maria's password is tulip"


def everything_said(fault: BaseException) -> str:
    """What a log or an error reporter would show of it."""
    return repr(fault) + str(fault) + str(getattr(fault, "details", "")) + "".join(traceback.format_exception(fault))


def test_a_violation_names_its_constraint_and_nothing_of_the_row(owner: Database) -> None:
    add = text("INSERT INTO tenants (name) VALUES (:name)")
    name = f"{SECRET} {uuid4()}"
    with owner.transaction(None) as tx:
        tx.execute(add, {"name": name})
    with pytest.raises(Internal) as fault, owner.transaction(None) as tx:
        tx.execute(add, {"name": name})

    assert fault.value.details == {"sqlstate": "23505", "constraint": "tenants_name_key"}
    assert SECRET not in everything_said(fault.value)


def test_a_value_that_postgres_refuses_is_not_repeated(owner: Database) -> None:
    with pytest.raises(Internal) as fault, owner.transaction(None) as tx:
        tx.execute(text("SELECT CAST(:value AS integer)"), {"value": SECRET})

    assert SECRET not in everything_said(fault.value)
    with pytest.raises(Internal) as fault, owner.transaction(None) as tx:
        tx.execute(text("SELECT CAST(:value AS text)"), {"value": SECRET + "\x00"})
    assert SECRET not in everything_said(fault.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://infinicon_app:tulip@127.0.0.1:1/infinicon",
        "postgresql://infinicon_app:tulip@/infinicon?host=/nonexistent/socket/directory",
    ],
)
def test_no_server_is_unavailable(url: str) -> None:
    database = Database(url, pool_size=1, timeout=2)
    with pytest.raises(Unavailable) as fault, database.transaction(1):
        pass
    database.close()

    assert fault.value.retryable
    assert "tulip" not in everything_said(fault.value)


@pytest.mark.parametrize(
    ("state", "word"),
    [("53100", "disk is full"), ("53200", "memory"), ("53300", "connections"), ("53400", "limit"), ("58030", "files")],
)
def test_what_the_server_is_out_of_is_said(app: Database, state: str, word: str) -> None:
    raising = text(f"DO $$ BEGIN RAISE EXCEPTION $secret${SECRET}$secret$ USING ERRCODE = '{state}'; END $$")
    with pytest.raises(Unavailable) as fault, app.transaction(None) as tx:
        tx.execute(raising)
    assert word in fault.value.message
    assert "not answer" not in fault.value.message
    assert (fault.value.code, fault.value.retryable, fault.value.details) == ("unavailable", True, {"sqlstate": state})
    assert "tulip" not in everything_said(fault.value)


def test_a_full_disk_is_remembered_for_a_while(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(cluster.app_url, pool_size=1)
    said = [database.is_full]
    with pytest.raises(Unavailable), database.transaction(None) as tx:
        tx.execute(text("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '53100'; END $$"))
    said.append(database.is_full)
    monkeypatch.setattr(database_module, "FULL_SECONDS", 0.0)
    said.append(database.is_full)
    database.close()
    assert said == [False, True, False]


def test_no_free_connection_is_unavailable(cluster: Cluster) -> None:
    database = Database(cluster.app_url, pool_size=1, timeout=0.05)
    with database.transaction(1), pytest.raises(Unavailable), database.transaction(1):
        pass
    with database.transaction(1) as tx:
        assert tx.execute(text("SELECT 1")).scalar() == 1
    database.close()


def test_a_connection_that_the_server_closed_is_unavailable_once(cluster: Cluster, sql: Sql) -> None:
    database = Database(cluster.app_url, pool_size=1)

    def lose_it() -> None:
        with database.transaction(1) as tx:
            sql("SELECT pg_terminate_backend(%s, 5000)", tx.execute(text("SELECT pg_backend_pid()")).scalar())
            tx.execute(text("SELECT 1"))

    with pytest.raises(Unavailable):
        lose_it()
    with database.transaction(1) as tx:
        assert tx.execute(text("SELECT 1")).scalar() == 1
    with database.transaction(1) as tx:
        pid = tx.execute(text("SELECT pg_backend_pid()")).scalar()
    sql("SELECT pg_terminate_backend(%s, 5000)", pid)
    with database.transaction(1) as tx:  # one that died while it lay in the pool is not even noticed
        assert tx.execute(text("SELECT 1")).scalar() == 1
    database.close()


def test_a_fault_in_the_block_rolls_back_and_goes_through(owner: Database, sql: Sql) -> None:
    name = f"never there {uuid4()}"

    def fail() -> None:
        with owner.transaction(None) as tx:
            tx.execute(text("INSERT INTO tenants (name) VALUES (:name)"), {"name": name})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert sql("SELECT count(*) FROM tenants WHERE name = %s", name) == [(0,)]


def test_the_tenant_leaves_with_its_transaction(app: Database) -> None:
    single = "SELECT coalesce(current_setting('infinicon.tenant', true), '')"
    for tenant in (7, 8):
        with app.transaction(tenant) as tx:
            assert tx.execute(text(single)).scalar() == str(tenant)
        with app.transaction(None) as tx:
            assert tx.execute(text(single)).scalar() == ""


@pytest.mark.parametrize("role", ["app_url", "sweeper_url", "results_url"])
def test_no_plan_is_kept_from_when_tables_were_empty(cluster: Cluster, role: str) -> None:
    """A kept plan joins tables that have grown as if they still held a few rows, until the next ANALYZE."""
    database = Database(getattr(cluster, role), pool_size=1, vectors=False)
    statement = text("SELECT count(*) FROM pg_class WHERE oid = :oid")
    for oid in range(30):
        with database.transaction(1) as tx:
            tx.execute(statement, {"oid": oid})
    with database.transaction(1) as tx:
        kept = tx.execute(text("SELECT sum(generic_plans), sum(custom_plans) FROM pg_prepared_statements")).one()
    database.close()

    assert kept[0] == 0
    assert kept[1] > 20


@pytest.mark.parametrize("state", ["40P01", "40001", "55P03"])
def test_who_lost_against_another_may_try_again(state: str) -> None:
    fault = psycopg.errors.lookup(state)("a driver's text")

    assert isinstance(translate(fault), Conflict)


@pytest.mark.parametrize("state", [None, "08006", "57P01", "57P03", "53300", "28P01"])
def test_who_does_not_answer_now_may_answer_later(state: str | None) -> None:
    fault = (
        psycopg.OperationalError("a driver's text")
        if state is None
        else psycopg.errors.lookup(state)("a driver's text")
    )

    assert isinstance(translate(fault), Unavailable)


@pytest.mark.parametrize("state", ["54000", "54001", "22P02", "23505", "42501", "42P01"])
def test_what_is_refused_is_refused_again(state: str) -> None:
    fault = translate(psycopg.errors.lookup(state)("a driver's text"))

    assert isinstance(fault, Internal)
    assert fault.details["sqlstate"] == state


def test_retrying_gives_up_in_the_end() -> None:
    calls = []

    @retry_conflicts
    def losing(wins_at: int) -> str:
        calls.append(wins_at)
        if len(calls) < wins_at:
            raise Conflict("lost")
        return "won"

    assert losing(5) == "won"
    calls.clear()
    with pytest.raises(Conflict):
        losing(99)
    assert len(calls) == 5


def test_other_faults_are_not_retried() -> None:
    calls = []

    @retry_conflicts
    def failing() -> None:
        calls.append(1)
        raise Unavailable("away")

    with pytest.raises(Unavailable):
        failing()
    assert len(calls) == 1


def test_a_real_deadlock_is_survived(app: Database, tenant: int, sql: Sql) -> None:
    namespaces = sql("INSERT INTO namespaces (tenant, name) VALUES (%s, 'x'), (%s, 'y') RETURNING id", tenant, tenant)
    first, second = (row[0] for row in namespaces)
    sql("INSERT INTO namespace_counters (tenant, namespace) VALUES (%s, %s), (%s, %s)", tenant, first, tenant, second)
    tries: list[int] = []
    both_hold_one = Barrier(2)

    def touch(tx: Transaction, namespace: int) -> None:
        tx.execute(
            text("UPDATE namespace_counters SET seq = seq + 1 WHERE tenant = :tenant AND namespace = :namespace"),
            {"tenant": tenant, "namespace": namespace},
        )

    def crossing(one: int, other: int) -> Callable[[], None]:
        met = False

        @retry_conflicts
        def cross() -> None:
            nonlocal met
            tries.append(one)
            with app.transaction(tenant) as tx:
                touch(tx, one)
                if not met:
                    met = True
                    both_hold_one.wait(10)
                touch(tx, other)

        return cross

    together(crossing(first, second), crossing(second, first))

    assert len(tries) == 3
    assert sql("SELECT seq FROM namespace_counters WHERE namespace IN (%s, %s)", first, second) == [(2,), (2,)]


def test_a_snapshot_sees_what_was_and_writes_nothing(owner: Database) -> None:
    name = f"tenant-{uuid4()}"
    count = text("SELECT count(*) FROM tenants WHERE name = :name")
    add = text("INSERT INTO tenants (name) VALUES (:name)")
    with owner.transaction(None, snapshot=True) as tx:
        assert tx.execute(count, {"name": name}).scalar() == 0
        with owner.transaction(None) as other:
            other.execute(add, {"name": name})
        assert tx.execute(count, {"name": name}).scalar() == 0
    with owner.transaction(None) as tx:
        assert tx.execute(count, {"name": name}).scalar() == 1

    with pytest.raises(Internal) as fault, owner.transaction(None, snapshot=True) as tx:
        tx.execute(add, {"name": f"{name}-2"})
    assert fault.value.details["sqlstate"] == "25006"
    with owner.transaction(None) as tx:  # the connection is what it was before
        tx.execute(add, {"name": f"{name}-3"})
