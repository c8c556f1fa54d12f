"""Which memories may be shown: each statement keeps to its scope by itself, whatever rows or ids it is handed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from infinicon.domain import Json, MemoryFilters, MemoryType, Scope, ScopeKey
from infinicon.store import search, selection, tenancy
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.test_database_plans import indexes, scans

LEXEME = 4711
TAGGED = MemoryFilters(tags=frozenset({"x"}))
EPISODES = MemoryFilters(types=frozenset({MemoryType.EPISODE}))

# An episode, an atom that says all of it, and the atom's row; the tag is the episode's alone.
ADD = """
    WITH given (tenant, namespace, model, agent, session, filters) AS (
        VALUES (%s::integer, %s::integer, %s::smallint, %s::text, %s::text, %s::jsonb)
    ), made AS (
        INSERT INTO memories (tenant, namespace, id, type, status, agent_id, session_id, filters, content, created_by, tags)
        SELECT tenant, namespace, gen_random_uuid(), kind, 'active', agent, session, filters, 'c', '{"id": "x", "kind": "user"}',
               CASE kind WHEN 'episode' THEN ARRAY['x'] ELSE '{}' END
        FROM given, (VALUES ('episode'), ('atom')) AS kinds (kind)
        RETURNING id, type
    ), pair AS (
        SELECT e.id AS episode, a.id AS atom FROM made e, made a WHERE e.type = 'episode' AND a.type = 'atom'
    ), linked AS (
        INSERT INTO links (tenant, namespace, id, link_type, from_id, from_type, to_id, to_type, whole)
        SELECT tenant, namespace, gen_random_uuid(), 'derived_from', atom, 'atom', episode, 'episode', true FROM given, pair
    ), placed AS (
        INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, span_start, span_end, digest, lexemes)
        SELECT tenant, namespace, model, atom, 0, 'atom', 0, 1, 'd', ARRAY[4711] FROM given, pair
        RETURNING row_id
    )
    SELECT episode, atom, row_id FROM pair, placed
"""
# What no writer makes: an atom that is told of by episodes of other scopes.
CROSS = """
    INSERT INTO links (tenant, namespace, id, link_type, from_id, from_type, to_id, to_type, whole)
    VALUES (%s, %s, gen_random_uuid(), 'derived_from', %s, 'atom', %s, 'episode', true)
