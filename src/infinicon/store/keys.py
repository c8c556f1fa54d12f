"""API keys of a tenant, as a holder of `admin` manages them. Digests go in and never come out."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import Key, Permission
from infinicon.store.database import Transaction

LIST = text("""
    SELECT k.id, k.label, k.permissions, k.created_at, k.expires_at, k.revoked_at,
           CASE WHEN k.namespaces IS NOT NULL THEN coalesce(
               (SELECT array_agg(n.name ORDER BY n.name) FROM namespaces n WHERE n.tenant = k.tenant AND n.id = ANY(k.namespaces)),
               '{}') END AS namespaces
    FROM keys k
    WHERE k.tenant = :tenant AND (CAST(:key AS uuid) IS NULL OR k.id = :key)
    ORDER BY k.created_at, k.id
""")

# Two rotations, or a rotation and a revocation, of one key follow each other.
LOCK = text("SELECT id FROM keys WHERE tenant = :tenant AND id = :key FOR NO KEY UPDATE")

INSERT = text("""
    INSERT INTO keys (tenant, id, digest, label, permissions, namespaces, expires_at)
    VALUES (:tenant, :id, :digest, :label, CAST(:permissions AS text[]), CAST(:namespaces AS integer[]), :expires_at)
""")

LIVING = text("""
    SELECT EXISTS (SELECT FROM keys WHERE tenant = :tenant AND id = :key AND revoked_at IS NULL
                   AND (expires_at IS NULL OR expires_at > now()))
""")

REVOKE = text("UPDATE keys SET revoked_at = now() WHERE tenant = :tenant AND id = :key AND revoked_at IS NULL")

# It never lives longer than it would have.
EXPIRE = text("""
    UPDATE keys SET expires_at = least(coalesce(expires_at, 'infinity'), now() + make_interval(secs => :seconds))
    WHERE tenant = :tenant AND id = :key AND revoked_at IS NULL
""")


def listed(tenant: int, tx: Transaction) -> list[Key]:
    """All keys of the tenant, oldest first, revoked and expired ones too."""
    return [_key(row) for row in tx.execute(LIST, {"tenant": tenant, "key": None})]


def find(tenant: int, tx: Transaction, key: UUID) -> Key | None:
    row = tx.execute(LIST, {"tenant": tenant, "key": key}).one_or_none()
    return None if row is None else _key(row)


def lock(tenant: int, tx: Transaction, key: UUID) -> Key | None:
    """The key, held until the transaction ends."""
    tx.execute(LOCK, {"tenant": tenant, "key": key})
    return find(tenant, tx, key)


def living(tenant: int, tx: Transaction, key: UUID) -> bool:
    """Whether its holder gets in with it, by the database's clock."""
    return bool(tx.execute(LIVING, {"tenant": tenant, "key": key}).scalar())


def insert(
    tenant: int,
    tx: Transaction,
    key: UUID,
    digest: bytes,
    permissions: Collection[Permission],
    namespaces: Collection[int] | None,
    label: str | None,
    expires_at: datetime | None,
) -> None:
    """A new key, by the SHA-256 of what its holder sends."""
    tx.execute(
        INSERT,
        {
            "tenant": tenant,
            "id": key,
            "digest": digest,
            "label": label,
            "permissions": sorted(permissions),
            "namespaces": None if namespaces is None else sorted(namespaces),
            "expires_at": expires_at,
        },
    )


def revoke(tenant: int, tx: Transaction, key: UUID) -> None:
    """From the commit on nobody gets in with it."""
    tx.execute(REVOKE, {"tenant": tenant, "key": key})


def expire(tenant: int, tx: Transaction, key: UUID, seconds: float) -> None:
    """Let it run out in `seconds`, or earlier if it would have."""
    tx.execute(EXPIRE, {"tenant": tenant, "key": key, "seconds": seconds})


def _key(row: Any) -> Key:
    return Key(
        id=row.id,
        label=row.label,
        permissions=frozenset(Permission(name) for name in row.permissions),
        namespaces=row.namespaces,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )
