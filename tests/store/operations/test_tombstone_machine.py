"""Any sequence of ingest, dispatch, stages, crashes, replays, tombstones, corrections and expiry: nothing deleted comes back, a dedupeKey
answers with its original, the feed has no gap and no repeat, and the index counts what it holds.

A state machine (hypothesis) drives the operations on a real Postgres, beside a model that knows what was said and what must be gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from infinicon.domain import (
    MEMORY_EVENTS,
    BatchRef,
    Cascade,
    HydrateRequest,
    IngestEpisode,
    IngestStatus,
    JobStatus,
    Lane,
    MemoryRef,
    Stage,
    SubscribeRequest,
    TombstoneRequest,
    TombstoneStatus,
)
from infinicon.errors import LeaseLost
from infinicon.operations.events import subscribe
from infinicon.operations.expire import expire
from infinicon.operations.export import export
from infinicon.operations.hydrate import hydrate
from infinicon.operations.tombstone import tombstone
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline

STATEMENTS = (
    "The orchard gate code is on the blue tag.",
    "Rosa moved to Turin in March of last year.",
    "The boiler in the cellar was serviced in May.",
    "The green bicycle stayed behind in Lyon in June.",
    "Quokkas eat leaves and sleep during the day.",
)
SUPERSEDED = "SELECT id FROM memories WHERE tenant = %s AND status = 'superseded'"
STALE = "SELECT id FROM memories WHERE tenant = %s AND stale"
COUNTED = """
    SELECT coalesce(sum(index_rows), 0), coalesce(sum(index_lexemes), 0) FROM namespace_counters WHERE tenant = %s
"""
HELD = """
    SELECT (SELECT count(*) FROM space_rows WHERE tenant = %s), (SELECT coalesce(sum(frequency), 0) FROM postings WHERE tenant = %s)
"""
DEAD = """
    SELECT count(*) FROM space_rows s JOIN memories m ON m.tenant = s.tenant AND m.id = s.memory
    WHERE s.tenant = %s AND m.status = 'tombstoned'
