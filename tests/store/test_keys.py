"""What the app's role may do to keys, and what it may not, whatever the statement says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from infinicon.domain import Permission
from infinicon.store import keys
from infinicon.store.database import Database
from tests.store.conftest import Sql

QUERY = frozenset({Permission.QUERY})


@pytest.fixture
def made(app: Database, tenant: int) -> UUID:
    key = uuid4()
    with app.transaction(tenant) as tx:
        keys.insert(tenant, tx, key, key.bytes * 2, QUERY, None, "bot", None)
    return key


def test_what_is_revoked_stays_revoked(app: Database, tenant: int, made: UUID, sql: Sql) -> None:
    with app.transaction(tenant) as tx:
        keys.revoke(tenant, tx, made)
        was = keys.find(tenant, tx, made)
    with app.transaction(tenant) as tx:
        tx.execute(text("UPDATE keys SET revoked_at = NULL, expires_at = NULL"))
        keys.revoke(tenant, tx, made)
        keys.expire(tenant, tx, made, 3600)
        assert keys.find(tenant, tx, made) == was
        assert not keys.living(tenant, tx, made)
    assert was is not None
    assert was.revoked_at is not None


def test_another_tenants_key_is_not_there(app: Database, owner: Database, tenant: int, made: UUID) -> None:
    from infinicon.store import tenancy

    with owner.transaction(None) as tx:
        other = tenancy.ensure_tenant(tx, f"tenant-{uuid4()}")
    with app.transaction(other) as tx:
        keys.revoke(tenant, tx, made)
        assert keys.find(tenant, tx, made) is None
        assert keys.find(other, tx, made) is None
        assert keys.listed(other, tx) == []
    with app.transaction(tenant) as tx:
        assert keys.living(tenant, tx, made)


def test_a_key_never_lives_longer_than_it_would_have(app: Database, tenant: int) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=1)
    key = uuid4()
    with app.transaction(tenant) as tx:
        keys.insert(tenant, tx, key, key.bytes * 2, QUERY, {7}, None, soon)
        keys.expire(tenant, tx, key, 3600)
        found = keys.find(tenant, tx, key)
        assert found is not None
        assert found.expires_at == soon
        assert found.namespaces == []  # 7 is nobody's number here, and none is not all
        keys.expire(tenant, tx, key, 0)
        assert not keys.living(tenant, tx, key)
