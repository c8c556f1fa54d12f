"""Entries in the orders in which they are read: newest first, or newest first of each size.

`entry_rows` says where to look, and is as long as it needs to be; `memories` decides about each row. Whatever is asked for, a statement
here touches about as many rows as it answers with (docs/decisions/0014).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import Entry, ScopeKey, TokenCounts
from infinicon.store.database import Transaction, unscoped

Place: TypeAlias = "tuple[datetime, UUID]"
"""Where an entry stands in the order of time: the greater, the newer."""


@dataclass(frozen=True, slots=True)
class Sized:
    """An entry, its place, and what its content counts."""

    id: UUID
    place: Place
    counts: TokenCounts


@dataclass(frozen=True, slots=True)
class Streamed:
    """A row of the entries of one size, or of all ((0, 0)). `lives` False: its time is over, or it has gone meanwhile."""

    stream: tuple[int, int]
    sized: Sized
    lives: bool


CURRENT = text("SELECT name FROM token_counters ORDER BY used_since DESC, id LIMIT 1")
USE = text("""
    INSERT INTO token_counters (name, used_since) VALUES (:name, clock_timestamp())
    ON CONFLICT ON CONSTRAINT token_counters_name_key DO UPDATE SET used_since = clock_timestamp()
""")
# Of each namespace the rows of all its entries, by two probes beside the counter's own, and one for what it could not count.
UNCOUNTED = text("""
    SELECT EXISTS (
        SELECT FROM namespaces n
        WHERE n.tenant = :tenant
          AND (EXISTS (SELECT FROM entry_rows r
                       WHERE r.tenant = :tenant AND r.namespace = n.id AND r.facet = entry_facet(NULL, NULL, NULL)
                         AND r.counter > 0 AND r.counter < :counter)
               OR EXISTS (SELECT FROM entry_rows r
                          WHERE r.tenant = :tenant AND r.namespace = n.id AND r.facet = entry_facet(NULL, NULL, NULL)
                            AND r.counter > greatest(:counter, 0))
               OR EXISTS (SELECT FROM entry_rows r
                          WHERE r.tenant = :tenant AND r.namespace = n.id AND r.facet = entry_facet(NULL, NULL, NULL)
                            AND r.counter = :counter AND r.size = -1)))
""")
NUMBER = text("SELECT id FROM token_counters WHERE name = :name")

# The rows first, as many as are asked for, and then their memories: a planner that thinks few of them live must not read all.
RECENT = text("""
    SELECT 0 AS counter, 0 AS size, r.memory AS id, r.created_at, m.content_o200k_base, m.content_cl100k_base, m.content_chars,
           m.content_host, m.host_counter,
           coalesce(m.namespace = :namespace AND m.type <> 'episode' AND m.status = 'active' AND NOT m.stale AND m.content IS NOT NULL
                    AND (m.expires_at IS NULL OR m.expires_at > now())
                    AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
                    AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)
                    AND (CAST(:tag AS text) IS NULL OR :tag = ANY(m.tags)), false) AS lives
    FROM (SELECT r.memory, r.created_at FROM entry_rows r
          WHERE r.tenant = :tenant AND r.namespace = :namespace
            AND r.facet = entry_facet(CAST(:agent_id AS text), CAST(:session_id AS text), CAST(:tag AS text))
            AND r.counter = 0 AND r.size = 0
            AND (r.created_at, r.memory) < (CAST(:created_at AS timestamptz), CAST(:id AS uuid))
          ORDER BY r.created_at DESC, r.memory DESC LIMIT :limit) r
          LEFT JOIN memories m ON m.tenant = :tenant AND m.id = r.memory
    ORDER BY r.created_at DESC, r.memory DESC
""")

# A loose index scan over the sizes that there are: of the counter that is asked about those up to the budget, and of every other counter
# all, since what they counted says nothing of this one.
BY_SIZE = text("""
    WITH RECURSIVE streams AS (
        (SELECT r.counter, r.size FROM entry_rows r
         WHERE r.tenant = :tenant AND r.namespace = :namespace
           AND r.facet = entry_facet(CAST(:agent_id AS text), CAST(:session_id AS text), CAST(:tag AS text)) AND r.counter > 0
         ORDER BY r.counter, r.size LIMIT 1)
        UNION ALL
        SELECT following.counter, following.size
        FROM streams s,
             LATERAL (SELECT r.counter, r.size FROM entry_rows r
                      WHERE r.tenant = :tenant AND r.namespace = :namespace
                        AND r.facet = entry_facet(CAST(:agent_id AS text), CAST(:session_id AS text), CAST(:tag AS text))
                        AND (r.counter, r.size)
                            > (s.counter, CASE WHEN s.counter = :counter AND s.size >= :budget THEN 2147483647 ELSE s.size END)
                      ORDER BY r.counter, r.size LIMIT 1) following
    )
    SELECT s.counter, s.size, r.memory AS id, r.created_at, m.content_o200k_base, m.content_cl100k_base, m.content_chars, m.content_host,
           m.host_counter,
           coalesce(m.namespace = :namespace AND m.type <> 'episode' AND m.status = 'active' AND NOT m.stale AND m.content IS NOT NULL
                    AND (m.expires_at IS NULL OR m.expires_at > now())
                    AND (CAST(:agent_id AS text) IS NULL OR m.agent_id = :agent_id)
                    AND (CAST(:session_id AS text) IS NULL OR m.session_id = :session_id)
                    AND (CAST(:tag AS text) IS NULL OR :tag = ANY(m.tags)), false) AS lives
    FROM streams s,
         LATERAL (SELECT r.memory, r.created_at FROM entry_rows r
                  WHERE r.tenant = :tenant AND r.namespace = :namespace
                    AND r.facet = entry_facet(CAST(:agent_id AS text), CAST(:session_id AS text), CAST(:tag AS text))
                    AND r.counter = s.counter AND r.size = s.size
                    AND (r.created_at, r.memory) < (CAST(:created_at AS timestamptz), CAST(:id AS uuid))
                  ORDER BY r.created_at DESC, r.memory DESC LIMIT :each) r
         LEFT JOIN memories m ON m.tenant = :tenant AND m.id = r.memory
    WHERE s.counter <> :counter OR s.size <= :budget
