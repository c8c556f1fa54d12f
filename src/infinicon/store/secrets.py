"""Secrets that a tenant has made known, encrypted, and the version that names the set of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from infinicon.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Sealed:
    """A secret as it is kept. `key_id` names the master key that opens it."""

    id: UUID
    ciphertext: bytes
    key_id: str
    created_at: datetime


VERSION = text("SELECT hold_secrets(:tenant)")

LIST = text("SELECT id, ciphertext, key_id, created_at FROM secrets WHERE tenant = :tenant ORDER BY created_at, id")

TAKE_TURN = text("SELECT pg_advisory_xact_lock(hashtextextended('secrets ' || :tenant, 0))")

INSERT = text("""
    INSERT INTO secrets (tenant, id, ciphertext, key_id) VALUES (:tenant, :id, :ciphertext, :key_id) RETURNING created_at
""")

DELETE = text("DELETE FROM secrets WHERE tenant = :tenant AND id = :id RETURNING id")

RENEW = text("""
    INSERT INTO secret_versions (tenant, version) VALUES (:tenant, gen_random_uuid())
    ON CONFLICT (tenant) DO UPDATE SET version = excluded.version
""")


def version(tenant: int, tx: Transaction) -> UUID | None:
    """Names the tenant's secrets; None where it never had any. They stay what they are until the transaction ends."""
    found: UUID | None = tx.execute(VERSION, {"tenant": tenant}).scalar_one()
    return found


def sealed(tenant: int, tx: Transaction) -> list[Sealed]:
    """The tenant's secrets, oldest first."""
    rows = tx.execute(LIST, {"tenant": tenant})
    return [Sealed(row.id, bytes(row.ciphertext), row.key_id, row.created_at) for row in rows]


def take_turn(tenant: int, tx: Transaction) -> None:
    """Wait for everybody who writes by what was known until now; nobody writes until the transaction ends."""
    tx.execute(TAKE_TURN, {"tenant": str(tenant)})


def insert(tenant: int, tx: Transaction, secret: UUID, ciphertext: bytes, key_id: str) -> datetime:
    """Make it known, after `take_turn`; since when it is."""
    parameters = {"tenant": tenant, "id": secret, "ciphertext": ciphertext, "key_id": key_id}
    created_at: datetime = tx.execute(INSERT, parameters).scalar_one()
    tx.execute(RENEW, {"tenant": tenant})
    return created_at


def delete(tenant: int, tx: Transaction, secret: UUID) -> bool:
    """Forget it, after `take_turn`. False: there is none."""
    gone = tx.execute(DELETE, {"tenant": tenant, "id": secret}).one_or_none() is not None
    if gone:
        tx.execute(RENEW, {"tenant": tenant})
    return gone