"""


@dataclass(frozen=True)
class Place:
    episode: UUID
    atom: UUID
    row: int


@dataclass(frozen=True)
class Places:
    """A place for each of some scopes, all alike but for where they are."""

    here: ScopeKey
    of: dict[str, Place]

    def scope(
        self, agent: str | None = None, session: str | None = None, filters: dict[str, Json] | None = None
    ) -> ScopeKey:
        return ScopeKey(self.here.tenant, self.here.namespace, Scope("test-tenant", "test", agent, session, filters))


@pytest.fixture
def places(app: Database, scope: ScopeKey, owner: Database, sql: Sql) -> Iterator[Places]:
    ((model,),) = sql(
        "INSERT INTO embedding_models (name, revision, dimension, current) VALUES (%s, '', 3, false) RETURNING id",
        str(uuid4()),
    )
    with app.transaction(scope.tenant) as tx:
        elsewhere = tenancy.ensure_namespace(scope.tenant, tx, "elsewhere")
    with owner.transaction(None) as tx:
        foreign = tenancy.ensure_tenant(tx, f"tenant-{uuid4()}")
        foreign_namespace = tenancy.ensure_namespace(foreign, tx, "test")

    def add(
        tenant: int, namespace: int, agent: str | None = None, session: str | None = None, filters: str | None = None
    ) -> Place:
        ((episode, atom, row),) = sql(ADD, tenant, namespace, model, agent, session, filters)
        return Place(episode, atom, row)

    here = (scope.tenant, scope.namespace)
    of = {
        "plain": add(*here),
        "a": add(*here, "a"),
        "as": add(*here, "a", "s"),
        "s": add(*here, None, "s"),
        "p": add(*here, None, None, '{"p": 1}'),
        "elsewhere": add(scope.tenant, elsewhere),
        "foreign": add(foreign, foreign_namespace),
    }
    for other in ("s", "elsewhere"):
        sql(CROSS, *here, of["a"].atom, of[other].episode)
    yield Places(scope, of)
    sql("DELETE FROM space_rows WHERE model = %s", model)
    sql("DELETE FROM embedding_models WHERE id = %s", model)


SCOPES: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"plain", "a", "as", "s", "p"}),
    ({"agent": "a"}, {"a", "as"}),
    ({"session": "s"}, {"as", "s"}),
    ({"agent": "a", "session": "s"}, {"as"}),
    ({"agent": "b"}, set()),
    ({"filters": {"p": 1}}, {"p"}),
    ({"filters": {"p": 1}, "agent": "a"}, set()),
]


@pytest.mark.parametrize(("parts", "expected"), SCOPES, ids=str)
@pytest.mark.parametrize(("filters", "kind"), [(MemoryFilters(), "atom"), (TAGGED, "atom"), (EPISODES, "episode")])
def test_candidates_stay_in_their_scope(
    app: Database, places: Places, parts: dict[str, Any], expected: set[str], filters: MemoryFilters, kind: str
) -> None:
    rows = [place.row for place in places.of.values()]
    with app.transaction(places.here.tenant) as tx:
        found = selection.candidates(places.scope(**parts), tx, rows, filters)

    assert {candidate.memory for _, candidate in found} == {getattr(places.of[name], kind) for name in expected}


@pytest.mark.parametrize(("parts", "expected"), SCOPES, ids=str)
@pytest.mark.parametrize("filters", [TAGGED, EPISODES])
def test_what_is_selected_is_in_the_namespace_and_misses_nothing(
    app: Database, places: Places, parts: dict[str, Any], expected: set[str], filters: MemoryFilters
) -> None:
    with app.transaction(places.here.tenant) as tx:
        found = selection.selected(places.scope(**parts), tx, filters)

    assert found is not None
    assert {places.of[name].row for name in expected} <= set(found)
    assert {places.of["elsewhere"].row, places.of["foreign"].row}.isdisjoint(found)


@pytest.mark.parametrize(("parts", "expected"), SCOPES, ids=str)
@pytest.mark.parametrize("filters", [MemoryFilters(), TAGGED])
def test_what_was_listed_stays_in_its_scope(
    app: Database, places: Places, parts: dict[str, Any], expected: set[str], filters: MemoryFilters
) -> None:
    with app.transaction(places.here.tenant) as tx:
        for kind in ("atom", "episode"):
            everybody = [getattr(place, kind) for place in places.of.values()]
            found = selection.listed(places.scope(**parts), tx, everybody, filters)
            assert found.keys() == {getattr(places.of[name], kind) for name in expected}


def test_shared_words_are_those_of_the_namespace(app: Database, places: Places) -> None:
    inside = ("plain", "a", "as", "s", "p")
    with app.transaction(places.here.tenant) as tx:
        atoms = search.shared(places.here, tx, [place.atom for place in places.of.values()], [LEXEME, 1])
        episodes = search.shared(places.here, tx, [places.of[name].episode for name in (*inside, "foreign")], [LEXEME])
        assert search.shared(places.here, tx, [places.of["plain"].atom], []) == {}

    assert atoms == {places.of[name].atom: frozenset({LEXEME}) for name in inside}
    assert episodes == {places.of[name].episode: frozenset({LEXEME}) for name in inside}


def test_too_much_to_look_at_each_is_not_selective(
    app: Database, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    with app.transaction(places.here.tenant) as tx:
        monkeypatch.setattr(selection, "FEW_MEMORIES", 4)
        assert selection.selected(places.scope(), tx, TAGGED) is None
        monkeypatch.setattr(selection, "FEW_MEMORIES", 5)
        assert len(selection.selected(places.scope(), tx, TAGGED) or ()) == 5
        monkeypatch.setattr(selection, "FEW_ROWS", 4)
        assert selection.selected(places.scope(), tx, TAGGED) is None


def test_many_without_a_row_are_not_taken_for_none(
    app: Database, places: Places, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The episodes that were looked at first have nothing in the index; others may."""
    sql("DELETE FROM space_rows WHERE tenant = %s", places.here.tenant)
    with app.transaction(places.here.tenant) as tx:
        assert selection.selected(places.scope(), tx, TAGGED) == []
        monkeypatch.setattr(selection, "FEW_MEMORIES", 4)
        assert selection.selected(places.scope(), tx, TAGGED) is None


