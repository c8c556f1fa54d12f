"""Positions in a namespace's feed: their order is the order of commits, and none is missing."""

from __future__ import annotations

import random
import threading
import time
from uuid import uuid4

import pytest

from infinicon.domain import EventType, MemoryType, ScopeKey
from infinicon.store import events, tenancy
from infinicon.store.database import Database
from infinicon.store.events import NewEvent
from tests.store.conftest import Sql
from tests.together import together


def event(scope: ScopeKey, namespace: int | None = None) -> NewEvent:
    return NewEvent(namespace or scope.namespace, EventType.EPISODE_INGESTED, uuid4(), MemoryType.EPISODE)


def positions(sql: Sql, scope: ScopeKey) -> list[int]:
    found = sql(
        "SELECT seq FROM events WHERE tenant = %s AND namespace = %s ORDER BY seq", scope.tenant, scope.namespace
    )
    return [row[0] for row in found]


def test_what_is_visible_is_always_the_beginning(app: Database, sql: Sql, scope: ScopeKey) -> None:
    """A reader that polls while 16 write never sees a position before one that comes later: else its cursor would step over it."""
    done = threading.Event()
    seen: list[list[int]] = []

    def read() -> None:
        while not done.is_set():
            seen.append(positions(sql, scope))

    def write() -> None:
        for _ in range(6):
            with app.transaction(scope.tenant) as tx:
                events.append(scope.tenant, tx, [event(scope) for _ in range(random.randint(1, 3))])
                time.sleep(random.uniform(0, 0.004))  # a commit that takes its time, so that others may overtake it

    reader = threading.Thread(target=read)
    reader.start()
    together(*[write] * 16)
    done.set()
    reader.join()

    assert len({len(found) for found in seen}) > 10
    for found in seen:
        assert found == list(range(1, len(found) + 1))
    final = positions(sql, scope)
    assert final == list(range(1, len(final) + 1))
    assert len(final) >= 16 * 6


def test_what_is_rolled_back_leaves_no_gap(app: Database, sql: Sql, scope: ScopeKey) -> None:
    def write(fail: bool) -> None:
        try:
            with app.transaction(scope.tenant) as tx:
                events.append(scope.tenant, tx, [event(scope), event(scope)])
                if fail:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            pass

    for fail in (False, True, False, True, True, False):
        write(fail)
    together(*[lambda: write(True), lambda: write(False)] * 4)

    assert positions(sql, scope) == list(range(1, 2 * 7 + 1))


def test_a_long_transaction_elsewhere_holds_nothing_up(app: Database, sql: Sql, scope: ScopeKey) -> None:
    """Ordering by transaction ids below the oldest running one would show nothing until the long one ends."""
    with app.transaction(scope.tenant) as long_one:
        tenancy.ensure_namespace(scope.tenant, long_one, "written by a long transaction")
        for _ in range(3):
            with app.transaction(scope.tenant) as tx:
                events.append(scope.tenant, tx, [event(scope)])
        assert positions(sql, scope) == [1, 2, 3]


def test_each_namespace_counts_for_itself(app: Database, sql: Sql, scope: ScopeKey) -> None:
    with app.transaction(scope.tenant) as tx:
        other = tenancy.ensure_namespace(scope.tenant, tx, "other")
        events.append(scope.tenant, tx, [event(scope), event(scope, other), event(scope)])

    assert positions(sql, scope) == [1, 2]
    assert positions(sql, ScopeKey(scope.tenant, other, scope.named)) == [1]


def test_order_within_a_transaction_is_the_order_given(app: Database, sql: Sql, scope: ScopeKey) -> None:
    given = [event(scope) for _ in range(50)]
    with app.transaction(scope.tenant) as tx:
        events.append(scope.tenant, tx, given)

    stored = sql("SELECT memory FROM events WHERE tenant = %s ORDER BY seq", scope.tenant)
    assert [row[0] for row in stored] == [one.memory for one in given]


def test_no_event_is_no_write(app: Database, sql: Sql, scope: ScopeKey) -> None:
    with app.transaction(scope.tenant) as tx:
        events.append(scope.tenant, tx, [])

    assert sql("SELECT seq FROM namespace_counters WHERE tenant = %s", scope.tenant) == [(0,)]


@pytest.mark.parametrize("column", ["content", "text", "title", "reason"])
def test_events_have_no_room_for_content(sql: Sql, column: str) -> None:
    columns = sql(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'infinicon' AND table_name = 'events'"
    )

    assert (column,) not in columns
