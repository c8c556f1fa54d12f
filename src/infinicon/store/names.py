"""Names by which memory is found, and labels of keys, as a redaction looks at them."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import text

from infinicon.store.database import Transaction, unscoped

NAMED = text("SELECT agent_id, session_id FROM memories WHERE tenant = :tenant AND id = ANY(CAST(:ids AS uuid[]))")

NAMESPACES = text("SELECT name FROM namespaces WHERE tenant = :tenant")

BINDINGS = text("SELECT ref, agent_id, session_id FROM memory_bindings WHERE tenant = :tenant")

KEY_LABELS = text("SELECT id, label FROM keys WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit")

REWORD_KEY = text("SELECT reword_key(:key, :label)")


def named(tenant: int, tx: Transaction, ids: Collection[UUID]) -> list[tuple[str | None, str | None]]:
    """The agentId and sessionId of each of these memories, gone or not."""
    rows = tx.execute(NAMED, {"tenant": tenant, "ids": sorted(ids)})
    return [(row.agent_id, row.session_id) for row in rows]


def namespaces(tenant: int, tx: Transaction) -> list[str]:
    """Names of all namespaces."""
    return list(tx.execute(NAMESPACES, {"tenant": tenant}).scalars())


def bindings(tenant: int, tx: Transaction) -> list[tuple[str, str | None, str | None]]:
    """Of each binding the memoryRef, the agentId and the sessionId."""
    return [(row.ref, row.agent_id, row.session_id) for row in tx.execute(BINDINGS, {"tenant": tenant})]


def key_labels(tenant: int, tx: Transaction, after: UUID, limit: int) -> list[tuple[UUID, str | None]]:
    """Labels of keys, by key."""
    rows = tx.execute(KEY_LABELS, {"tenant": tenant, "after": after, "limit": limit})
    return [(row.id, row.label) for row in rows]


@unscoped("the function looks at the tenant of the transaction itself")
def reword_key(tx: Transaction, key: UUID, label: str) -> None:
    """Another label for a key of the transaction's tenant."""
    tx.execute(REWORD_KEY, {"key": key, "label": label})
