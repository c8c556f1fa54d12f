"""Tenants, namespaces and keys: names become numbers, tokens become callers."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from infinicon.domain import Permission
from infinicon.errors import Unauthorized
from infinicon.keyring import api_key_digest, new_api_key
from infinicon.operations.keys import authenticate, provision
from infinicon.store import tenancy
from infinicon.store.database import Database
from tests.conftest import Cluster
from tests.store.conftest import Sql
from tests.together import together


@pytest.fixture
def add(owner: Database, tenant: int) -> Callable[..., str]:
    """Adds a key to the test's tenant."""

    def add_key(permissions: frozenset[Permission], namespaces: frozenset[int] | None = None) -> str:
        token = new_api_key()
        with owner.transaction(None) as tx:
            tenancy.add_key(tenant, tx, uuid4(), api_key_digest(token), permissions, namespaces)
        return token

    return add_key


def test_a_key_says_who_its_holder_is(app: Database, add: Callable[..., str], tenant: int, sql: Sql) -> None:
    caller = authenticate(app, add(frozenset({Permission.QUERY, Permission.JOBS})))

    assert caller.tenant == tenant
    assert sql("SELECT name FROM tenants WHERE id = %s", tenant) == [(caller.tenant_name,)]
    assert caller.permissions == {Permission.QUERY, Permission.JOBS}
    assert caller.namespaces is None
    assert authenticate(app, add(frozenset({Permission.QUERY}), frozenset({3, 5}))).namespaces == frozenset({3, 5})


@pytest.mark.parametrize(
    "change",
    ["revoked_at = now()", "expires_at = now()", "expires_at = now() - interval '1 year'", "digest = sha256('other')"],
)
def test_a_key_that_does_not_count(app: Database, add: Callable[..., str], sql: Sql, change: str) -> None:
    token = add(frozenset({Permission.QUERY}))
    digest = api_key_digest(token)
    authenticate(app, token)
    sql(f"UPDATE keys SET {change} WHERE digest = %s", digest)
    with pytest.raises(Unauthorized) as fault:
        authenticate(app, token)
    assert not fault.value.authenticated
    sql("DELETE FROM keys WHERE digest = sha256('other')")


@pytest.mark.parametrize("token", ["", "inf_", "inf_" + "x" * 43, "\x00", "\ud800", "x" * 100_000])
def test_no_key_at_all(app: Database, token: str) -> None:
    with pytest.raises(Unauthorized):
        authenticate(app, token)


def test_a_key_that_expires_later_counts(app: Database, add: Callable[..., str], sql: Sql) -> None:
    token = add(frozenset({Permission.QUERY}))
    sql("UPDATE keys SET expires_at = now() + interval '1 hour' WHERE digest = %s", api_key_digest(token))

    assert authenticate(app, token).permissions == {Permission.QUERY}


def test_provisioning_twice_changes_nothing(cluster: Cluster, app: Database, sql: Sql) -> None:
    name, token = f"tenant-{uuid4()}", new_api_key()
    for permissions in (frozenset(Permission), frozenset({Permission.QUERY})):
        provision(cluster.owner_url, name, token, permissions)

    assert sql("SELECT count(*) FROM keys WHERE digest = %s", api_key_digest(token)) == [(1,)]
    assert authenticate(app, token).permissions == frozenset(Permission)
    assert token not in repr(sql("SELECT * FROM keys WHERE digest = %s", api_key_digest(token)))


def test_one_number_for_one_name(owner: Database, app: Database, sql: Sql) -> None:
    name = f"tenant-{uuid4()}"

    def tenant_number() -> int:
        with owner.transaction(None) as tx:
            return tenancy.ensure_tenant(tx, name)

    (tenant,) = set(together(*[tenant_number] * 8))

    def namespace_number() -> int:
        with app.transaction(tenant) as tx:
            return tenancy.ensure_namespace(tenant, tx, "made at once")

    (namespace,) = set(together(*[namespace_number] * 8))
    assert sql("SELECT count(*) FROM namespace_counters WHERE tenant = %s", tenant) == [(1,)]
    with app.transaction(tenant) as tx:
        assert tenancy.find_namespace(tenant, tx, "made at once") == namespace
        assert tenancy.find_namespace(tenant, tx, "Made at once") is None


def test_the_same_name_of_two_tenants_is_two_namespaces(app: Database, tenant: int, owner: Database) -> None:
    with owner.transaction(None) as tx:
        other = tenancy.ensure_tenant(tx, f"tenant-{uuid4()}")
    numbers = set()
    for one in (tenant, other):
        with app.transaction(one) as tx:
            numbers.add(tenancy.ensure_namespace(one, tx, "notes"))

    assert len(numbers) == 2
