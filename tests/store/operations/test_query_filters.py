"""query under filters: they narrow, they lose nothing, and what passes is ranked as it would be among all."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infinicon.domain import IngestEpisode, Json, MemoryFilters, MemoryType, Status
from infinicon.operations import ranking
from infinicon.store import search, selection
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.filter_oracle import World, contains

EPISODES = frozenset({MemoryType.EPISODE})
ATOMS = frozenset({MemoryType.ATOM})


def asking(**wanted: Any) -> MemoryFilters:
    """Filters with tags as words and metadata as keywords would be too little: as they are."""
    if "tags" in wanted:
        wanted["tags"] = frozenset(wanted["tags"].split())
    return MemoryFilters(**wanted)


def contents(pipeline: Pipeline, question: str, filters: MemoryFilters, limit: int = 50) -> list[str]:
    refs = [hit.ref for hit in pipeline.query(question, limit, filters=filters).hits]
    return [str(pipeline.content(ref)) for ref in refs]


def note(text: str, metadata: Mapping[str, Json] | None = None, tags: str = "", **more: Any) -> IngestEpisode:
    return IngestEpisode("text/plain", text, metadata=metadata or {}, tags=tags.split(), **more)


def test_types(pipeline: Pipeline) -> None:
    pipeline.ingest(note("The heron flew."), note("The heron came back. It was raining."))
    pipeline.drain()

    assert set(contents(pipeline, "heron", asking(types=ATOMS))) == {
        "The heron flew.",
        "The heron came back.",
        "It was raining.",
    }
    # The first of them has no rows of its own, since an atom says all that it says.
    assert set(contents(pipeline, "heron", asking(types=EPISODES))) == {
        "The heron flew.",
        "The heron came back. It was raining.",
    }
    assert contents(pipeline, "heron", asking(types=frozenset({MemoryType.CONSOLIDATION, MemoryType.LINK}))) == []


def test_tags_are_all_there_and_whole(pipeline: Pipeline) -> None:
    pipeline.ingest(
        note("Heron one.", tags="blue red"), note("Heron two.", tags="blue bluegreen"), note("Heron three.")
    )
    pipeline.drain()

    assert set(contents(pipeline, "heron", asking(tags="blue"))) == {"Heron one.", "Heron two."}
    assert contents(pipeline, "heron", asking(tags="blue red")) == ["Heron one."]
    for other in ("Blue", "blu", "green", "red bluegreen"):
        assert contents(pipeline, "heron", asking(tags=other)) == []


def test_metadata_is_contained(pipeline: Pipeline) -> None:
    pipeline.ingest(
        note("Heron one.", {"a": {"b": [1, 2], "c": None}, "d": "x"}),
        note("Heron two.", {"a": {"b": [2]}, "d": True}),
        note("Heron three.", {"a": "b"}),
    )
    pipeline.drain()

    def found(**metadata: Json) -> list[str]:
        return sorted(contents(pipeline, "heron", asking(metadata=metadata)))

    assert found() == ["Heron one.", "Heron three.", "Heron two."]
    assert found(a={"b": [2]}) == ["Heron one.", "Heron two."]
    assert found(a={"c": None}) == ["Heron one."]
    assert found(d="x", a={}) == ["Heron one."]
    assert found(d="true") == found(e=1) == found(a={"b": 2}) == found(d="x' OR true --") == []


def test_who_spoke_is_found_as_it_is_shown(pipeline: Pipeline) -> None:
    turns: Json = {"messages": [{"role": "user", "content": "The heron flew."}, {"role": "rosa", "content": "It did."}]}
    pipeline.ingest(IngestEpisode("application/json", turns))
    pipeline.drain()

    assert contents(pipeline, "heron", asking(metadata={"speaker": "user"})) == ["The heron flew."]
    assert contents(pipeline, "heron", asking(metadata={"speaker": "rosa"})) == ["It did."]


def test_any_living_source_describes_an_atom(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.ingest(note("The heron flew.", {"by": "anna"}, "one"))
    pipeline.drain()
    pipeline.ingest(note("The heron flew.", {"by": "bert"}, "two"))
    pipeline.drain()
    atom = asking(types=ATOMS)

    for tags, by in (("one", "anna"), ("two", "bert")):
        assert contents(pipeline, "heron", replace(atom, tags=frozenset({tags}))) == ["The heron flew."]
        assert contents(pipeline, "heron", replace(atom, metadata={"by": by})) == ["The heron flew."]
        both = replace(atom, metadata={"by": by}, tags=frozenset({tags}))
        assert contents(pipeline, "heron", both) == ["The heron flew."]
    # No source is Anna's and tagged two.
    assert contents(pipeline, "heron", replace(atom, metadata={"by": "anna"}, tags=frozenset({"two"}))) == []
    for dead in ("status = 'tombstoned'", "expires_at = now()", "status = 'failed'"):
        ((own,),) = sql("SELECT id FROM memories WHERE tenant = %s AND tags = '{two}'", pipeline.caller.tenant)
        sql(f"UPDATE memories SET {dead} WHERE id = %s", own)
        assert contents(pipeline, "heron", asking(tags="two")) == []
        sql("UPDATE memories SET status = 'active', expires_at = NULL WHERE id = %s", own)


def test_times_are_the_memorys_own_and_exclusive(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("Heron one. And so on.")
    pipeline.drain()
    moment = datetime(2025, 5, 1, tzinfo=UTC)
    sql("UPDATE memories SET created_at = %s WHERE tenant = %s", moment, pipeline.caller.tenant)
    instant = timedelta(microseconds=1)

    def found(**bounds: datetime) -> bool:
        return contents(pipeline, "heron", asking(**bounds)) != []

    assert found(created_after=moment - instant)
    assert found(created_before=moment + instant)
    assert found(created_after=moment - instant, created_before=moment + instant)
    assert not found(created_after=moment)
    assert not found(created_before=moment)
    assert not found(created_after=moment + instant, created_before=moment - instant)


def test_an_episode_is_found_for_an_atom_that_is_older(pipeline: Pipeline, sql: Sql) -> None:
    """Said again, in whole: the atom is from then, the episode from now, and has no rows of its own."""
    pipeline.put("The heron flew.")
    pipeline.drain()
    sql("UPDATE memories SET created_at = now() - interval '1 year' WHERE tenant = %s", pipeline.caller.tenant)
    again = pipeline.put("The heron flew.").results[0].ref
    pipeline.drain()
    now = asking(created_after=datetime.now(UTC) - timedelta(days=1))

    assert [hit.ref for hit in pipeline.query("heron", filters=now).hits] == [again]
    assert [hit.ref.type for hit in pipeline.query("heron").hits] == [MemoryType.ATOM]
    assert contents(pipeline, "heron", replace(now, types=ATOMS)) == []


@pytest.mark.parametrize("status", ["disputed", "superseded"])
def test_disputed_and_superseded_come_only_when_asked_for_and_say_so(pipeline: Pipeline, sql: Sql, status: str) -> None:
    pipeline.put("The heron flew.", "The heron stays.")
    pipeline.drain()
    sql(
        "UPDATE memories SET status = %s WHERE tenant = %s AND content = 'The heron flew.'",
        status,
        pipeline.caller.tenant,
    )
    every = asking(statuses=frozenset({Status.ACTIVE, Status(status)}))
    reply = pipeline.query("heron", filters=every)

    assert contents(pipeline, "heron", asking()) == ["The heron stays."]
    assert set(contents(pipeline, "heron", every)) == {"The heron flew.", "The heron stays."}
    assert contents(pipeline, "heron", asking(statuses=frozenset({Status(status)}))) == ["The heron flew."]
    (warned,) = [hit for hit in reply.hits if hit.warnings]
    assert [warning.code for warning in warned.warnings] == [f"{status}_memory_included"]
    assert [(warning.code, warning.refs) for warning in reply.warnings] == [(f"{status}_memory_included", [warned.ref])]
    assert list(pipeline.query("heron", filters=asking()).warnings) == []


@pytest.mark.parametrize("status", ["tombstoned", "failed", "pending"])
@pytest.mark.parametrize("kind", ["atom", "episode", "%"])
def test_nothing_asks_for_what_is_gone(pipeline: Pipeline, sql: Sql, status: str, kind: str) -> None:
    """Not even statuses that the wire would have dropped, or the rows of one that is still there."""
    pipeline.put("The heron flew.")
    pipeline.drain()
    sql("UPDATE memories SET status = %s WHERE tenant = %s AND type LIKE %s", status, pipeline.caller.tenant, kind)

    for types in (None, ATOMS, EPISODES):
        hits = pipeline.query("heron", filters=asking(statuses=frozenset(Status), types=types, stale=True)).hits
        assert [hit for hit in hits if kind in {hit.ref.type, "%"}] == []


def test_stale_memories_are_for_contexts(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("The heron flew.", "The heron stays.")
    pipeline.drain()
    sql(
        "UPDATE memories SET stale = true WHERE tenant = %s AND content = 'The heron flew.'",
        pipeline.caller.tenant,
    )

    assert contents(pipeline, "heron", asking()) == ["The heron stays."]
    assert set(contents(pipeline, "heron", asking(stale=True))) == {"The heron flew.", "The heron stays."}


def test_filters_stay_in_the_scope(pipeline: Pipeline) -> None:
    for scope in (pipeline.scope(agent="a"), pipeline.scope(agent="b"), pipeline.scope("elsewhere", agent="a")):
        pipeline.ingest(note(f"The heron belongs to {scope.agent_id}, {scope.namespace_id}.", tags="x"), scope=scope)
    pipeline.drain()
    filters = asking(tags="x")

    def found(namespace: str = "notes", agent: str | None = None) -> set[str]:
        hits = pipeline.query("heron", scope=pipeline.scope(namespace, agent), filters=filters).hits
        return {f"{hit.ref.scope.agent_id} {hit.ref.scope.namespace_id}" for hit in hits}

    assert found() == {"a notes", "b notes"}
    assert found(agent="a") == {"a notes"}
    assert found(namespace="elsewhere") == {"a elsewhere"}
    assert found(namespace="elsewhere", agent="b") == set()


WORDS = ("heron", "boiler", "tide", "lamp", "gate", "rosa")
SCOPE_FILTERS: tuple[dict[str, Json] | None, ...] = (None, {"p": 1}, {"p": 2})
VALUES: tuple[Json, ...] = (1, "x", True, None, [1, 2], {"c": "x"})


def metadata(dice: random.Random) -> dict[str, Json]:
    return {name: dice.choice(VALUES) for name in dice.sample(("a", "b"), dice.randint(0, 2))}


def random_store(pipeline: Pipeline, sql: Sql, seed: int) -> None:
    """Few statements, many sources: in agents, with tags and metadata, of all states and ages."""
    dice = random.Random(seed)
    statements = [f"The {one} is near the {other}." for one in WORDS for other in WORDS[:3]]
    for agent in (None, "ann", "bob"):
        for _ in range(3):
            made = [
                note(
                    " ".join(dice.sample(statements, dice.choice((1, 1, 2)))),
                    metadata(dice),
                    " ".join(dice.sample(("red", "blue", "green"), dice.randint(0, 2))),
                )
                for _ in range(7)
            ]
            scope = pipeline.scope(agent=agent, filters=dice.choice(SCOPE_FILTERS))
            pipeline.ingest(*made, scope=scope)
    pipeline.drain()
    tenant = pipeline.caller.tenant
    for (memory,) in sql("SELECT id FROM memories WHERE tenant = %s ORDER BY id", tenant):
        sql(
            "UPDATE memories SET status = %s, stale = %s, expires_at = %s, created_at = %s WHERE tenant = %s AND id = %s",
            dice.choice(("active",) * 8 + ("disputed", "superseded", "tombstoned", "failed")),
            dice.random() < 0.1,
            datetime.now(UTC) - timedelta(hours=1) if dice.random() < 0.1 else None,
            datetime(2026, 1, dice.randint(1, 10), tzinfo=UTC),
            tenant,
            memory,
        )
    for (link,) in sql("SELECT id FROM links WHERE tenant = %s ORDER BY id", tenant):
        retracted = dice.choice((None,) * 12 + ("disputed", "superseded", "tombstoned"))
        sql("UPDATE links SET retracted = %s WHERE tenant = %s AND id = %s", retracted, tenant, link)


FILTERS = st.builds(
    MemoryFilters,
    types=st.none() | st.frozensets(st.sampled_from(MemoryType), min_size=1),
    statuses=st.frozensets(st.sampled_from(Status)) | st.just(frozenset({Status.ACTIVE})),
    created_after=st.none() | st.integers(0, 10).map(lambda day: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(day)),
    created_before=st.none() | st.integers(0, 10).map(lambda day: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(day)),
    metadata=st.none() | st.dictionaries(st.sampled_from("ab"), st.sampled_from((*VALUES, [2], {})), max_size=2),
    tags=st.frozensets(st.sampled_from(("red", "blue", "pink")), max_size=2),
    stale=st.booleans(),
)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("pool", ["whole", "sifted", "selective"])
def test_the_answer_is_what_looking_at_each_memory_gives(
    pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch, seed: int, pool: str
) -> None:
    random_store(pipeline, sql, seed)
    world = World(pipeline, sql)
    if pool != "whole":
        monkeypatch.setattr(ranking, "POOL", 3)
        monkeypatch.setattr(selection, "FEW_MEMORIES", 0 if pool == "sifted" else 1_000)

    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from(("rosa and the boiler", "heron tide", "the lamp is near the gate", "nothing of this")),
        FILTERS,
        st.sampled_from((None, "ann", "bob")),
        st.sampled_from((None, {"p": 1})),
        st.sampled_from((1, 2, 5, 1_000)),
    )
    def check(
        question: str, filters: MemoryFilters, agent: str | None, own: dict[str, Json] | None, limit: int
    ) -> None:
        scope = pipeline.scope(agent=agent, filters=own)
        answer = world.answer(question, scope, filters)
        reply = pipeline.query(question, limit, scope, filters=filters)
        found = [(hit.ref.id, hit.score) for hit in reply.hits]
        fitting = {memory.id for memory in world.memories.values() if world.passes(memory, scope, filters)}
        assert {memory for memory, _ in found} <= fitting
        if pool == "whole" or len(found) < limit:  # a page that was filled from a part of the rows may rank otherwise
            assert found == answer[:limit]

    check()


def test_the_oracle_knows_containment() -> None:
    assert contains({"a": [1, {"b": 2}], "c": None}, {"a": [{"b": 2}], "c": None})
    assert contains([1, 2], [2, 2])
    assert not contains({"a": True}, {"a": 1})
    assert not contains({"a": 1}, {"a": [1]})


@pytest.fixture
def hidden(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A pool of 20 rows, and 200 memories that rank before everything else. Each entry is a look at the nearest rows."""
    looks: list[str] = []
    nearest = search.nearest

    def counted(*arguments: Any) -> dict[int, float]:
        looks.append("nearest")
        return nearest(*arguments)

    monkeypatch.setattr(ranking, "POOL", 20)
    monkeypatch.setattr(search, "nearest", counted)
    pipeline.ingest(*[note(f"The heron flew over the bay, number {number}.") for number in range(200)])
    return looks


