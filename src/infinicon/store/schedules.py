"""When consolidations are due. The times themselves are kept by the database (the trigger consolidation_scopes_due), in whatever
transaction changes what they depend on; here they are found, claimed and begun.

Finding runs under the sweeper's role, which sees ids and times only. Beginning happens in the tenant's own transaction, which looks again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import ConsolidationScope, ScopeKey, Trigger, Width
from infinicon.store.database import Transaction, unscoped

SCHEDULER = "scheduler"
"""The heartbeat of whoever looks for what is due."""

CLAIMED_SECONDS = 60
"""For so long nobody else looks at a scope that is claimed; then whoever claimed it has died."""

WINDOWS_SECONDS = 7 * 86_400
"""How long is remembered which windows were opened."""


@dataclass(frozen=True, slots=True)
class Due:
    """A consolidation scope that is due for a window."""

    tenant: int
    scope: int
    window_at: datetime


@dataclass(frozen=True, slots=True)
class Held:
    """A consolidation scope that is due still, locked. `wanted` and `threshold`: the width and the threshold that the policy has now."""

    scope: ConsolidationScope
    trigger: Trigger
    wanted: Width
    threshold: int | None


BEAT = text("""
    INSERT INTO heartbeats (name, beat_at) VALUES (:name, clock_timestamp())
    ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at
""")

AGE = text("SELECT extract(epoch FROM clock_timestamp() - beat_at) FROM heartbeats WHERE name = :name")

# The index is of scopes in which something waits under a policy; of those that are not due nothing is read.
CLAIM = text("""
    UPDATE consolidation_scopes s SET due_at = clock_timestamp() + make_interval(secs => :seconds)
    FROM (SELECT tenant, id FROM consolidation_scopes WHERE due_at <= now() ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED) due
    WHERE s.tenant = due.tenant AND s.id = due.id
    RETURNING s.tenant, s.id, s.window_at
""")

FORGET = text("DELETE FROM consolidation_windows WHERE opened_at < now() - make_interval(secs => :seconds)")

# Whoever slept since it claimed the scope finds that the window has gone.
HOLD = text("""
    SELECT s.id, s.namespace, s.width, s.agent_id, s.session_id, s.due_for, coalesce(p.consolidation_width, 'agent') AS wanted,
           p.consolidation_threshold AS threshold
    FROM consolidation_scopes s LEFT JOIN policies p ON p.tenant = s.tenant AND p.namespace = s.namespace
    WHERE s.tenant = :tenant AND s.id = :scope AND s.window_at = :window_at AND s.job IS NULL
    FOR NO KEY UPDATE OF s
""")

OPEN = text("""
    INSERT INTO consolidation_windows (tenant, scope, window_at, due_for) VALUES (:tenant, :scope, :window_at, :due_for)
    ON CONFLICT ON CONSTRAINT consolidation_windows_pkey DO NOTHING
    RETURNING scope
""")

NOTE = text("""
    UPDATE consolidation_windows SET job = :job WHERE tenant = :tenant AND scope = :scope AND window_at = :window_at
""")

TAKE_TURN = text("SELECT pg_advisory_xact_lock(hashtextextended('consolidation ' || :tenant || ' ' || :namespace, 0))")

# The trigger reads the policy again.
RECOMPUTE = text("""
    UPDATE consolidation_scopes SET window_at = NULL
    WHERE tenant = :tenant AND namespace = :namespace AND waiting > 0 AND job IS NULL
""")

OF_OTHER_WIDTH = text("""
    SELECT id FROM consolidation_scopes s
    WHERE tenant = :tenant AND namespace = :namespace AND width <> :width AND job IS NULL
      AND EXISTS (SELECT FROM consolidation_backlog b WHERE b.tenant = s.tenant AND b.scope = s.id)
    ORDER BY id FOR NO KEY UPDATE
""")

MAKE_SCOPES = text("""
    INSERT INTO consolidation_scopes (tenant, namespace, width, agent_id, session_id)
    SELECT DISTINCT n.tenant, n.namespace, n.width, n.agent_id, n.session_id
    FROM consolidation_backlog b JOIN consolidation_names n ON n.tenant = b.tenant AND n.memory = b.memory
    WHERE b.tenant = :tenant AND b.scope = ANY(CAST(:scopes AS bigint[]))
    ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT ON CONSTRAINT consolidation_scopes_names_key DO NOTHING
