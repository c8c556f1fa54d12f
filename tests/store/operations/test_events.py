"""subscribe: what a reader gets from a cursor on, and which cursors are refused."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from uuid import UUID

import pytest

from infinicon.domain import EventPage, EventType, MemoryType, Permission, Scope, ScopeKey, SubscribeRequest
from infinicon.errors import InvalidCursor, ScopeMismatch, Unauthorized
from infinicon.operations.events import heads, subscribe
from infinicon.store import tenancy
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.feeds import EVERYTHING, RING, Feed, ids_of
from tests.together import together

INDEXED = (EventType.MEMORY_INDEXED,)


def test_from_the_oldest_on_and_then_from_where_the_last_page_ended(feed: Feed) -> None:
    written = feed.write(5)

    first = feed.page(limit=3)
    second = feed.page(first.next_cursor, limit=3)
    third = feed.page(second.next_cursor, limit=3)

    assert (ids_of(first), first.more) == (written[:3], True)
    assert (ids_of(second), second.more) == (written[3:], False)
    assert (ids_of(third), third.next_cursor) == ([], second.next_cursor)
    later = feed.write(2)
    assert ids_of(feed.page(third.next_cursor)) == later


def test_the_cursor_of_any_event_resumes_behind_it(feed: Feed) -> None:
    written = feed.write(4)
    page = feed.page()

    for place, event in enumerate(page.events):
        assert ids_of(feed.page(event.cursor)) == written[place + 1 :]
    assert [event.cursor for event in page.events] == [event.cursor for event in feed.page(limit=4).events]


def test_an_event_has_all_its_parts_and_times_keep_the_order(feed: Feed) -> None:
    (written,) = feed.write(1, EventType.MEMORY_INDEXED, agent="a")
    feed.write(3)

    page = feed.page()
    event = page.events[0]

    assert (event.type, event.scope) == (EventType.MEMORY_INDEXED, replace(feed.scope, agent_id="a"))
    assert event.ref is not None
    assert (event.ref.id, event.ref.type, event.ref.scope) == (written, MemoryType.EPISODE, event.scope)
    assert [one.occurred_at for one in page.events] == sorted(one.occurred_at for one in page.events)


def test_what_does_not_fit_is_passed_and_not_asked_again(feed: Feed, narrow: None) -> None:
    """Of 40 others a page looks at ten; its cursor says so, with or without an event on it."""
    feed.write(40)
    wanted = feed.write(2, INDEXED[0])
    pages = [feed.page(types=INDEXED)]
    while pages[-1].more and len(pages) < 10:
        pages.append(feed.page(pages[-1].next_cursor, types=INDEXED))

    assert [page.position for page in pages] == [10, 20, 30, 40, 42]
    assert [event for page in pages for event in ids_of(page)] == wanted
    assert ids_of(feed.page(pages[1].next_cursor)) != []  # the same place, for whoever wants all types


def test_a_page_of_several_windows_is_full_before_it_ends(feed: Feed, narrow: None) -> None:
    kinds = [EventType.ATOM_EXTRACTED, *INDEXED]
    written = [feed.write(1, kinds[number % 2])[0] for number in range(10)]

    page = feed.page(limit=4, types=INDEXED)

    assert (ids_of(page), page.position, page.more) == (written[1:9:2], 8, True)


def test_other_types_never_leave(feed: Feed, sql: Sql) -> None:
    sql(
        "INSERT INTO events (tenant, namespace, seq, type) VALUES (%s, %s, 1, 'policy.changed')",
        feed.key.tenant,
        feed.key.namespace,
    )
    sql("UPDATE namespace_counters SET seq = 1 WHERE namespace = %s", feed.key.namespace)
    written = feed.write()

    assert ids_of(feed.page()) == written


def test_an_agent_sees_its_own_events(feed: Feed) -> None:
    own = feed.write(2, agent="a")
    feed.write(2)
    feed.write(2, agent="b")
    scope = replace(feed.scope, agent_id="a")

    page = feed.page(scope=scope)

    assert ids_of(page) == own
    assert feed.page(page.next_cursor, scope=scope).events == []
    assert feed.page(scope=replace(scope, session_id="s")).events == []
    assert len(feed.page().events) == 6


def test_filters_of_a_scope_are_matched_by_containment(pipeline: Pipeline) -> None:
    for project in ("apollo", "gemini"):
        pipeline.put(f"A note of {project}.", scope=pipeline.scope(filters={"project": project, "year": 1970}))
    pipeline.drain()
    everything = page_of(pipeline)
    part = page_of(pipeline, pipeline.scope(filters={"project": "apollo"}))

    assert len(part.events) * 2 == len(everything.events) > 0
    assert part.position == everything.position


def page_of(pipeline: Pipeline, scope: Scope | None = None) -> EventPage:
    return subscribe(pipeline.app, pipeline.keyring, pipeline.caller, SubscribeRequest(scope or pipeline.scope()))


def test_each_moment_of_an_episode_is_one_event_that_names_its_job(pipeline: Pipeline) -> None:
    first = pipeline.put("The heron flew.", "The tide was out. The boats lay on the mud.")
    pipeline.drain()
    again = pipeline.put("The heron flew.")  # the same statement: an episode of its own, and no second atom
    pipeline.drain()

    found = page_of(pipeline).events

    moments = [(event.type, event.ref.id) for event in found if event.ref]
    assert len(moments) == len(set(moments)) == len(found)
    kinds = [event.type for event in found]
    episodes = {result.ref.id for reply in (first, again) for result in reply.results}
    atoms = {event.ref.id for event in found if event.ref and event.ref.type is MemoryType.ATOM}
    assert kinds.count(EventType.EPISODE_INGESTED) == 3
    assert kinds.count(EventType.ATOM_EXTRACTED) == len(atoms) == 3
    assert {event.ref.id for event in found if event.ref and event.type is INDEXED[0]} == episodes | atoms
    assert {event.job for event in found} == {first.job_id, again.job_id}
    for event in found:
        if event.ref and event.ref.id == again.results[0].ref.id:
            assert event.job == again.job_id


def test_a_namespace_that_is_not_there_yet_is_an_empty_one(feed: Feed) -> None:
    scope = replace(feed.scope, namespace_id="later")
    page = feed.page(scope=scope)
    with feed.app.transaction(feed.key.tenant) as tx:
        later = tenancy.ensure_namespace(feed.key.tenant, tx, "later")
    written = Feed(feed.app, ScopeKey(feed.key.tenant, later, scope)).write(2)

    assert (page.events, page.more) == ([], False)
    assert ids_of(feed.page(page.next_cursor, scope=scope)) == written
    assert heads(feed.app, feed.key.tenant, ["later", "test", "never"]) == {"later": 2, "test": 0}


def test_a_reader_misses_nothing_while_sixteen_write(feed: Feed) -> None:
    """It resumes from a cursor all the time: one position that becomes visible late would be stepped over."""
    done, seen, written = threading.Event(), list[UUID | None](), list[UUID]()

    def read() -> None:
        cursor, last = None, False
        while not last:
            last = done.is_set()
            page = feed.page(cursor, limit=7)
            seen.extend(ids_of(page))
            cursor = page.next_cursor
            last = last and not page.more

    def write() -> None:
        for _ in range(6):
            time.sleep(random.uniform(0, 0.003))
            written.extend(feed.write(random.randint(1, 3)))

    reader = threading.Thread(target=read)
    reader.start()
    together(*[write] * 16)
    done.set()
    reader.join(30)

    assert len(seen) == len(set(seen))
    assert set(seen) == set(written)


def test_a_long_transaction_elsewhere_stalls_nobody(feed: Feed) -> None:
    with feed.app.transaction(feed.key.tenant) as long_one:
        tenancy.ensure_namespace(feed.key.tenant, long_one, "written by a long transaction")
        written = feed.write(3)
        assert ids_of(feed.page()) == written


@pytest.mark.parametrize("shift", [1, 1000])
def test_a_cursor_behind_the_last_event_is_refused(feed: Feed, sql: Sql, shift: int) -> None:
    """A backup was restored: silence until the feed has caught up would lose what happens meanwhile."""
    feed.write(5)
    cursor = feed.page().next_cursor
    sql("DELETE FROM events WHERE namespace = %s AND seq > %s", feed.key.namespace, 5 - min(shift, 5))
    sql("UPDATE namespace_counters SET seq = %s WHERE namespace = %s", max(0, 5 - shift), feed.key.namespace)

    with pytest.raises(InvalidCursor):
        feed.page(cursor)


@pytest.mark.parametrize("part", ["namespace_id", "agent_id", "session_id"])
def test_a_cursor_of_another_scope_is_refused(feed: Feed, part: str) -> None:
    feed.write(2)
    named = {"tenant_id": feed.scope.tenant_id, "namespace_id": feed.scope.namespace_id, part: "other"}
    elsewhere = Scope(named["tenant_id"], named["namespace_id"], named.get("agent_id"), named.get("session_id"))

    for here, there in ((feed.scope, elsewhere), (elsewhere, feed.scope)):
        with pytest.raises(ScopeMismatch):
            feed.page(feed.page(scope=here).next_cursor, scope=there)


def test_a_key_needs_the_permission_the_tenant_and_the_namespace(feed: Feed) -> None:
    others = (
        replace(feed.caller, permissions=EVERYTHING - {Permission.SUBSCRIBE, Permission.ADMIN}),
        replace(feed.caller, tenant_name="another"),
        replace(feed.caller, namespaces=frozenset()),
    )
    for caller in others:
        with pytest.raises(Unauthorized) as caught:
            subscribe(feed.app, RING, caller, SubscribeRequest(feed.scope))
        assert caught.value.authenticated
    allowed = replace(feed.caller, permissions=frozenset({Permission.SUBSCRIBE}))
    assert subscribe(feed.app, RING, allowed, SubscribeRequest(feed.scope)).events == []
