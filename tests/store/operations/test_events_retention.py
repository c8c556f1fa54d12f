"""Retention: old events go, and a reader that missed some is told."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest

from infinicon.domain import EventType, MemoryType, Policy
from infinicon.errors import InvalidCursor
from infinicon.operations.events import expire
from infinicon.operations.retention import end_retention
from infinicon.store import events, policies
from infinicon.store.database import Database
from infinicon.store.events import NewEvent
from tests.store.conftest import Sql
from tests.store.operations.feeds import Feed, ids_of
from tests.together import together


@pytest.fixture
def age(sql: Sql, feed: Feed) -> Callable[[int, int], None]:
    """Make the events up to a position so many seconds old."""

    def run(up_to: int, seconds: int) -> None:
        sql(
            "UPDATE events SET occurred_at = now() - make_interval(secs => %s) WHERE namespace = %s AND seq <= %s",
            seconds,
            feed.key.namespace,
            up_to,
        )

    return run


def test_old_events_go_and_their_cursors_with_them(
    feed: Feed, age: Callable[[int, int], None], sweeper: Database, sql: Sql, narrow: None
) -> None:
    written = feed.write(10)
    cursors = [event.cursor for event in feed.page().events]
    age(6, 3600)

    assert expire(sweeper, 1800) >= 6

    assert sql("SELECT events_floor FROM namespace_counters WHERE namespace = %s", feed.key.namespace) == [(6,)]
    assert feed.follow() == written[6:]
    for cursor in cursors[:5]:
        with pytest.raises(InvalidCursor):
            feed.page(cursor)
    assert feed.follow(cursors[5]) == written[6:]  # all that came after it is there
    assert expire(sweeper, 1800) == 0


def test_a_namespaces_own_time_counts_before_the_houses(
    feed: Feed, age: Callable[[int, int], None], sweeper: Database, app: Database
) -> None:
    """Its events go with the next tick of beat, and a cursor of before is refused."""
    written = feed.write(4)
    cursor = feed.page().events[0].cursor
    with app.transaction(feed.key.tenant) as tx:
        policies.write(feed.key, tx, Policy(event_retention_seconds=60))
    age(2, 70)
    age(1, 80)

    assert end_retention(sweeper, 3600, 3600)[1] == 2
    assert feed.follow() == written[2:]
    with pytest.raises(InvalidCursor):
        feed.page(cursor)


def test_a_feed_may_be_forgotten_whole_and_goes_on(
    feed: Feed, age: Callable[[int, int], None], sweeper: Database, narrow: None
) -> None:
    feed.write(9)
    end = feed.page().next_cursor
    age(9, 3600)
    expire(sweeper, 1800)

    assert feed.follow() == []
    assert feed.follow(end) == []
    later = feed.write(2)
    assert feed.follow(end) == feed.follow() == later


def test_a_younger_event_keeps_its_followers(
    feed: Feed, age: Callable[[int, int], None], sweeper: Database, sql: Sql
) -> None:
    """The clock was set back while they were written: a hole in a feed would be a silent skip."""
    written = feed.write(5)
    age(5, 3600)
    sql("UPDATE events SET occurred_at = now() WHERE namespace = %s AND seq = 3", feed.key.namespace)

    expire(sweeper, 1800)

    assert feed.follow() == written[2:]


def test_readers_at_work_are_told_and_never_led_past(
    feed: Feed, age: Callable[[int, int], None], sweeper: Database, narrow: None
) -> None:
    """Whatever the sweeper takes while they page: what they have is a stretch without a hole."""
    written = feed.write(60)
    age(60, 3600)

    def read() -> None:
        for _ in range(10):
            found: list[UUID | None] = []
            try:
                cursor = None
                while True:
                    page = feed.page(cursor, limit=3)
                    found += ids_of(page)
                    cursor = page.next_cursor
                    if not page.more:
                        break
            except InvalidCursor:
                pass
            if found:
                start = written.index(UUID(str(found[0])))
                assert found == written[start : start + len(found)]

    together(read, read, lambda: [expire(sweeper, 1800), None][1])
    assert feed.follow() == []


def test_two_sweepers_take_each_event_once(feed: Feed, age: Callable[[int, int], None], sweeper: Database) -> None:
    feed.write(30)
    age(30, 3600)

    assert sum(together(*[lambda: expire(sweeper, 1800)] * 2)) >= 30
    assert feed.follow(None) == []


def test_writers_do_not_wait_for_what_is_deleted(
    feed: Feed, age: Callable[[int, int], None], sweeper: Database, app: Database
) -> None:
    """The counter, which every writer wants, is the last that forgetting locks."""
    feed.write(3)
    age(3, 3600)
    with sweeper.transaction(None) as tx:
        (own,) = [one for one in events.expired(tx, 1800, 1000) if one.namespace == feed.key.namespace]
        with app.transaction(feed.key.tenant) as writer:
            events.append(
                feed.key.tenant,
                writer,
                [NewEvent(feed.key.namespace, EventType.EPISODE_INGESTED, uuid4(), MemoryType.EPISODE)],
            )
        assert events.forget(tx, own, 100) == 3
    assert len(feed.follow()) == 1
