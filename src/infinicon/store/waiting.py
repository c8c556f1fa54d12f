"""What callers wait for: episodes that are not visible yet."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import Fault, ScopeKey
from infinicon.store.database import Transaction, unscoped
from infinicon.store.jobs import fault

UNINDEXED = text("""
    SELECT episode FROM queued_episodes
    WHERE tenant = :tenant AND episode = ANY(CAST(:ids AS uuid[])) AND state IN ('waiting', 'claimed')
""")

FAILED = text("""
    SELECT episode, state, error FROM queued_episodes
    WHERE tenant = :tenant AND episode = ANY(CAST(:ids AS uuid[])) AND state IN ('failed', 'cancelled')
""")

PENDING = text("""
    SELECT EXISTS (
        SELECT FROM queued_episodes q
        WHERE q.tenant = :tenant AND q.namespace = :namespace AND q.state IN ('waiting', 'claimed') AND q.queued_at <= :before
          AND ((CAST(:agent_id AS text) IS NULL AND CAST(:session_id AS text) IS NULL)
               OR EXISTS (SELECT FROM memories m
                          WHERE m.tenant = q.tenant AND m.id = q.episode
                            AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
                            AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)))
    )
""")

# An erasure of one agent concerns whoever asks for all agents, and one of all agents concerns whoever asks for one. `spec` may narrow it
# further; what is left then is not looked for.
DELETING = text("""
    SELECT EXISTS (
        SELECT FROM jobs j
        WHERE j.tenant = :tenant AND j.namespace = :namespace AND j.type IN ('tombstone', 'erase') AND j.status IN ('queued', 'running')
          AND (CAST(:agent_id AS text) IS NULL OR j.agent_id IS NULL OR j.agent_id = :agent_id)
          AND (CAST(:session_id AS text) IS NULL OR j.session_id IS NULL OR j.session_id = :session_id)
    )
""")

NOW = text("SELECT clock_timestamp()")
SCHEMA = text("SELECT version_num FROM schema_version")


def unindexed(tenant: int, tx: Transaction, episodes: Collection[UUID]) -> set[UUID]:
    """Those of the episodes that are still on their way."""
    rows = tx.execute(UNINDEXED, {"tenant": tenant, "ids": list(episodes)})
    return {row.episode for row in rows}


def failed(tenant: int, tx: Transaction, episodes: Collection[UUID]) -> dict[UUID, Fault]:
    """Those of the episodes that failed or were cancelled, with the reason."""
    rows = tx.execute(FAILED, {"tenant": tenant, "ids": list(episodes)})
    cancelled = Fault("cancelled", "the job was cancelled before this episode was indexed", False)
    return {row.episode: fault(row.error) or cancelled for row in rows}


def pending(scope: ScopeKey, tx: Transaction, before: datetime) -> bool:
    """Whether anything accepted in the scope until `before` (the database's clock) is still on its way."""
    found: bool = tx.execute(
        PENDING,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
            "before": before,
        },
    ).scalar_one()
    return found


def deleting(scope: ScopeKey, tx: Transaction) -> bool:
    """Whether a deletion that concerns the scope was asked for and is not over."""
    found: bool = tx.execute(
        DELETING,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
        },
    ).scalar_one()
    return found


@unscoped("the clock has no tenant")
def now(tx: Transaction) -> datetime:
    """The database's clock."""
    moment: datetime = tx.execute(NOW).scalar_one()
    return moment


@unscoped("the schema has no tenant")
def schema(tx: Transaction) -> str:
    """The migration that the database is at."""
    version: str = tx.execute(SCHEMA).scalar_one()
    return version