CROWD = (
    "INSERT INTO tenants (name) SELECT %s || n FROM generate_series(1, 10) n",
    "INSERT INTO namespaces (tenant, name) SELECT id, n::text FROM tenants, generate_series(1, 2) n WHERE starts_with(tenants.name, %s)",
    """INSERT INTO memories (tenant, id, namespace, type, status, content, created_by, content_hmac, metadata, tags)
       SELECT s.tenant, gen_random_uuid(), s.id, k.type, 'active', repeat('word ' || n, 20), '{"id": "x", "kind": "user"}',
              sha256((s.id || '-' || n)::bytea), jsonb_build_object('n', n), ARRAY['t' || n %% 100]
       FROM namespaces s JOIN tenants t ON t.id = s.tenant, generate_series(1, 400) n, (VALUES ('episode'), ('atom')) k (type)
       WHERE starts_with(t.name, %s)""",
    """INSERT INTO links (tenant, id, namespace, link_type, from_id, from_type, to_id, to_type)
       SELECT a.tenant, gen_random_uuid(), a.namespace, 'derived_from', a.id, 'atom', e.id, 'episode'
       FROM memories a
       JOIN memories e ON e.tenant = a.tenant AND e.content_hmac = a.content_hmac AND e.type = 'episode' AND a.type = 'atom'
       JOIN tenants t ON t.id = a.tenant WHERE starts_with(t.name, %s)""",
)
CROWD_ROWS = """
    INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, span_start, span_end, digest, lexemes)
    SELECT m.tenant, m.namespace, %s, m.id, 0, m.type, 0, 4, m.content_hmac, ARRAY[1, 2, 3]
    FROM memories m JOIN tenants t ON t.id = m.tenant WHERE starts_with(t.name, %s)
"""


@pytest.fixture(scope="module")
def crowd(sql: Sql) -> Iterator[ScopeKey]:
    """One namespace of twenty, each with 800 memories."""
    prefix = f"crowd-{uuid4()}-"
    ((model,),) = sql(
        "INSERT INTO embedding_models (name, revision, dimension, current) VALUES (%s, '1', 64, false) RETURNING id",
        prefix,
    )
    for statement in CROWD:
        sql(statement, prefix)
    sql(CROWD_ROWS, model, prefix)
    sql("VACUUM ANALYZE memories, links, space_rows, namespaces")
    ((tenant, namespace),) = sql(
        "SELECT t.id, min(s.id) FROM tenants t JOIN namespaces s ON s.tenant = t.id WHERE t.name = %s GROUP BY 1",
        prefix + "7",
    )
    yield ScopeKey(tenant, namespace, Scope("crowd", "1"))
    for table in ("space_rows", "links", "memories"):
        sql(f"DELETE FROM {table} USING tenants t WHERE t.id = {table}.tenant AND starts_with(t.name, %s)", prefix)


@pytest.mark.parametrize(
    "filters",
    [TAGGED, MemoryFilters(metadata={"n": 7}), MemoryFilters(types=frozenset({MemoryType.CONSOLIDATION})), EPISODES],
    ids=["tags", "metadata", "rare type", "type"],
)
def test_selecting_reads_one_namespace(app: Database, crowd: ScopeKey, filters: MemoryFilters) -> None:
    limits = {"memories": 2_001, "rows": 8_001}
    wanted = {**selection._asked(crowd, filters), **limits}
    found = scans(app, crowd.tenant, selection.SELECTED, wanted)

    read = indexes(found)
    assert "memories_namespace_idx" in read
    assert read <= {"memories_namespace_idx", "links_to_idx", "space_rows_chunk_key", "space_rows_digest_idx"}


def test_shared_words_are_looked_up_by_memory(app: Database, crowd: ScopeKey, sql: Sql) -> None:
    some = [row[0] for row in sql("SELECT id FROM memories WHERE tenant = %s LIMIT 3", crowd.tenant)]
    wanted = {"tenant": crowd.tenant, "namespace": crowd.namespace, "memories": some, "lexemes": [1, 2]}

    assert indexes(scans(app, crowd.tenant, search.SHARED, wanted)) == {"links_to_idx", "space_rows_chunk_key"}