""")

MOVE = text("""
    WITH moved AS (
        UPDATE consolidation_backlog b SET scope = s.id
        FROM consolidation_names n
        JOIN consolidation_scopes s ON s.tenant = n.tenant AND s.namespace = n.namespace AND s.width = n.width
                                   AND s.agent_id = n.agent_id AND s.session_id = n.session_id
        WHERE b.tenant = :tenant AND b.scope = ANY(CAST(:scopes AS bigint[])) AND n.tenant = b.tenant AND n.memory = b.memory
        RETURNING b.scope, b.undone, b.added_at
    ), counted AS (
        SELECT scope, count(*) AS number, min(added_at) AS oldest, max(added_at) AS newest FROM moved WHERE NOT undone GROUP BY scope
    )
    UPDATE consolidation_scopes s
    SET waiting = s.waiting + c.number, oldest_at = least(s.oldest_at, c.oldest),
        last_indexed_at = greatest(s.last_indexed_at, c.newest)
    FROM counted c WHERE s.tenant = :tenant AND s.id = c.scope
""")

RECOUNT = text("""
    UPDATE consolidation_scopes s
    SET waiting = left_.number, oldest_at = CASE WHEN left_.number > 0 THEN s.oldest_at END
    FROM (SELECT o.id, count(b.memory) AS number FROM unnest(CAST(:scopes AS bigint[])) AS o (id)
          LEFT JOIN consolidation_backlog b ON b.tenant = :tenant AND b.scope = o.id AND NOT b.undone
          GROUP BY o.id) left_
    WHERE s.tenant = :tenant AND s.id = left_.id
""")


@unscoped("the clock is one for all tenants")
def beat(tx: Transaction) -> None:
    """Say that somebody looks for what is due."""
    tx.execute(BEAT, {"name": SCHEDULER})


@unscoped("the clock is one for all tenants")
def age(tx: Transaction) -> float | None:
    """Seconds since somebody looked for what is due; None where nobody ever did."""
    found = tx.execute(AGE, {"name": SCHEDULER}).scalar()
    return None if found is None else max(float(found), 0.0)


@unscoped("scopes of all tenants become due alike")
def claim(tx: Transaction, limit: int) -> list[Due]:
    """Scopes that are due, those first that have been for longest; nobody else gets them for a minute."""
    rows = tx.execute(CLAIM, {"limit": limit, "seconds": CLAIMED_SECONDS})
    return sorted((Due(row.tenant, row.id, row.window_at) for row in rows), key=lambda due: due.window_at)


@unscoped("windows of all tenants are forgotten alike")
def forget(tx: Transaction) -> int:
    """Drop what is remembered of windows long past."""
    return tx.execute(FORGET, {"seconds": WINDOWS_SECONDS}).rowcount


def hold(tenant: int, tx: Transaction, scope: int, window_at: datetime) -> Held | None:
    """Lock a consolidation scope that is due for this window still, and that nobody works on; else None."""
    row = tx.execute(HOLD, {"tenant": tenant, "scope": scope, "window_at": window_at}).one_or_none()
    if row is None:
        return None
    found = ConsolidationScope(row.id, row.namespace, Width(row.width), row.agent_id or None, row.session_id or None)
    return Held(found, Trigger(row.due_for), Width(row.wanted), row.threshold)


def open_window(tenant: int, tx: Transaction, scope: int, window_at: datetime, trigger: Trigger) -> bool:
    """Whether the window is the caller's: it is opened once."""
    key = {"tenant": tenant, "scope": scope, "window_at": window_at, "due_for": trigger.value}
    return tx.execute(OPEN, key).scalar() is not None


def note(tenant: int, tx: Transaction, scope: int, window_at: datetime, job: UUID) -> None:
    """Which job the window has."""
    tx.execute(NOTE, {"tenant": tenant, "scope": scope, "window_at": window_at, "job": job})


def recompute(scope: ScopeKey, tx: Transaction, width: Width) -> None:
    """After a change of the namespace's policy: what waits moves to scopes of this width, and all are due as the policy says now.

    Scopes that are worked on stay as they are until that is over; then they are due by the policy as it is then.
    """
    key = {"tenant": scope.tenant, "namespace": scope.namespace}
    tx.execute(TAKE_TURN, {name: str(value) for name, value in key.items()})
    move(scope.tenant, tx, [row.id for row in tx.execute(OF_OTHER_WIDTH, {**key, "width": width})])
    tx.execute(RECOMPUTE, key)


def move(tenant: int, tx: Transaction, scopes: Collection[int]) -> None:
    """What waits in these scopes, whose rows the caller has locked, waits in those of the policy's width from now on."""
    if not scopes:
        return
    key = {"tenant": tenant, "scopes": sorted(scopes)}
    for statement in (MAKE_SCOPES, MOVE, RECOUNT):
        tx.execute(statement, key)