""")

SIZES = text("""
    SELECT id, created_at, content_o200k_base, content_cl100k_base, content_chars, content_host, host_counter
    FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[])) AND type <> 'episode' AND status = 'active'
      AND content IS NOT NULL AND (CAST(:tag AS text) IS NULL OR :tag = ANY(tags))
""")

TEXTS = text("""
    SELECT id, content FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[])) AND status = 'active' AND content IS NOT NULL
""")

LOAD = text("""
    SELECT id, content, tags, created_at, expires_at FROM memories
    WHERE tenant = :tenant AND namespace = :namespace AND id = ANY(CAST(:ids AS uuid[]))
      AND type <> 'episode' AND status = 'active' AND NOT stale AND content IS NOT NULL AND (expires_at IS NULL OR expires_at > now())
      AND (CAST(:agent_id AS text) IS NULL OR agent_id = :agent_id)
      AND (CAST(:session_id AS text) IS NULL OR session_id = :session_id)
""")

LAST_ID = UUID(int=2**128 - 1)


@unscoped("what a budget counts is the same for all")
def use_counter(tx: Transaction, name: str) -> None:
    """Rows of entries that are written from now on are for budgets in this counter's unit."""
    if tx.execute(CURRENT).scalar() != name:
        tx.execute(USE, {"name": name})


@unscoped("counters belong to no tenant")
def counter_number(tx: Transaction, name: str) -> int:
    """What rows of entries call the counter; -1 where they do not know it."""
    found: int | None = tx.execute(NUMBER, {"name": name}).scalar()
    return -1 if found is None else found


def uncounted(tenant: int, tx: Transaction, counter: int) -> bool:
    """Whether the tenant has entries that the counter has not counted."""
    found: bool = tx.execute(UNCOUNTED, {"tenant": tenant, "counter": counter}).scalar_one()
    return found


def recent(scope: ScopeKey, tx: Transaction, tag: str | None, before: Place | None, limit: int) -> list[Streamed]:
    """Rows of the scope's entries, of those with the tag where one is given, newest first from behind `before`."""
    return _rows(tx.execute(RECENT, {**_asked(scope, tag), **_behind(before), "limit": limit}))


def by_size(
    scope: ScopeKey, tx: Transaction, tag: str | None, counter: int, budget: int, before: Place | None, each: int
) -> list[Streamed]:
    """The same as streams, one for each size that there is up to the budget, and for what `counter` has not counted: at most `each` rows
    of every stream, newest first."""
    largest = min(budget, 2**31 - 1)
    parameters = {**_asked(scope, tag), **_behind(before), "counter": counter, "budget": largest, "each": each}
    return _rows(tx.execute(BY_SIZE, parameters))


def sizes(scope: ScopeKey, tx: Transaction, tag: str | None, ids: Collection[UUID]) -> dict[UUID, Sized]:
    """Those of the ids that are entries with that tag; a search of this scope has found them."""
    key = {"tenant": scope.tenant, "namespace": scope.namespace, "tag": tag, "ids": list(ids)}
    return {row.id: _sized(row) for row in tx.execute(SIZES, key)}


def texts(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, str]:
    """The contents of entries that are to be counted."""
    if not ids:
        return {}
    rows = tx.execute(TEXTS, {"tenant": scope.tenant, "namespace": scope.namespace, "ids": list(ids)})
    return {row.id: row.content for row in rows}


def load(scope: ScopeKey, tx: Transaction, ids: Collection[UUID]) -> dict[UUID, Entry]:
    """Those of the ids that are entries of the scope now."""
    if not ids:
        return {}
    rows = tx.execute(LOAD, {**_asked(scope, None), "ids": list(ids)})
    return {row.id: Entry(row.id, row.content, row.tags, row.created_at, row.expires_at) for row in rows}


def _asked(scope: ScopeKey, tag: str | None) -> dict[str, Any]:
    return {
        "tenant": scope.tenant,
        "namespace": scope.namespace,
        "agent_id": scope.agent_id,
        "session_id": scope.session_id,
        "tag": tag,
    }


def _behind(place: Place | None) -> dict[str, Any]:
    created_at, memory = ("infinity", LAST_ID) if place is None else place
    return {"created_at": created_at, "id": memory}


def _rows(found: Iterable[Any]) -> list[Streamed]:
    return [Streamed((row.counter, row.size), _sized(row), row.lives) for row in found]


def _sized(row: Any) -> Sized:
    counts = TokenCounts(
        row.content_o200k_base, row.content_cl100k_base, row.content_chars, row.content_host, row.host_counter
    )
    return Sized(row.id, (row.created_at, row.id), counts)
