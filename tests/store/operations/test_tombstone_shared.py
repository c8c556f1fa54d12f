"""tombstone: what others say too is theirs, and nothing of who is gone stays on it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from infinicon.domain import (
    ActorRef,
    Cascade,
    HydrateRequest,
    IngestEpisode,
    MemoryFilters,
    MemoryRef,
    MemoryType,
    TombstoneRequest,
)
from infinicon.operations.hydrate import hydrate
from infinicon.operations.tombstone import tombstone
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline


def test_nothing_of_who_is_gone_stays_on_what_others_say_too(pipeline: Pipeline, sql: Sql) -> None:
    """The statement is Bob's now: by his name, his metadata, his tags and his day."""
    said = "The badger digs deep holes."
    alice = IngestEpisode(
        "text/plain",
        said,
        created_by=ActorRef("alice-erased", "user"),
        metadata={"secret": "erased-17"},
        tags=["taggone"],
        occurred_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    bob = replace(alice, created_by=ActorRef("bob", "user"), metadata={"mine": 1}, tags=["kept"], occurred_at=None)
    first, second = (result.ref for result in pipeline.ingest(alice, bob).results)
    pipeline.drain()
    (atom,) = {row[0] for row in sql("SELECT from_id FROM links WHERE to_id IN (%s, %s)", first.id, second.id)}

    request = TombstoneRequest(first.scope, [first], "asked for", Cascade.TOMBSTONE_DERIVED)
    tombstone(pipeline.app, pipeline.keyring, pipeline.caller, request)
    ref = MemoryRef(atom, MemoryType.ATOM, second.scope)
    (shown,) = hydrate(pipeline.app, pipeline.caller, HydrateRequest(second.scope, [ref])).objects
    assert (shown.created_by.id, shown.metadata, list(shown.tags), shown.occurred_at) == (
        "bob",
        {"mine": 1},
        ["kept"],
        None,
    )
    assert not pipeline.query("badger", filters=MemoryFilters(tags=frozenset({"taggone"}))).hits
    assert not pipeline.query("badger", filters=MemoryFilters(metadata={"secret": "erased-17"})).hits
    (segment,) = pipeline.assemble("badger").segments
    assert segment.who == "bob"
    assert segment.tokens == pipeline.counters.count("o200k_base", segment.unit)
    left = sql(
        "SELECT count(*) FROM memories m WHERE tenant = %s AND m::text ~ 'alice|erased-17|taggone'",
        pipeline.caller.tenant,
    )
    assert left == [(0,)]
