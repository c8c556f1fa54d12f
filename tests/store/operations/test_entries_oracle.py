"""list against a brute-force oracle: random stores, budgets, units, limits, tags, scopes and expiries, with all windows made small."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from infinicon.domain import NIL_ID, MemoryType, Scope, ScopeKey, TokenCounts
from infinicon.operations import entries as operation
from infinicon.operations import prefix
from infinicon.operations.counting import HOST_DEFINED, STORED, Counters
from infinicon.store import bindings, entries, tenancy
from tests.entry_oracle import expected
from tests.store.conftest import Sql
from tests.store.operations.conftest import COUNTERS, Pipeline
from tests.store.operations.entry_worlds import listed

CAP, COUNTED = 8, 3
UNITS = (*STORED, "words")

INSERT: LiteralString = """
    INSERT INTO memories (tenant, namespace, id, type, status, stale, agent_id, session_id, content_type, content, created_by, tags,
                          created_at, expires_at, content_o200k_base, content_cl100k_base, content_chars, content_host, host_counter)
    SELECT %s, %s, id, type, status, stale, agent_id, session_id, 'text/plain', content, '{"id": "x", "kind": "user"}', tags,
           timestamptz '2026-01-01' + make_interval(mins => minute), now() + make_interval(mins => expiry),
           content_o200k_base, content_cl100k_base, content_chars, content_host, host_counter
    FROM jsonb_to_recordset(%s) AS m (id uuid, type text, status text, stale boolean, agent_id text, session_id text, content text,
                                      tags text[], minute integer, expiry integer, content_o200k_base integer,
                                      content_cl100k_base integer, content_chars integer, content_host integer, host_counter text)
"""


class Words:
    """A counter of the host's own."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


HOSTED = Counters(lambda name: Words() if name == "words" else COUNTERS.get(name), "words")


def counters_for(unit: str) -> Counters:
    return HOSTED if unit == "words" else Counters(COUNTERS.get, unit)


@dataclass(frozen=True)
class Row:
    """A memory of a random store. `counted` None: nothing counted it; else as a host with this counter does."""

    id: UUID
    type: str
    status: str
    stale: bool
    agent_id: str | None
    session_id: str | None
    words: int
    tags: list[str]
    minute: int
    expiry: int | None
    counted: str | None

    @property
    def content(self) -> str:
        return " ".join(["tide"] * self.words)

    def wire(self) -> dict[str, Any]:
        counts = TokenCounts() if self.counted is None else counters_for(self.counted).stored(self.content)
        own = {name: getattr(self, name) for name in ("type", "status", "stale", "agent_id", "session_id", "tags")}
        return {
            **own,
            "id": str(self.id),
            "content": self.content,
            "minute": self.minute,
            "expiry": self.expiry,
            "content_o200k_base": counts.o200k_base,
            "content_cl100k_base": counts.cl100k_base,
            "content_chars": counts.chars,
            "content_host": counts.host,
            "host_counter": counts.host_counter,
        }

    def listed_for(self, agent: str | None, session: str | None, tag: str | None) -> bool:
        return (
            self.type != MemoryType.EPISODE
            and self.status == "active"
            and not self.stale
            and (self.expiry is None or self.expiry > 0)
            and agent in {None, self.agent_id}
            and session in {None, self.session_id}
            and (tag is None or tag in self.tags)
        )


ROWS = st.lists(
    st.builds(
        Row,
        id=st.just(NIL_ID),  # each gets its own
        type=st.sampled_from(["atom"] * 6 + ["consolidation", "episode"]),
        status=st.sampled_from(["active"] * 16 + ["disputed", "superseded", "tombstoned", "pending"]),
        stale=st.sampled_from([False] * 19 + [True]),
        agent_id=st.sampled_from([None, "ada", "bo"]),
        session_id=st.sampled_from([None, "s"]),
        words=st.sampled_from([0, 1, 2, 3, 5, 8, 13, 40]),
        tags=st.lists(st.sampled_from(["red", "blue"]), max_size=3),
        minute=st.integers(0, 12),
        expiry=st.sampled_from([None] * 6 + [-5, 0, 60]),
        counted=st.sampled_from([*UNITS, "o200k_base", None]),
    ),
    min_size=25,
    max_size=45,
)
ASKED = st.tuples(
    st.sampled_from(UNITS),
    st.sampled_from([None, 0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 13, 14, 20, 30, 80, 250, 2**53 - 1]),
    st.sampled_from([0, 0, 1, 3, CAP, CAP + 1, 100]),
    st.sampled_from([None, None, "red", "blue", "green"]),
    st.sampled_from([None, None, "ada", "eve"]),
    st.sampled_from([None, None, "s"]),
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, pipeline: Pipeline) -> Iterator[None]:
    """Everything that is long is short; and what budgets are counted in is set back at the end."""
    monkeypatch.setattr(prefix, "MOST_ENTRIES", CAP)
    for module in (prefix, operation):
        monkeypatch.setattr(module, "OVERSIZED_COUNTED", COUNTED)
    for name, value in (("FIRST", 2), ("FIRST_OF_SIZE", 1), ("MOST_OF_SIZE", 4)):
        monkeypatch.setattr(operation, name, value)
    yield
    with pipeline.app.transaction(pipeline.caller.tenant) as tx:
        entries.use_counter(tx, "o200k_base")


def store(pipeline: Pipeline, sql: Sql, name: str, rows: Sequence[Row]) -> ScopeKey:
    """The rows of each counter under that counter, in the order of the counters, as if the host had changed it again and again."""
    tenant = pipeline.caller.tenant
    with pipeline.app.transaction(tenant) as tx:
        namespace = tenancy.ensure_namespace(tenant, tx, name)
    for unit in (None, *UNITS):
        if unit is not None:
            with pipeline.app.transaction(tenant) as tx:
                entries.use_counter(tx, unit)
        sql(INSERT, tenant, namespace, json.dumps([row.wire() for row in rows if row.counted == unit]))
    return ScopeKey(tenant, namespace, Scope(pipeline.caller.tenant_name, name))


@settings(
    max_examples=40,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(rows=ROWS, questions=st.lists(ASKED, min_size=4, max_size=8))
def test_list_is_what_the_oracle_says(
    pipeline: Pipeline, sql: Sql, small: None, rows: list[Row], questions: list[tuple[Any, ...]]
) -> None:
    del small
    rows = [replace(row, id=uuid4()) for row in rows]
    scope = store(pipeline, sql, f"world-{uuid4()}", rows)
    for unit, budget, limit, tag, agent, session in questions:
        pipeline.counters = counters_for(unit)
        with pipeline.app.transaction(scope.tenant) as tx:
            named = Scope(scope.named.tenant_id, scope.named.namespace_id, agent, session)
            bindings.bind(ScopeKey(scope.tenant, scope.namespace, named), tx, "asked")
        ranked = sorted(
            (row for row in rows if row.listed_for(agent, session, tag)), key=lambda row: (row.minute, row.id)
        )
        sizes = [(row.id, pipeline.counters.count(unit, row.content)) for row in reversed(ranked)]
        answer, oversized, cut = expected(sizes, budget, limit, CAP)

        reply = listed(pipeline, "asked", token_budget=budget, limit=limit, tag=tag)

        assert [entry.id for entry in reply.entries] == answer
        assert reply.oversized == min(oversized, COUNTED)
        assert reply.truncated is cut
        assert reply.tokens_used == sum(size for one, size in sizes if one in answer)
        assert reply.token_counter == (HOST_DEFINED if unit == "words" else unit)
