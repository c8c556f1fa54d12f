"""Events of a namespace, in commit order: appended last in the writing transaction, read by position, and forgotten from the oldest on."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import EventType, MemoryType, ScopeKey
from infinicon.store.database import Transaction, unscoped


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about to happen: ids only, never content."""

    namespace: int
    type: EventType
    memory: UUID | None
    memory_type: MemoryType | None
    job: UUID | None = None
    agent_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event at its position."""

    seq: int
    type: EventType
    occurred_at: datetime
    memory: UUID | None
    memory_type: MemoryType | None
    job: UUID | None
    agent_id: str | None
    session_id: str | None


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a feed, at one moment: the events that were asked for up to `end`, between `floor` (gone) and `head` (the last)."""

    floor: int
    head: int
    end: int
    events: Sequence[StoredEvent]


@dataclass(frozen=True, slots=True)
class Feed:
    """A namespace's feed as the sweeper names it."""

    tenant: int
    namespace: int
    floor: int
    seconds: float
    """How long its events are kept."""


# The counter's row lock is held until commit, so positions are handed out in the order in which transactions become visible. The clock
# is read under that lock, so that times keep the same order.
APPEND = text("""
    WITH counter AS (
        UPDATE namespace_counters SET seq = seq + :number
        WHERE tenant = :tenant AND namespace = :namespace
        RETURNING seq - :number AS base
    )
    INSERT INTO events (tenant, namespace, seq, type, memory, memory_type, job, agent_id, session_id, occurred_at)
    SELECT :tenant, :namespace, counter.base + e.position, e.type, e.memory, e.memory_type, e.job, e.agent_id, e.session_id,
           clock_timestamp()
    FROM counter, unnest(CAST(:types AS text[]), CAST(:memories AS uuid[]), CAST(:memory_types AS text[]), CAST(:jobs AS uuid[]),
                         CAST(:agents AS text[]), CAST(:sessions AS text[]))
         WITH ORDINALITY AS e (type, memory, memory_type, job, agent_id, session_id, position)
""")

# One statement, so that floor, head and events are of one moment: what was forgotten meanwhile shows in the floor.
WINDOW = text("""
    SELECT c.events_floor AS floor, c.seq AS head, e.seq, e.type, e.occurred_at, e.memory, e.memory_type, e.job, e.agent_id, e.session_id
    FROM namespace_counters c
    LEFT JOIN LATERAL (
        SELECT * FROM events e
        WHERE e.tenant = c.tenant AND e.namespace = c.namespace
          AND e.seq > coalesce(CAST(:after AS bigint), c.events_floor)
          AND e.seq <= coalesce(CAST(:after AS bigint), c.events_floor) + :width
          AND e.type = ANY(CAST(:types AS text[]))
          AND (CAST(:agent_id AS text) IS NULL OR e.agent_id = :agent_id)
          AND (CAST(:session_id AS text) IS NULL OR e.session_id = :session_id)
          AND (CAST(:filters AS jsonb) IS NULL
               OR EXISTS (SELECT FROM memories m
                          WHERE m.tenant = e.tenant AND m.id = e.memory AND m.filters @> CAST(:filters AS jsonb)))
        ORDER BY e.seq LIMIT :limit
    ) e ON true
    WHERE c.tenant = :tenant AND c.namespace = :namespace
    ORDER BY e.seq
""")

HEADS = text("""
    SELECT n.name, c.seq FROM namespaces n JOIN namespace_counters c ON c.tenant = n.tenant AND c.namespace = n.id
    WHERE n.tenant = :tenant AND n.name = ANY(CAST(:names AS text[]))
""")

# A namespace's own policy counts before the house's.
# Of each feed one event, however many feeds and events a planner believes that there are: LIMIT keeps it a lookup.
EXPIRED = text("""
    SELECT c.tenant, c.namespace, c.events_floor, coalesce(p.event_retention_seconds, :seconds) AS seconds
    FROM namespace_counters c
    CROSS JOIN LATERAL (SELECT occurred_at FROM events o
                        WHERE o.tenant = c.tenant AND o.namespace = c.namespace AND o.seq = c.events_floor + 1 LIMIT 1) e
    LEFT JOIN policies p ON p.tenant = c.tenant AND p.namespace = c.namespace
    WHERE e.occurred_at < now() - make_interval(secs => coalesce(p.event_retention_seconds, :seconds))
    ORDER BY c.tenant, c.namespace LIMIT :limit
""")