def test_few_are_found_behind_many_at_one_look(pipeline: Pipeline, hidden: list[str]) -> None:
    pipeline.ingest(note("Something about boats.", tags="rare"), note("A lamp.", {"rare": True}, "rare"))
    pipeline.drain()
    question = "the heron flew over the bay"

    for filters in (asking(tags="rare"), asking(tags="rare", types=EPISODES)):
        hidden.clear()
        assert set(contents(pipeline, question, filters, 3)) == {"Something about boats.", "A lamp."}
        assert hidden == ["nearest"]
    assert contents(pipeline, question, asking(metadata={"rare": True}), 3) == ["A lamp."]
    hidden.clear()
    assert contents(pipeline, question, asking(tags="nobody"), 3) == []
    assert hidden == ["nearest"]


def test_who_spoke_and_any_source_are_found_behind_many(pipeline: Pipeline, hidden: list[str]) -> None:
    turns: Json = {
        "messages": [{"role": "user", "content": "A lamp is lit."}, {"role": "rosa", "content": "So it is."}]
    }
    pipeline.ingest(IngestEpisode("application/json", turns))
    pipeline.ingest(note("Some boats are green. Nothing else is."))
    pipeline.drain()
    pipeline.ingest(note("I can say so, too. Some boats are green.", tags="later"))
    pipeline.drain()
    question = "the heron flew over the bay"

    assert contents(pipeline, question, asking(metadata={"speaker": "rosa"}, types=ATOMS), 3) == ["So it is."]
    assert "Some boats are green." in contents(pipeline, question, asking(tags="later", types=ATOMS), 3)
