"""list and get of entries: which there are, and in what order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from infinicon.domain import (
    IngestEpisode,
    MemoryFilters,
    MemoryType,
)
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.entry_worlds import contents, get, listed, put_entry, relevant

ENTRIES = MemoryFilters(types=frozenset({MemoryType.ATOM, MemoryType.CONSOLIDATION}))


def test_what_is_put_is_listed_at_once_and_found_once_it_is_indexed(pipeline: Pipeline) -> None:
    first = put_entry(pipeline, "The heron flew at noon.", tags=["birds"])
    second = put_entry(pipeline, "The boiler is broken.")

    assert list(listed(pipeline).entries) == [second, first]
    assert list(relevant(pipeline, "heron").entries) == []
    pipeline.drain()
    assert contents(relevant(pipeline, "heron")) == ["The heron flew at noon.", "The boiler is broken."]
    assert list(listed(pipeline).entries) == [second, first]
    assert get(pipeline, first.id) == first
    assert pipeline.found("heron") == ["The heron flew at noon.", "The boiler is broken."]


def test_atoms_and_consolidations_and_no_episode_beside_its_atom(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("The heron flew. The boiler is broken.", "Short.")
    pipeline.drain()

    assert sorted(contents(listed(pipeline))) == ["Short.", "The boiler is broken.", "The heron flew."]
    sql(
        """INSERT INTO memories (tenant, id, namespace, type, status, content, created_by)
           SELECT tenant, gen_random_uuid(), namespace, 'consolidation', 'active', 'A summary.', created_by
           FROM memories WHERE tenant = %s LIMIT 1""",
        pipeline.caller.tenant,
    )
    assert contents(listed(pipeline))[0] == "A summary."


@pytest.mark.parametrize(
    "change",
    [
        "status = 'disputed'",
        "status = 'superseded'",
        "status = 'tombstoned'",
        "status = 'failed'",
        "stale = true",
        "expires_at = now()",
        "expires_at = now() - interval '1 hour'",
    ],
)
def test_what_does_not_hold_is_not_listed_and_comes_back_with_its_status(
    pipeline: Pipeline, sql: Sql, change: str
) -> None:
    entry = put_entry(pipeline, "The heron flew.", tags=["birds"])
    pipeline.drain()
    name = change.partition(" ")[0]
    ((before,),) = sql(f"SELECT {name} FROM memories WHERE id = %s", entry.id)

    sql(f"UPDATE memories SET {change} WHERE id = %s", entry.id)
    for reply in (listed(pipeline), listed(pipeline, tag="birds", token_budget=100), relevant(pipeline, "heron")):
        assert contents(reply) == []
    assert get(pipeline, entry.id) is None
    sql(f"UPDATE memories SET {name} = %s WHERE id = %s", before, entry.id)
    for reply in (listed(pipeline), listed(pipeline, tag="birds", token_budget=100), relevant(pipeline, "heron")):
        assert contents(reply) == ["The heron flew."]


def test_rows_are_what_is_derived_whatever_happens_to_memories(pipeline: Pipeline, sql: Sql) -> None:
    tenant = pipeline.caller.tenant
    for number in range(4):
        put_entry(pipeline, f"Put number {number}.", tags=["a"] * (number % 2) + ["b"])
    pipeline.put("The heron flew. The boiler is broken.", scope=pipeline.scope(agent="ada", session="s"))
    pipeline.drain()
    for change in (
        "status = 'superseded' WHERE content LIKE '%%1%%'",
        "tags = tags || '{c}' WHERE type <> 'episode'",
        "content_o200k_base = 77, content = 'Rewritten.' WHERE content LIKE '%%2%%' AND type = 'atom'",
        "updated_at = now() WHERE true",
        "status = 'active' WHERE status = 'superseded'",
        "status = 'tombstoned' WHERE content LIKE '%%3%%'",
        "stale = true WHERE agent_id = 'ada'",
    ):
        sql(f"UPDATE memories SET {change} AND tenant = %s", tenant)
        held = sql(
            "SELECT namespace, facet, counter, size, created_at, memory FROM entry_rows WHERE tenant = %s", tenant
        )
        derived = sql(
            "SELECT namespace, facet, counter, size, created_at, memory FROM derived_entry_rows WHERE tenant = %s",
            tenant,
        )
        assert sorted(held) == sorted(derived) != []


def test_the_order_is_total_where_times_are_equal(pipeline: Pipeline, sql: Sql) -> None:
    made = [put_entry(pipeline, f"Entry {number}.") for number in range(6)]
    sql("UPDATE memories SET created_at = '2026-03-14T09:26:53Z' WHERE tenant = %s", pipeline.caller.tenant)
    sql("DELETE FROM entry_rows WHERE tenant = %s", pipeline.caller.tenant)
    sql("INSERT INTO entry_rows SELECT * FROM derived_entry_rows WHERE tenant = %s", pipeline.caller.tenant)

    newest = [entry.id for entry in reversed(made)]
    assert [entry.id for entry in listed(pipeline).entries] == newest
    assert [entry.id for entry in listed(pipeline, limit=3).entries] == newest[:3]


def test_expiry_is_kept_and_what_is_over_is_passed_by(pipeline: Pipeline) -> None:
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    put_entry(pipeline, "Over.", expires_at=soon - timedelta(hours=2))
    entry = put_entry(pipeline, "Later.", expires_at=soon)

    assert list(listed(pipeline).entries) == [entry]
    assert entry.expires_at == soon
    assert contents(listed(pipeline, token_budget=100)) == ["Later."]


def test_tags_are_exact_and_the_entrys_own(pipeline: Pipeline) -> None:
    put_entry(pipeline, "One.", tags=["blue", "red"])
    put_entry(pipeline, "Two.", tags=["bluegreen"])
    pipeline.ingest(IngestEpisode("text/plain", "Heron.", tags=["first"]))
    pipeline.drain()
    pipeline.ingest(IngestEpisode("text/plain", "Heron.", tags=["second"]))
    pipeline.drain()

    assert contents(listed(pipeline, tag="blue")) == ["One."]
    for other in ("", "Blue", "blu", "green", "red,blue", "x" * 10_000):
        assert contents(listed(pipeline, tag=other)) == contents(relevant(pipeline, "one two", tag=other)) == []
    assert contents(listed(pipeline, tag="first")) == contents(relevant(pipeline, "heron", tag="first")) == ["Heron."]
    assert contents(listed(pipeline, tag="second")) == contents(relevant(pipeline, "heron", tag="second")) == []


def test_relevance_is_the_order_of_query(pipeline: Pipeline) -> None:
    for number in range(30):
        put_entry(pipeline, f"The heron of bay {number % 5} flew {number} miles.", tags=["even"] * (number % 2 == 0))
    pipeline.put("The heron nests on the roof. The tide was out in bay 3.", "A heron, too, has to sleep.")
    pipeline.drain()

    for question in ("Where did the heron of bay 3 fly?", "the", "of in at", "12 miles", "x" * 8_000):
        ranked = [hit.ref.id for hit in pipeline.query(question, 100, filters=ENTRIES).hits]
        reply = relevant(pipeline, question)
        assert [entry.id for entry in reply.entries] == ranked
        assert {entry.id for entry in reply.entries} == {entry.id for entry in listed(pipeline).entries}
        narrow = relevant(pipeline, question, token_budget=40, limit=3)
        assert [entry.id for entry in narrow.entries] == ranked[: len(narrow.entries)] != []
    assert contents(relevant(pipeline, "bay 3")) != contents(listed(pipeline))
    tagged = relevant(pipeline, "bay 3", tag="even", token_budget=60, limit=4)
    whole = [entry for entry in relevant(pipeline, "bay 3").entries if "even" in entry.tags]
    assert list(tagged.entries) == whole[: len(tagged.entries)] != []


def test_ties_in_relevance_are_newest_first(pipeline: Pipeline) -> None:
    made = [put_entry(pipeline, "The same words.") for _ in range(5)]
    pipeline.drain()

    assert [entry.id for entry in relevant(pipeline, "The same words.").entries] == [one.id for one in reversed(made)]
