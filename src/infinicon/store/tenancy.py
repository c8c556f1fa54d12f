"""Tenants, namespaces and keys."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import Caller, Namespace, Permission
from infinicon.store.database import Transaction, unscoped

AUTHENTICATE = text("SELECT tenant, tenant_name, key, permissions, namespaces FROM infinicon.authenticate(:digest)")

FIND_NAMESPACE = text("SELECT id FROM namespaces WHERE tenant = :tenant AND name = :name")

MAKE_NAMESPACE = text("""
    INSERT INTO namespaces (tenant, name) VALUES (:tenant, :name)
    ON CONFLICT ON CONSTRAINT namespaces_name_key DO NOTHING
""")

MAKE_COUNTER = text("""
    INSERT INTO namespace_counters (tenant, namespace) VALUES (:tenant, :namespace) ON CONFLICT DO NOTHING
""")

LIST_NAMESPACES = text("""
    SELECT name, created_at FROM namespaces
    WHERE tenant = :tenant AND name COLLATE "C" > :after AND (CAST(:only AS integer[]) IS NULL OR id = ANY(CAST(:only AS integer[])))
    ORDER BY name COLLATE "C" LIMIT :limit
""")

MAKE_TENANT = text("""
    INSERT INTO tenants (name) VALUES (:name) ON CONFLICT ON CONSTRAINT tenants_name_key DO NOTHING
""")

FIND_TENANT = text("SELECT id FROM tenants WHERE name = :name")

HOLD_TENANT = text("SELECT id FROM tenants WHERE id = :tenant FOR UPDATE")

MAKE_KEY = text("""
    INSERT INTO keys (tenant, id, digest, label, permissions, namespaces)
    VALUES (:tenant, :id, :digest, :label, CAST(:permissions AS text[]), CAST(:namespaces AS integer[]))
    ON CONFLICT ON CONSTRAINT keys_digest_key DO NOTHING
""")


@unscoped("a key is looked up before its tenant is known")
def authenticate(tx: Transaction, digest: bytes) -> Caller | None:
    """Who holds the key with this SHA-256 digest; None for an unknown, expired or revoked one."""
    row = tx.execute(AUTHENTICATE, {"digest": digest}).one_or_none()
    if row is None:
        return None
    return Caller(
        tenant=row.tenant,
        tenant_name=row.tenant_name,
        key=row.key,
        permissions=frozenset(Permission(name) for name in row.permissions),
        namespaces=None if row.namespaces is None else frozenset(row.namespaces),
    )


def find_namespace(tenant: int, tx: Transaction, name: str) -> int | None:
    """The namespace of that name, if there is one."""
    found: int | None = tx.execute(FIND_NAMESPACE, {"tenant": tenant, "name": name}).scalar()
    return found


def ensure_namespace(tenant: int, tx: Transaction, name: str) -> int:
    """The namespace of that name, made if it is new."""
    found = find_namespace(tenant, tx, name)
    if found is None:
        tx.execute(MAKE_NAMESPACE, {"tenant": tenant, "name": name})
        found = find_namespace(tenant, tx, name)
        assert found is not None
        tx.execute(MAKE_COUNTER, {"tenant": tenant, "namespace": found})
    return found


def namespaces(tenant: int, tx: Transaction, only: Collection[int] | None, after: str, limit: int) -> list[Namespace]:
    """Namespaces of the tenant behind `after`, by name in code point order; with `only`, those among them."""
    rows = tx.execute(
        LIST_NAMESPACES,
        {"tenant": tenant, "only": None if only is None else sorted(only), "after": after, "limit": limit},
    )
    return [Namespace(row.name, row.created_at) for row in rows]


@unscoped("tenants are made by the owner")
def ensure_tenant(tx: Transaction, name: str) -> int:
    """The tenant of that name, made if it is new."""
    tx.execute(MAKE_TENANT, {"name": name})
    found: int = tx.execute(FIND_TENANT, {"name": name}).scalar_one()
    return found


def hold_tenant(tenant: int, tx: Transaction) -> None:
    """Until the transaction ends, nobody else holds the tenant. For the owner, who alone may lock its row."""
    tx.execute(HOLD_TENANT, {"tenant": tenant})


def add_key(
    tenant: int,
    tx: Transaction,
    key: UUID,
    digest: bytes,
    permissions: frozenset[Permission],
    namespaces: frozenset[int] | None = None,
    label: str | None = None,
) -> None:
    """Store a key's digest; a digest that is there already stays as it is."""
    tx.execute(
        MAKE_KEY,
        {
            "tenant": tenant,
            "id": key,
            "digest": digest,
            "label": label,
            "permissions": sorted(permissions),
            "namespaces": None if namespaces is None else sorted(namespaces),
        },
    )
