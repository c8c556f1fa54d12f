"""A list reads about as many rows as it answers with, of a hundred thousand: whatever the budget, the tag, the agent and the session are.

What is counted are the rows that scans give and the pages that they touch, never a clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Connection, Engine, TextClause, event, text

from infinicon.domain import (
    MOST_ENTRIES,
    OVERSIZED_COUNTED,
    Caller,
    ListReply,
    ListRequest,
    Permission,
    Scope,
    ScopeKey,
)
from infinicon.operations import entries as operation
from infinicon.store import bindings, entries, tenancy
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.operations.conftest import COUNTERS, WordEmbedder

NUMBER = 100_000
HOT = (entries.RECENT, entries.BY_SIZE, entries.LOAD)

# 900 to 963 tokens each, but for a few of 7; one in a thousand is tagged. The newest is the first.
FILL = """
    INSERT INTO memories (tenant, id, namespace, type, status, content_type, content, created_by, tags, agent_id, session_id,
                          content_o200k_base, content_cl100k_base, content_chars, created_at)
    SELECT %s, gen_random_uuid(), %s, 'atom', 'active', 'text/plain', 'entry ' || n, '{"id": "x", "kind": "user"}',
           CASE WHEN n %% 997 = 0 THEN '{rare}'::text[] WHEN n %% 3 = 0 THEN '{often}'::text[] ELSE '{}' END,
           CASE WHEN n %% 991 = 0 THEN 'quiet' WHEN n %% 2 = 0 THEN 'busy' END, CASE WHEN n %% 983 = 0 THEN 'short' END,
           CASE WHEN n %% 1000 = 0 THEN 7 ELSE 900 + n %% 64 END, 20, 30, now() - make_interval(secs => n)
    FROM generate_series(1, 100000) n
"""
DERIVE = """
    INSERT INTO entry_rows (tenant, namespace, facet, counter, size, created_at, memory)
    SELECT tenant, namespace, facet, counter, size, created_at, memory FROM derived_entry_rows WHERE tenant = %s
"""


@pytest.fixture(scope="module")
def many(sql: Sql, owner: Database, app: Database) -> Iterator[ScopeKey]:
    name = f"entries-{uuid4()}"
    with owner.transaction(None) as tx:
        tenant = tenancy.ensure_tenant(tx, name)
    with app.transaction(tenant) as tx:
        namespace = tenancy.ensure_namespace(tenant, tx, "many")
    sql("SET session_replication_role = replica")  # the rows of all at once, as a migration makes them
    sql(FILL, tenant, namespace)
    sql("SET session_replication_role = origin")
    sql(DERIVE, tenant)
    sql("VACUUM ANALYZE entry_rows, memories")
    yield ScopeKey(tenant, namespace, Scope(name, "many"))
    sql("DELETE FROM entry_rows WHERE tenant = %s", tenant)
    sql("DELETE FROM memories WHERE tenant = %s", tenant)


class Touched:
    """What the statements of a list touch: they are noted while it runs, and explained afterwards, as the same role."""

    def __init__(self, database: Database, tenant: int) -> None:
        self._database, self._tenant = database, tenant
        self._noted: list[tuple[TextClause, dict[str, Any]]] = []
        self.rows = self.pages = 0

    def note(
        self, _connection: Connection, statement: Any, _many: Any, parameters: dict[str, Any], _options: Any
    ) -> None:
        if statement in HOT:
            self._noted.append((statement, parameters))

    def explain(self) -> None:
        with self._database.transaction(self._tenant) as tx:
            for statement, parameters in self._noted:
                explained = text("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) " + statement.text)
                (plan,) = tx.execute(explained, parameters).scalar_one()
                self.rows += scanned(plan["Plan"])
                self.pages += plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]


def scanned(plan: Mapping[str, Any]) -> int:
    """Rows that came out of scans of tables, and those that a filter threw away."""
    own = 0
    if "Relation Name" in plan:
        own = round((plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"])
    return own + sum(scanned(part) for part in plan.get("Plans", ()))


def read(app: Database, many: ScopeKey, scope: Scope, **wanted: Any) -> tuple[ListReply, Touched]:
    """The answer, and what it took."""
    caller = Caller(many.tenant, many.named.tenant_id, uuid4(), frozenset(Permission))
    ref = f"ref {scope.agent_id} {scope.session_id}"
    with app.transaction(many.tenant) as tx:
        bindings.bind(replace(many, named=scope), tx, ref)
    touched = Touched(app, many.tenant)
    event.listen(Engine, "before_execute", touched.note)
    try:
        reply = operation.list_entries(app, WordEmbedder(), COUNTERS, caller, ListRequest(ref, **wanted))
    finally:
        event.remove(Engine, "before_execute", touched.note)
    touched.explain()
    return reply, touched


WHOLE, BUSY, QUIET, SHORT, BOTH = (
    Scope("t", "many", agent, session)
    for agent, session in ((None, None), ("busy", None), ("quiet", None), (None, "short"), ("busy", "short"))
)


@pytest.mark.parametrize(
    "scope", [WHOLE, BUSY, QUIET, SHORT, BOTH], ids=lambda scope: f"{scope.agent_id}-{scope.session_id}"
)
@pytest.mark.parametrize("tag", [None, "rare", "often"])
@pytest.mark.parametrize(
    "wanted", [{"token_budget": 3_000}, {"limit": 5}, {"limit": 20, "token_budget": 20_000}], ids=str
)
def test_what_fits_is_read_and_little_more(
    app: Database, many: ScopeKey, scope: Scope, tag: str | None, wanted: dict[str, int]
) -> None:
    reply, touched = read(app, many, scope, tag=tag, **wanted)

    assert len(reply.entries) <= touched.rows <= 2 * len(reply.entries) + 2 * operation.FIRST
    assert touched.pages <= 6 * touched.rows + 20


@pytest.mark.parametrize(
    "scope", [WHOLE, BUSY, QUIET, SHORT, BOTH], ids=lambda scope: f"{scope.agent_id}-{scope.session_id}"
)
@pytest.mark.parametrize("tag", [None, "rare", "often"])
def test_a_budget_that_nearly_all_exceed(app: Database, many: ScopeKey, scope: Scope, tag: str | None) -> None:
    reply, touched = read(app, many, scope, tag=tag, token_budget=800)

    assert all(entry.content.endswith("000") for entry in reply.entries)
    assert len(reply.entries) == (100 if (scope, tag) == (WHOLE, None) else len(reply.entries))
    assert reply.oversized <= OVERSIZED_COUNTED
    # What is passed over is looked at once in either table, up to where it is counted; then what fits.
    most = 2 * (OVERSIZED_COUNTED + 300) + 4 * len(reply.entries) + 2 * operation.FIRST
    assert len(reply.entries) <= touched.rows <= most
    assert touched.pages <= 6 * touched.rows + 20


def test_all_of_a_hundred_thousand_are_cut_at_the_cap(app: Database, many: ScopeKey) -> None:
    reply, touched = read(app, many, WHOLE)

    assert (len(reply.entries), reply.truncated) == (MOST_ENTRIES, True)
    assert touched.rows <= 3 * (MOST_ENTRIES + 400)
