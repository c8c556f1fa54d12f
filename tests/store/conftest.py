"""Real Postgres under the real roles. Each test has a tenant of its own, and so nothing to clean up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, LiteralString, TypeAlias
from uuid import uuid4

import psycopg
import pytest

from infinicon.domain import Scope, ScopeKey
from infinicon.store import tenancy
from infinicon.store.database import Database, Transaction
from tests.conftest import Cluster

Sql: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement with its parameters as superuser, at once, and gives its rows: a look under the hood, or a hand there."""

PIPELINE_TABLES = "infinicon.batches, infinicon.queued_episodes, infinicon.staged_vectors, infinicon.jobs"


@pytest.fixture(scope="session")
def app(cluster: Cluster) -> Iterator[Database]:
    """As API and workers see it."""
    yield from _database(cluster.app_url)


@pytest.fixture(scope="session")
def sweeper(cluster: Cluster) -> Iterator[Database]:
    """As dispatch and reconcile see it."""
    yield from _database(cluster.sweeper_url)


@pytest.fixture(scope="session")
def owner(cluster: Cluster) -> Iterator[Database]:
    """As migrations and provisioning see it."""
    yield from _database(cluster.owner_url)


def _database(url: str) -> Iterator[Database]:
    database = Database(url, pool_size=8)
    yield database
    database.close()


@pytest.fixture(scope="session")
def sql(cluster: Cluster) -> Iterator[Sql]:
    """See Sql."""
    with psycopg.connect(cluster.superuser_url, autocommit=True) as connection:
        connection.execute("SET search_path = infinicon, public")

        def run(statement: LiteralString, *parameters: object) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else []

        yield run


@pytest.fixture
def tenant(owner: Database) -> int:
    """A tenant that only this test knows."""
    with owner.transaction(None) as tx:
        return tenancy.ensure_tenant(tx, f"tenant-{uuid4()}")


@pytest.fixture
def scope(app: Database, tenant: int) -> ScopeKey:
    """A namespace of that tenant, without agent and session."""
    with app.transaction(tenant) as tx:
        namespace = tenancy.ensure_namespace(tenant, tx, "test")
    return ScopeKey(tenant, namespace, Scope("test-tenant", "test"))


@pytest.fixture
def tx(app: Database, tenant: int) -> Iterator[Transaction]:
    """A transaction of the app's role in that tenant; commits when the test ends."""
    with app.transaction(tenant) as open_transaction:
        yield open_transaction


@pytest.fixture
def empty_pipeline(cluster: Cluster) -> None:
    """No batch and no queued episode of any tenant: for tests of sweeps, which see all tenants."""
    with psycopg.connect(cluster.superuser_url, autocommit=True) as connection:
        connection.execute(f"TRUNCATE {PIPELINE_TABLES} CASCADE")
