"""Policies of namespaces."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict

from sqlalchemy import text

from infinicon.domain import Policy, ScopeKey
from infinicon.store.database import Transaction

READ = text("""
    SELECT audit_seconds, default_expiry_seconds, job_retention_seconds, event_retention_seconds
    FROM policies WHERE tenant = :tenant AND namespace = :namespace
""")

WRITE = text("""
    INSERT INTO policies (tenant, namespace, audit_seconds, default_expiry_seconds, job_retention_seconds, event_retention_seconds)
    VALUES (:tenant, :namespace, :audit_seconds, :default_expiry_seconds, :job_retention_seconds, :event_retention_seconds)
    ON CONFLICT (tenant, namespace) DO UPDATE
    SET audit_seconds = excluded.audit_seconds, default_expiry_seconds = excluded.default_expiry_seconds,
        job_retention_seconds = excluded.job_retention_seconds, event_retention_seconds = excluded.event_retention_seconds,
        updated_at = now()
""")


REDACTING = text("""
    SELECT namespace FROM policies
    WHERE tenant = :tenant AND namespace = ANY(CAST(:namespaces AS integer[])) AND redact_credentials
""")


def redacting(tenant: int, tx: Transaction, namespaces: Collection[int]) -> set[int]:
    """Those of the namespaces that want what looks like a credential to be replaced."""
    rows = tx.execute(REDACTING, {"tenant": tenant, "namespaces": sorted(namespaces)})
    return {row.namespace for row in rows}


def read(scope: ScopeKey, tx: Transaction) -> Policy:
    """The policy of the scope's namespace."""
    row = tx.execute(READ, {"tenant": scope.tenant, "namespace": scope.namespace}).one_or_none()
    return Policy() if row is None else Policy(*row)


def write(scope: ScopeKey, tx: Transaction, policy: Policy) -> None:
    """Put it in the place of the former one."""
    tx.execute(WRITE, {"tenant": scope.tenant, "namespace": scope.namespace, **asdict(policy)})
