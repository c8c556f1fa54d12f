"""Slices: how a namespace is cut, and that a slice costs what is in it, however large the namespace is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from uuid import UUID, uuid4

import pytest
from sqlalchemy import TextClause

from infinicon.domain import Lane, Scope, ScopeKey
from infinicon.ids import new_id
from infinicon.store import jobs, slices, spaces, tenancy
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.test_database_plans import indexes, scans

NIL = UUID(int=0)
NUMBER = 20_000

# Every tenth memory is of another namespace, every seventh is long, and some are not to be indexed.
FILL = (
    """INSERT INTO memories (tenant, id, namespace, type, status, content, created_by)
       SELECT s.tenant, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, s.id, 'atom',
              CASE n %% 11 WHEN 0 THEN 'tombstoned' WHEN 1 THEN 'pending' ELSE 'active' END,
              repeat('word ', CASE n %% 7 WHEN 0 THEN 400 ELSE 10 END), '{"id": "x", "kind": "user"}'
       FROM generate_series(1, 20000) n JOIN namespaces s ON s.name = CASE n %% 10 WHEN 0 THEN 'other' ELSE 'test' END
       WHERE s.tenant = %s""",
    """INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, span_start, span_end, digest, lexemes)
       SELECT m.tenant, m.namespace, e.id, m.id, 0, m.type, 0, 4, sha256(m.id::text::bytea), ARRAY[1, hashtext(m.id::text)]
       FROM memories m, embedding_models e WHERE m.tenant = %s AND e.name = 'of slices'""",
    "INSERT INTO postings SELECT tenant, namespace, unnest(lexemes), row_id, 1, 2 FROM space_rows WHERE tenant = %s",
)


@pytest.fixture(scope="module")
def large(app: Database, owner: Database, sql: Sql) -> Iterator[ScopeKey]:
    with owner.transaction(None) as tx:
        tenant = tenancy.ensure_tenant(tx, f"tenant-{uuid4()}")
    with app.transaction(tenant) as tx:
        namespace, _ = (tenancy.ensure_namespace(tenant, tx, name) for name in ("test", "other"))
    sql("INSERT INTO embedding_models (name, revision, dimension, current) VALUES ('of slices', '1', 64, false)")
    for statement in FILL:
        sql(statement, tenant)
    sql("VACUUM ANALYZE memories, space_rows, postings")
    yield ScopeKey(tenant, namespace, Scope("test-tenant", "test"))
    for table in ("postings", "space_rows", "memories"):
        sql(f"DELETE FROM {table} WHERE tenant = %s", tenant)
    sql("DELETE FROM embedding_models WHERE name = 'of slices'")


@pytest.fixture
def cut(app: Database, large: ScopeKey, sql: Sql) -> Iterator[list[tuple[UUID, UUID, int]]]:
    """The slices of the namespace, in order: bounds and tokens."""
    job = new_id()
    with app.transaction(large.tenant) as tx:
        total = slices.cut(large, tx, job)
        jobs.insert(large, tx, job, jobs.REINDEX, Lane.BULK, None, total)
    rows = sql("SELECT after, upto, tokens FROM queued_episodes WHERE job = %s ORDER BY upto", job)
    assert len(rows) == total
    yield [(after, upto, tokens) for after, upto, tokens in rows]
    sql("DELETE FROM queued_episodes WHERE job = %s", job)
    sql("DELETE FROM jobs WHERE id = %s", job)


def test_slices_cover_every_id_there_is_once_and_none_is_large(
    large: ScopeKey, sql: Sql, cut: list[tuple[UUID, UUID, int]]
) -> None:
    ((last,),) = sql(
        "SELECT id FROM memories WHERE tenant = %s AND namespace = %s ORDER BY id DESC LIMIT 1",
        large.tenant,
        large.namespace,
    )
    assert (cut[0][0], cut[-1][1]) == (NIL, last)
    assert all(upto == after for (_, upto, _), (after, _, _) in pairwise(cut))
    wanted = sql(
        "SELECT id FROM memories WHERE tenant = %s AND namespace = %s AND status IN ('active', 'pending')",
        large.tenant,
        large.namespace,
    )
    bounds = sorted(upto for _, upto, _ in cut)
    held = dict.fromkeys(bounds, 0)
    for (memory,) in wanted:
        held[next(upto for upto in bounds if memory <= upto)] += 1
    assert sum(held.values()) == len(wanted) > NUMBER / 2
    assert max(held.values()) <= slices.MEMORIES + 1
    assert all(1 <= tokens <= slices.TOKENS + 501 for _, _, tokens in cut)
    assert len(cut) < len(wanted) / 20


def test_a_slice_costs_what_is_in_it(app: Database, large: ScopeKey, cut: list[tuple[UUID, UUID, int]]) -> None:
    after, upto, _ = cut[len(cut) // 2]
    bounds = {"tenant": large.tenant, "namespace": large.namespace, "after": after, "upto": upto, "batch": uuid4()}

    def used(statement: TextClause, **more: object) -> set[str]:
        known = {**bounds, **more}
        found = scans(app, large.tenant, statement, {name: known[name] for name in statement.compile().params})
        return indexes([scan for scan in found if not scan[1].startswith("staged_vectors")])  # nothing is staged here

    assert used(slices.PARTS, least=1, tokens=1) & {"memories_pkey", "memories_namespace_idx"}
    assert used(slices.MEMORIES_OF) & {"memories_pkey", "memories_namespace_idx"}
    assert "space_rows_chunk_key" in used(slices.CLEAR)
    assert used(slices.UNPOST, lexemes=[1, 2, 3], rows=[7, 8, 9]) == {"postings_pkey"}
    assert used(slices.OF_BATCH) == used(spaces.HOLD_EPISODES) == {"queued_episodes_batch_idx"}


def test_what_a_slice_is_derived_from_is_what_lives_in_it(
    app: Database, large: ScopeKey, cut: list[tuple[UUID, UUID, int]], sql: Sql
) -> None:
    after, upto, _ = cut[2]
    with app.transaction(large.tenant) as tx:
        found = slices.memories(large.tenant, tx, slices.Slice(large.namespace, after, upto))
    between = sql(
        "SELECT id FROM memories WHERE tenant = %s AND namespace = %s AND id > %s AND id <= %s AND status = 'active' ORDER BY id",
        large.tenant,
        large.namespace,
        after,
        upto,
    )
    assert [memory.id for memory in found] == [row[0] for row in between]
    assert 20 < len(found) <= slices.MEMORIES + 1