"""
KEYS = ("k0", "k1", "k2", "k3", "k4", "k5")
texts = st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=3, unique=True).map(" ".join)


class Machine(RuleBasedStateMachine):
    """`said` is every episode's text by its ref; `gone` are ids that no read may show again."""

    def __init__(self, pipeline: Pipeline, sql: Sql) -> None:
        super().__init__()
        self.pipeline = pipeline
        self.sql = sql
        self.originals: dict[str, tuple[MemoryRef, str]] = {}
        self.said: dict[UUID, tuple[MemoryRef, str]] = {}
        self.gone: set[UUID] = set()
        self.retired: set[UUID] = set()
        self.batches: list[BatchRef] = []
        self.done: list[BatchRef] = []

    @rule(text=texts, key=st.sampled_from(KEYS) | st.none(), old=st.integers(0, 50), supersedes=st.booleans())
    def ingest(self, text: str, key: str | None, old: int, *, supersedes: bool) -> None:
        living = [ref for memory, (ref, _) in self.said.items() if memory not in self.gone]
        targets = [living[old % len(living)]] if supersedes and living else []
        episode = IngestEpisode("text/plain", text, dedupe_key=key, supersedes=targets)
        result = self.pipeline.ingest(episode).results[0]
        if key in self.originals:
            original, was = self.originals[key]
            assert result.ref == original
            deleted = original.id in self.gone
            expected = IngestStatus.DEDUPLICATED if deleted or was == text else IngestStatus.REJECTED
            assert result.status is expected
            assert [warning.code for warning in result.warnings] == (["tombstoned"] if deleted else [])
            return
        assert result.status is IngestStatus.CREATED
        self.said[result.ref.id] = result.ref, text
        self.retired |= {target.id for target in targets}
        if key is not None:
            self.originals[key] = result.ref, text

    @rule(lane=st.sampled_from(list(Lane)))
    def dispatch(self, lane: Lane) -> None:
        self.batches += self.pipeline.claim(lane)

    @precondition(lambda self: self.batches)
    @rule(place=st.integers(0, 50))
    def work(self, place: int) -> None:
        """One stage of one batch."""
        batch = self.batches.pop(place % len(self.batches))
        self.done.append(batch)
        following = {Stage.EXTRACT: self.pipeline.extract, Stage.EMBED: self.pipeline.embed}.get(batch.stage)
        if following is None:
            self.pipeline.index(batch)
        else:
            self.batches.append(following(batch))

    @precondition(lambda self: self.batches)
    @rule(place=st.integers(0, 50))
    def crash(self, place: int) -> None:
        """A worker takes a batch and dies; its lease runs out, and the batch is published again."""
        batch = self.batches.pop(place % len(self.batches))
        with contextlib.suppress(_Died), self.pipeline.leases.stage(batch):
            raise _Died
        self.sql(
            "UPDATE batches SET lease = NULL, lease_until = NULL, attempt = attempt + 1, not_before = now() WHERE id = %s"
            " AND attempt = %s AND state = 'open'",
            batch.batch,
            batch.attempt,
        )
        attempt = self.sql("SELECT attempt FROM batches WHERE id = %s", batch.batch)[0][0]
        self.batches.append(replace(batch, attempt=attempt))

    @precondition(lambda self: self.done)
    @rule(place=st.integers(0, 50))
    def replay(self, place: int) -> None:
        """A message that is delivered twice changes nothing."""
        batch = self.done[place % len(self.done)]
        run: dict[Stage, Callable[[BatchRef], Any]] = {
            Stage.EXTRACT: self.pipeline.extract,
            Stage.EMBED: self.pipeline.embed,
            Stage.INDEX: self.pipeline.index,
        }
        with pytest.raises(LeaseLost):
            run[batch.stage](batch)

    @precondition(lambda self: self.said)
    @rule(place=st.integers(0, 50), cascade=st.sampled_from(list(Cascade)))
    def delete(self, place: int, cascade: Cascade) -> None:
        ref = list(self.said.values())[place % len(self.said)][0]
        request = TombstoneRequest(self.pipeline.scope(), [ref], "asked for", cascade)
        result = tombstone(self.pipeline.app, self.pipeline.keyring, self.pipeline.caller, request).results[0]
        was = TombstoneStatus.ALREADY_TOMBSTONED if ref.id in self.gone else TombstoneStatus.TOMBSTONED
        assert result.status is was
        self.gone.add(ref.id)
        if cascade is Cascade.TOMBSTONE_DERIVED:
            self.gone |= {affected.id for affected in result.affected}

    @precondition(lambda self: self.said)
    @rule(place=st.integers(0, 50))
    def run_out(self, place: int) -> None:
        """Time is over for an episode, and for what it alone says."""
        ref = list(self.said.values())[place % len(self.said)][0]
        self.sql("UPDATE memories SET expires_at = now() WHERE id = %s", ref.id)
        expire(self.pipeline.sweeper, self.pipeline.app)
        self.gone.add(ref.id)
        own = self.sql("SELECT memory FROM tombstones WHERE tenant = %s", self.pipeline.caller.tenant)
        self.gone |= {row[0] for row in own}

    @rule(text=st.sampled_from(STATEMENTS))
    def look(self, text: str) -> None:
        shown = {hit.ref.id for hit in self.pipeline.query(text, 100).hits}
        assert not shown & self.gone

    def teardown(self) -> None:
        for batch in self.batches:
            self.pipeline.run(batch)
        self.pipeline.drain()
        self._nothing_deleted_is_shown()
        self._what_lives_is_found()
        self._the_feed_is_whole()
        self._counts_are_true()

    def _nothing_deleted_is_shown(self) -> None:
        for text in STATEMENTS:
            self.look(text)
        refs = [ref for ref, _ in self.said.values()]
        if refs:
            reply = hydrate(self.pipeline.app, self.pipeline.caller, HydrateRequest(self.pipeline.scope(), refs))
            assert {item.id for item in reply.objects} == self.said.keys() - self.gone
        page, _ = export(
            self.pipeline.app, self.pipeline.keyring, self.pipeline.caller, self.pipeline.scope(), 1000, None
        )
        assert {item.id for item in page} == self.said.keys() - self.gone
        columns = "content IS NULL AND search_text IS NULL AND fingerprint IS NULL AND content_hmac IS NULL AND dedupe_key IS NULL"
        left = f"SELECT count(*) FROM memories WHERE tenant = %s AND status = 'tombstoned' AND NOT ({columns})"
        assert self.sql(left, self.pipeline.caller.tenant) == [(0,)]

    def _what_lives_is_found(self) -> None:
        """Whatever was said and not deleted, retired or made stale is found by its own words."""
        tenant = self.pipeline.caller.tenant
        hidden = self.gone | {row[0] for statement in (STALE, SUPERSEDED) for row in self.sql(statement, tenant)}
        for memory, (_, text) in self.said.items():
            if memory in hidden | self.retired:
                continue
            shown = {hit.ref.id for hit in self.pipeline.query(text, 100).hits}
            told = {row[0] for row in self.sql("SELECT from_id FROM links WHERE to_id = %s", memory)} - hidden
            assert shown & ({memory} | told) or not told

    def _the_feed_is_whole(self) -> None:
        seen: list[tuple[str, UUID]] = []
        cursor: str | None = None
        while True:
            request = SubscribeRequest(self.pipeline.scope(), MEMORY_EVENTS, cursor, 3)
            page = subscribe(self.pipeline.app, self.pipeline.keyring, self.pipeline.caller, request)
            seen += [(event.type, event.ref.id) for event in page.events if event.ref is not None]
            cursor = page.next_cursor
            if not page.more:
                break
        rows = self.sql("SELECT type, memory FROM events WHERE tenant = %s ORDER BY seq", self.pipeline.caller.tenant)
        assert seen == [(row[0], row[1]) for row in rows]
        once = [event for event in seen if event[0] != "memory.disputed"]
        assert len(once) == len(set(once))
        gaps = "SELECT count(*) - coalesce(max(seq), 0) FROM events WHERE tenant = %s"
        assert self.sql(gaps, self.pipeline.caller.tenant) == [(0,)]

    def _counts_are_true(self) -> None:
        tenant = self.pipeline.caller.tenant
        assert self.sql(COUNTED, tenant) == self.sql(HELD, tenant, tenant)
        assert self.sql(DEAD, tenant) == [(0,)]
        assert {job.status for job in self.pipeline.jobs(limit=100).jobs} <= {JobStatus.COMPLETED}
        assert self.sql("SELECT count(*) FROM queued_episodes WHERE tenant = %s", tenant) == [(0,)]
        assert self.sql("SELECT count(*) FROM staged_vectors WHERE tenant = %s", tenant) == [(0,)]


class _Died(Exception):
    """What ends a worker without a word."""


def test_no_sequence_brings_anything_back_or_loses_anything(new_pipeline: Callable[[], Pipeline], sql: Sql) -> None:
    run_state_machine_as_test(
        lambda: Machine(new_pipeline(), sql),  # type: ignore[arg-type]  # a factory will do, hypothesis says
        settings=settings(
            max_examples=12,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