# Only from the oldest on: one that is younger than its followers, by a clock that was set back, keeps them.
FORGET = text("""
    WITH oldest AS (
        SELECT e.seq, e.occurred_at < now() - make_interval(secs => :seconds) AS expired
        FROM events e
        WHERE e.tenant = :tenant AND e.namespace = :namespace AND e.seq > :floor
        ORDER BY e.seq LIMIT :limit
    ), bound AS (
        SELECT coalesce(min(seq) FILTER (WHERE NOT expired) - 1, max(seq)) AS seq FROM oldest
    ), gone AS (
        DELETE FROM events e USING bound
        WHERE e.tenant = :tenant AND e.namespace = :namespace AND e.seq > :floor AND e.seq <= bound.seq
        RETURNING e.seq
    )
    SELECT count(*) AS number, max(seq) AS last FROM gone
""")

RAISE_FLOOR = text("""
    UPDATE namespace_counters SET events_floor = greatest(events_floor, :floor)
    WHERE tenant = :tenant AND namespace = :namespace
""")


def append(tenant: int, tx: Transaction, events: Sequence[NewEvent]) -> None:
    """Write events and take their positions. Must be the last statements of the transaction; namespaces go in order of their ids."""
    for namespace in sorted({event.namespace for event in events}):
        own = [event for event in events if event.namespace == namespace]
        tx.execute(
            APPEND,
            {
                "tenant": tenant,
                "namespace": namespace,
                "number": len(own),
                "types": [event.type for event in own],
                "memories": [event.memory for event in own],
                "memory_types": [event.memory_type for event in own],
                "jobs": [event.job for event in own],
                "agents": [event.agent_id for event in own],
                "sessions": [event.session_id for event in own],
            },
        )


def window(
    scope: ScopeKey, tx: Transaction, types: Collection[EventType], after: int | None, width: int, limit: int
) -> Window:
    """The first `limit` of the scope's events of these types among the `width` positions after `after`, or after the floor.

    It ends at the last event where there were as many as asked for, else where the positions do. A namespace that does not exist is
    an empty one.
    """
    rows = tx.execute(
        WINDOW,
        {
            "tenant": scope.tenant,
            "namespace": scope.namespace,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
            "filters": None if scope.named.filters is None else json.dumps(scope.named.filters),
            "types": sorted(types),
            "after": after,
            "width": width,
            "limit": limit,
        },
    ).all()
    floor, head = (rows[0].floor, rows[0].head) if rows else (0, 0)
    found = [_stored(row) for row in rows if row.seq is not None]
    reached = min(head, (floor if after is None else after) + width)
    return Window(floor, head, found[-1].seq if len(found) == limit else reached, found)


def _stored(row: Any) -> StoredEvent:
    return StoredEvent(
        row.seq,
        EventType(row.type),
        row.occurred_at,
        row.memory,
        None if row.memory_type is None else MemoryType(row.memory_type),
        row.job,
        row.agent_id,
        row.session_id,
    )


def heads(tenant: int, tx: Transaction, names: Collection[str]) -> dict[str, int]:
    """The position of the last event in each of these namespaces, as far as they exist."""
    return {row.name: row.seq for row in tx.execute(HEADS, {"tenant": tenant, "names": list(names)})}


@unscoped("retention is the same for all")
def expired(tx: Transaction, seconds: float, limit: int) -> list[Feed]:
    """Feeds whose oldest event is older than their policy says, or than `seconds` where it says nothing."""
    rows = tx.execute(EXPIRED, {"seconds": seconds, "limit": limit})
    return [Feed(row.tenant, row.namespace, row.events_floor, float(row.seconds)) for row in rows]


@unscoped("the sweeper has no tenant: the feed names it")
def forget(tx: Transaction, feed: Feed, limit: int) -> int:
    """Delete the feed's events that are older than its `seconds`, at most `limit` and from the oldest on; how many went.

    The counter's row, which writers want, is locked by the last statement.
    """
    key = {"tenant": feed.tenant, "namespace": feed.namespace}
    gone = tx.execute(FORGET, {**key, "floor": feed.floor, "seconds": feed.seconds, "limit": limit}).one()
    if gone.number:
        tx.execute(RAISE_FLOOR, {**key, "floor": gone.last})
    number: int = gone.number
    return number
