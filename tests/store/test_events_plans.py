"""A feed is read, and forgotten, by position: however long it is, and however many others there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from infinicon.domain import MEMORY_EVENTS
from infinicon.store import events
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.test_database_plans import scans

TENANTS = "INSERT INTO tenants (name) SELECT %s || n FROM generate_series(1, 20) n"
NAMESPACES = """
    INSERT INTO namespaces (tenant, name) SELECT t.id, n::text FROM tenants t, generate_series(1, 5) n WHERE starts_with(t.name, %s)
"""
COUNTERS = """
    INSERT INTO namespace_counters (tenant, namespace, seq)
    SELECT s.tenant, s.id, 2000 FROM namespaces s JOIN tenants t ON t.id = s.tenant WHERE starts_with(t.name, %s)
"""
EVENTS = """
    INSERT INTO events (tenant, namespace, seq, type, memory, memory_type, occurred_at)
    SELECT s.tenant, s.id, n, 'memory.indexed', gen_random_uuid(), 'atom', now() - make_interval(hours => 2001 - n)
    FROM namespaces s JOIN tenants t ON t.id = s.tenant, generate_series(1, 2000) n WHERE starts_with(t.name, %s)
"""
BY_POSITION = {"events_pkey"}


@pytest.fixture(scope="module")
def feed(sql: Sql) -> Iterator[events.Feed]:
    """One of a hundred feeds of 2,000 events each."""
    prefix = f"feeds-{uuid4()}-"
    for statement in (TENANTS, NAMESPACES, COUNTERS, EVENTS):
        sql(statement, prefix)
    sql("VACUUM ANALYZE events, namespace_counters, namespaces")
    ((tenant, namespace),) = sql(
        "SELECT t.id, min(s.id) FROM tenants t JOIN namespaces s ON s.tenant = t.id WHERE t.name = %s GROUP BY 1",
        prefix + "7",
    )
    yield events.Feed(tenant, namespace, 0, 1800.0)
    sql("DELETE FROM events e USING tenants t WHERE t.id = e.tenant AND starts_with(t.name, %s)", prefix)


def events_read(found: list[tuple[str, str]]) -> set[str]:
    """By which index events are read, or "events" for all of them; counters and namespaces are few, and may be read whole."""
    return {name for _, name in found if name.startswith("events")}


@pytest.mark.parametrize("after", [None, 0, 1990])
@pytest.mark.parametrize("narrowed", [{}, {"agent_id": "a"}, {"filters": "{}"}], ids=str)
def test_a_window(app: Database, feed: events.Feed, after: int | None, narrowed: dict[str, str]) -> None:
    wanted: dict[str, Any] = {"tenant": feed.tenant, "namespace": feed.namespace, "after": after}
    wanted |= {"types": [*MEMORY_EVENTS], "width": 10_000, "limit": 100}
    wanted |= {"agent_id": None, "session_id": None, "filters": None, **narrowed}

    assert events_read(scans(app, feed.tenant, events.WINDOW, wanted)) == BY_POSITION


def test_forgetting(sweeper: Database, feed: events.Feed) -> None:
    wanted = {"tenant": feed.tenant, "namespace": feed.namespace, "floor": 0, "seconds": 3600, "limit": 100}

    assert events_read(scans(sweeper, None, events.FORGET, wanted)) == BY_POSITION


def test_which_feeds_have_old_events(sweeper: Database, feed: events.Feed) -> None:
    """One event of each feed is looked at, and not all of them."""
    assert events_read(scans(sweeper, None, events.EXPIRED, {"seconds": 3600, "limit": 100})) == BY_POSITION
