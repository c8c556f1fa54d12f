"""Bindings: memoryRefs that stand for a scope."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from infinicon.domain import ScopeKey
from infinicon.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Bound:
    """A memoryRef, and what it stands for; `namespace_name` is what callers call the namespace."""

    ref: str
    namespace: int
    namespace_name: str
    agent_id: str | None
    session_id: str | None
    created_at: datetime


FIND = text("""
    SELECT b.ref, b.namespace, n.name, b.agent_id, b.session_id, b.created_at
    FROM memory_bindings b JOIN namespaces n ON n.tenant = b.tenant AND n.id = b.namespace
    WHERE b.tenant = :tenant AND b.ref = :ref
""")

PAGE = text("""
    SELECT b.ref, b.namespace, n.name, b.agent_id, b.session_id, b.created_at
    FROM memory_bindings b JOIN namespaces n ON n.tenant = b.tenant AND n.id = b.namespace
    WHERE b.tenant = :tenant AND b.ref > :after AND (CAST(:only AS integer[]) IS NULL OR b.namespace = ANY(CAST(:only AS integer[])))
    ORDER BY b.ref LIMIT :limit
""")

BIND = text("""
    INSERT INTO memory_bindings (tenant, ref, namespace, agent_id, session_id)
    VALUES (:tenant, :ref, :namespace, :agent_id, :session_id)
    ON CONFLICT (tenant, ref) DO UPDATE
    SET namespace = excluded.namespace, agent_id = excluded.agent_id, session_id = excluded.session_id, created_at = now()
    RETURNING created_at
""")

UNBIND = text("""
    DELETE FROM memory_bindings
    WHERE tenant = :tenant AND ref = :ref AND (CAST(:only AS integer[]) IS NULL OR namespace = ANY(CAST(:only AS integer[])))
""")


def find(tenant: int, tx: Transaction, ref: str) -> Bound | None:
    """What the memoryRef is bound to."""
    row = tx.execute(FIND, {"tenant": tenant, "ref": ref}).one_or_none()
    return None if row is None else _bound(row)


def page(tenant: int, tx: Transaction, only: Collection[int] | None, after: str, limit: int) -> list[Bound]:
    """Bindings behind `after` by memoryRef, in the order of code points; with `only`, those to these namespaces."""
    key = {"tenant": tenant, "only": None if only is None else sorted(only), "after": after, "limit": limit}
    return [_bound(row) for row in tx.execute(PAGE, key)]


def bind(scope: ScopeKey, tx: Transaction, ref: str) -> datetime:
    """Let the memoryRef stand for the scope from now on, whatever it stood for before."""
    moment: datetime = tx.execute(
        BIND,
        {
            "tenant": scope.tenant,
            "ref": ref,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
        },
    ).scalar_one()
    return moment


def unbind(tenant: int, tx: Transaction, only: Collection[int] | None, ref: str) -> bool:
    """Whether there was a binding, of these namespaces, that is none any more."""
    key = {"tenant": tenant, "only": None if only is None else sorted(only), "ref": ref}
    return tx.execute(UNBIND, key).rowcount > 0


def _bound(row: Any) -> Bound:
    return Bound(row.ref, row.namespace, row.name, row.agent_id, row.session_id, row.created_at)
