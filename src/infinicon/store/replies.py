"""Replies kept under an Idempotency-Key."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import text

from infinicon.domain import Json
from infinicon.store.database import Transaction

BODY = "idempotency body"
"""The purpose of the key by which digests of bodies are made: a bare digest would prove a guess at what a body said before redaction."""

RESERVE = text("""
    INSERT INTO idempotency (tenant, key_hmac, body_digest) VALUES (:tenant, :key, :body) ON CONFLICT DO NOTHING RETURNING tenant
""")
FIND = text("SELECT body_digest, reply FROM idempotency WHERE tenant = :tenant AND key_hmac = :key")
KEEP = text("UPDATE idempotency SET reply = CAST(:reply AS jsonb) WHERE tenant = :tenant AND key_hmac = :key")


def reserve(tenant: int, tx: Transaction, key: bytes, body: bytes) -> tuple[bytes, Any] | None:
    """Take the key for this transaction (None), or give the keyed digest of the body and the reply that it already stands for.

    Waits for another transaction that has the key and has not committed.
    """
    if tx.execute(RESERVE, {"tenant": tenant, "key": key, "body": body}).scalar() is not None:
        return None
    row = tx.execute(FIND, {"tenant": tenant, "key": key}).one()
    return bytes(row.body_digest), row.reply


def keep(tenant: int, tx: Transaction, key: bytes, reply: Json) -> None:
    """Store the reply that the key stands for from now on."""
    tx.execute(KEEP, {"tenant": tenant, "key": key, "reply": json.dumps(reply)})
