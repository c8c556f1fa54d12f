"""Policies of namespaces."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import text

from infinicon.domain import Policy, ScopeKey, Width
from infinicon.store.database import Transaction

READ = text("""
    SELECT audit_seconds, default_expiry_seconds, job_retention_seconds, event_retention_seconds, consolidation_width,
           consolidation_crontab, consolidation_every_seconds, consolidation_threshold, consolidation_max_age_seconds,
           consolidation_idle_seconds, redact_credentials
    FROM policies WHERE tenant = :tenant AND namespace = :namespace
""")

WRITE = text("""
    INSERT INTO policies (tenant, namespace, audit_seconds, default_expiry_seconds, job_retention_seconds, event_retention_seconds,
                          consolidation_width, consolidation_crontab, consolidation_times, consolidation_every_seconds,
                          consolidation_threshold, consolidation_max_age_seconds, consolidation_idle_seconds, redact_credentials)
    VALUES (:tenant, :namespace, :audit, :expiry, :jobs, :events, :width, :crontab, CAST(:times AS bigint[]), :every, :threshold, :age,
            :idle, :credentials)
    ON CONFLICT (tenant, namespace) DO UPDATE
    SET audit_seconds = excluded.audit_seconds, default_expiry_seconds = excluded.default_expiry_seconds,
        job_retention_seconds = excluded.job_retention_seconds, event_retention_seconds = excluded.event_retention_seconds,
        consolidation_width = excluded.consolidation_width, consolidation_crontab = excluded.consolidation_crontab,
        consolidation_times = excluded.consolidation_times, consolidation_every_seconds = excluded.consolidation_every_seconds,
        consolidation_threshold = excluded.consolidation_threshold,
        consolidation_max_age_seconds = excluded.consolidation_max_age_seconds,
        consolidation_idle_seconds = excluded.consolidation_idle_seconds,
        redact_credentials = excluded.redact_credentials, updated_at = now()
""")

HOLD_AUDIT = text("SELECT audit_seconds FROM policies WHERE tenant = :tenant AND namespace = :namespace FOR SHARE")

REDACTING = text("""
    SELECT namespace FROM policies
    WHERE tenant = :tenant AND namespace = ANY(CAST(:namespaces AS integer[])) AND redact_credentials
""")


def redacting(tenant: int, tx: Transaction, namespaces: Collection[int]) -> set[int]:
    """Those of the namespaces that want what looks like a credential to be replaced."""
    rows = tx.execute(REDACTING, {"tenant": tenant, "namespaces": sorted(namespaces)})
    return {row.namespace for row in rows}


def audit_seconds(scope: ScopeKey, tx: Transaction) -> int:
    """How long what is tombstoned in this transaction is kept for an audit. Whoever shortens that meanwhile waits, and finds it."""
    seconds: int | None = tx.execute(HOLD_AUDIT, {"tenant": scope.tenant, "namespace": scope.namespace}).scalar()
    return seconds or 0


def read(scope: ScopeKey, tx: Transaction) -> Policy:
    """The policy of the scope's namespace."""
    row = tx.execute(READ, {"tenant": scope.tenant, "namespace": scope.namespace}).one_or_none()
    if row is None:
        return Policy()
    return Policy(
        row.audit_seconds,
        row.default_expiry_seconds,
        row.job_retention_seconds,
        row.event_retention_seconds,
        Width(row.consolidation_width),
        row.consolidation_every_seconds if row.consolidation_crontab is None else row.consolidation_crontab,
        row.consolidation_threshold,
        row.consolidation_max_age_seconds,
        row.consolidation_idle_seconds,
        row.redact_credentials,
    )


def write(scope: ScopeKey, tx: Transaction, policy: Policy, times: Sequence[int] | None = None) -> None:
    """Put it in the place of the former one. `times`: what its crontab says, as bits; None where it has none."""
    schedule = policy.consolidation_schedule
    tx.execute(
        WRITE,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "audit": policy.audit_seconds,
            "expiry": policy.default_expiry_seconds,
            "jobs": policy.job_retention_seconds,
            "events": policy.event_retention_seconds,
            "width": policy.consolidation_width.value,
            "crontab": schedule if isinstance(schedule, str) else None,
            "times": None if times is None else list(times),
            "every": schedule if isinstance(schedule, int) else None,
            "threshold": policy.consolidation_threshold,
            "age": policy.consolidation_max_age_seconds,
            "idle": policy.consolidation_idle_seconds,
            "credentials": policy.redact_credentials,
        },
    )
