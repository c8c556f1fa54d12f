"""What entries count, and what a budget is counted in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinicon.errors import MissingDependency, Unavailable
from infinicon.operations.counting import HOST_DEFINED, STORED, Counters
from infinicon.operations.status import look
from infinicon.store import entries
from tests.store.conftest import Sql
from tests.store.operations.conftest import COUNTERS, Pipeline
from tests.store.operations.entry_worlds import contents, listed, put_entry

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "token_count_vectors.json").read_text(encoding="utf-8"))


@pytest.fixture
def counted_in(pipeline: Pipeline) -> Iterator[Callable[[str], None]]:
    """Sets what budgets are counted in, until the test ends."""

    def use(name: str) -> None:
        pipeline.counters = Counters(COUNTERS.get, name)

    yield use
    with pipeline.app.transaction(pipeline.caller.tenant) as tx:
        entries.use_counter(tx, STORED[0])


@pytest.mark.parametrize("unit", ["o200k_base", "cl100k_base", "chars"])
def test_counts_are_those_of_real_encoders(pipeline: Pipeline, counted_in: Callable[[str], None], unit: str) -> None:
    counted_in(unit)
    cases = [case for case in VECTORS if "\x00" not in case["text"]]
    made = {put_entry(pipeline, case["text"]).id: case for case in cases}

    reply = listed(pipeline)
    assert reply.token_counter == unit
    assert [made[entry.id]["text"] for entry in reply.entries] == [entry.content for entry in reply.entries]
    assert reply.tokens_used == sum(case[unit] for case in cases)
    newest = made[reply.entries[0].id]
    assert listed(pipeline, token_budget=newest[unit], limit=1).tokens_used == newest[unit]
    assert reply.entries[0].id not in {one.id for one in listed(pipeline, token_budget=newest[unit] - 1).entries}


def test_huge_contents_are_counted_in_time_that_grows_with_their_length(pipeline: Pipeline) -> None:
    for content in (" " * 1_000_000, "a" * 200_000, "<|endoftext|>" * 1_000, "👨‍👩‍👧‍👦" * 10_000, ""):
        entry = put_entry(pipeline, content)
        ((found),) = listed(pipeline, limit=1).entries
        assert (found.id, found.content) == (entry.id, content)
        assert listed(pipeline, limit=1).tokens_used == COUNTERS.count("o200k_base", content)
    assert len(listed(pipeline).entries) == 5


def test_tags_dates_and_ids_cost_nothing(pipeline: Pipeline, counted_in: Callable[[str], None]) -> None:
    counted_in("chars")
    put_entry(pipeline, "ab", tags=["x" * 256] * 64, expires_at=datetime.now(UTC) + timedelta(days=1))

    assert contents(listed(pipeline, token_budget=2)) == ["ab"]
    assert contents(listed(pipeline, token_budget=1)) == []


def test_a_budget_of_nothing_has_room_for_empty_entries_alone(pipeline: Pipeline) -> None:
    put_entry(pipeline, "")
    put_entry(pipeline, "a")

    reply = listed(pipeline, token_budget=0)
    assert (contents(reply), reply.tokens_used, reply.oversized, reply.truncated) == ([""], 0, 1, False)


def test_a_counter_that_is_missing_takes_the_budget_away_and_nothing_else(pipeline: Pipeline) -> None:
    put_entry(pipeline, "The heron flew.")

    def broken(name: str) -> None:
        raise MissingDependency(f"{name} is not there")

    for counters in (
        Counters(COUNTERS.get, "o200k_base", lambda: ["o200k_base"]),
        Counters(broken, "words"),  # type: ignore[arg-type]  # it never returns
    ):
        pipeline.counters = counters
        reply = listed(pipeline)
        assert (contents(reply), reply.tokens_used, reply.token_counter) == (["The heron flew."], None, None)
        with pytest.raises(Unavailable):
            listed(pipeline, token_budget=100)


def test_what_nobody_counted_is_counted_when_it_is_read(pipeline: Pipeline, sql: Sql) -> None:
    put_entry(pipeline, "The heron flew.")
    sql("UPDATE memories SET content_o200k_base = NULL WHERE tenant = %s", pipeline.caller.tenant)

    size = COUNTERS.count("o200k_base", "The heron flew.")
    assert listed(pipeline, token_budget=size).tokens_used == size
    assert listed(pipeline, token_budget=size - 1).oversized == 1


def test_a_counter_that_was_changed_counts_at_read_until_a_reindex(
    pipeline: Pipeline, counted_in: Callable[[str], None], sql: Sql
) -> None:
    tenant = pipeline.caller.tenant
    texts = ["The heron flew.", "The boiler is broken.", "A", ""]
    for text in texts:
        put_entry(pipeline, text, tags=["t"])
    pipeline.put("Extracted.")
    pipeline.drain()
    assert not uncounted(pipeline)

    pipeline.counters = Counters(lambda name: Words() if name == "words" else COUNTERS.get(name), "words")
    late = put_entry(pipeline, "Counted at once.")
    for _ in range(2):
        reply = listed(pipeline, token_budget=6)
        assert (contents(reply), reply.tokens_used) == (["Counted at once.", "Extracted.", "", "A"], 5)
        assert reply.token_counter == HOST_DEFINED
        pipeline.reindex()
        pipeline.drain()
        held = sql(
            "SELECT namespace, facet, counter, size, created_at, memory FROM entry_rows WHERE tenant = %s", tenant
        )
        derived = sql(
            "SELECT namespace, facet, counter, size, created_at, memory FROM derived_entry_rows WHERE tenant = %s",
            tenant,
        )
        assert sorted(held) == sorted(derived)
        assert not uncounted(pipeline)
    assert sql("SELECT content_host, host_counter FROM memories WHERE id = %s", late.id) == [(3, "words")]

    counted_in("chars")
    assert contents(listed(pipeline, token_budget=16)) == ["Counted at once."]
    assert uncounted(pipeline)
    pipeline.reindex()
    pipeline.drain()
    assert not uncounted(pipeline)
    assert contents(listed(pipeline, token_budget=16)) == ["Counted at once."]


def uncounted(pipeline: Pipeline) -> bool:
    """What `infinicon doctor` is told."""
    caller = pipeline.caller
    return look(pipeline.app, caller, caller.tenant_name, 10, pipeline.counters.budget)[1].uncounted_entries


class Words:
    """A counter of the host's own."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())
