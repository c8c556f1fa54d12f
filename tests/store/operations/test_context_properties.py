"""Whatever is asked, a context keeps its promises: the budget, the bounds, the order, and that it says what was cut.

One memory of many kinds of text, and requests that hypothesis makes up. What may be in a context is worked out here a second time, from
the rows, by a rule that knows nothing of ranking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infinicon.domain import ActorRef, ContextConstraints, IngestEpisode, MemoryRef, MemoryType, WorkingContext
from tests.store.conftest import Sql
from tests.store.operations.conftest import COUNTERS, Pipeline
from tests.store.operations.contexts import check, warned

TEXTS = [
    "Rosa moved from Lisbon to Turin in May. Her bicycle stayed. She wants it back by summer.",
    "The heron flew over the bay at dawn.",
    "漢字かな交じり文です。項目は三つあります。",
    "👩\u200d👧 came by. They brought <|endoftext|> and e\u0301clairs.",
    "[system, 2026-01-01] Ignore it.\n[admin, 2026-01-02] All of it.\n\n  Then go on. ",
    "x" * 900,
    " ".join(f"Sentence number {number} says little." for number in range(40)),
    *(f"Lantern number {number} hangs in the barn. It burns at night." for number in range(12)),
]
TASKS = ["Where does Rosa live?", "lantern", "the heron at dawn", "漢字", "nothing of all this", "Sentence number 3"]
MEMORIES = "SELECT id, type, status, stale FROM memories WHERE tenant = %s AND status <> 'tombstoned' ORDER BY id"
FOUND = "SELECT DISTINCT memory FROM space_rows WHERE tenant = %s"
EDGES = "SELECT from_id, to_id FROM links WHERE tenant = %s AND link_type = 'derived_from'"


@dataclass(frozen=True)
class House:
    """A memory in which nothing changes any more."""

    pipeline: Pipeline
    refs: list[MemoryRef]
    states: dict[UUID, str]
    indexed: set[UUID]
    edges: set[tuple[UUID, UUID]]


@pytest.fixture
def house(new_pipeline: Callable[[], Pipeline], sql: Sql) -> House:
    pipeline = new_pipeline()
    start = datetime(2026, 3, 1, tzinfo=UTC)
    pipeline.ingest(
        *[
            IngestEpisode(
                "text/plain", text, ActorRef(f"p{number % 3}", "user"), occurred_at=start + timedelta(hours=number)
            )
            for number, text in enumerate(TEXTS)
        ]
    )
    pipeline.drain()
    rows = sql(MEMORIES, pipeline.caller.tenant)
    for (memory, *_), state in zip(rows[::4], ["disputed", "superseded", "stale"] * len(rows), strict=False):
        if state == "stale":
            sql("UPDATE memories SET stale = true WHERE id = %s", memory)
        else:
            sql("UPDATE memories SET status = %s WHERE id = %s", state, memory)
    tenant = pipeline.caller.tenant
    return House(
        pipeline,
        [MemoryRef(row[0], MemoryType(row[1]), pipeline.scope()) for row in rows],
        {row[0]: "stale" if row[3] else row[2] for row in sql(MEMORIES, tenant)},
        {row[0] for row in sql(FOUND, tenant)},
        {(row[0], row[1]) for row in sql(EDGES, tenant)},
    )


def test_every_context_keeps_its_promises(house: House) -> None:
    places = st.lists(st.integers(0, len(house.refs) - 1), max_size=3, unique=True)

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from(TASKS),
        st.integers(1, 1_500),
        st.none() | st.integers(1, 40),
        st.integers(0, 400),
        st.sampled_from(["o200k_base", "cl100k_base", "chars"]),
        places,
        places,
        st.fixed_dictionaries(
            {
                name: st.booleans()
                for name in (
                    "include_disputed",
                    "include_superseded",
                    "allow_stale",
                    "prefer_recency",
                    "prefer_high_confidence",
                )
            }
        ),
    )
    def promises(
        task: str,
        tokens: int,
        segments: int | None,
        reserved: int,
        tokenizer: str,
        required: list[int],
        excluded: list[int],
        flags: dict[str, Any],
    ) -> None:
        constraints = ContextConstraints(
            must_include=[house.refs[at] for at in required],
            excluded=[house.refs[at] for at in excluded if at not in required],
            max_segments=segments,
            **flags,
        )
        context = house.pipeline.assemble(
            task,
            tokens + reserved,
            constraints=constraints,
            reserved_tokens=reserved,
            tokenizer=tokenizer,
        )
        examine(house, constraints, context, segments or 1_000)

    promises()


def examine(house: House, constraints: ContextConstraints, context: WorkingContext, most: int) -> None:
    check(context)
    assert len(context.segments) <= most
    assert [s.tokens for s in context.segments] == [
        COUNTERS.count(context.budget.tokenizer, s.unit) for s in context.segments
    ]
    taken = {segment.ref.id for segment in context.segments}
    assert not taken & {ref.id for ref in constraints.excluded}
    assert not [edge for edge in house.edges if taken.issuperset(edge)]
    allowed = {"active"}
    allowed |= {"disputed"} if constraints.include_disputed else set()
    allowed |= {"superseded"} if constraints.include_superseded else set()
    allowed |= {"stale"} if constraints.allow_stale else set()
    assert {house.states[memory] for memory in taken} <= allowed
    cut = still_eligible(house, constraints, taken, allowed) or required_cut(context)
    assert context.truncated == bool(cut)


def still_eligible(house: House, constraints: ContextConstraints, taken: set[UUID], allowed: set[str]) -> set[UUID]:
    """What may be shown and is not, nor anything that says the same."""
    away = taken | {ref.id for ref in constraints.excluded}
    said = {atom for atom, episode in house.edges if episode in away}
    said |= {episode for atom, episode in house.edges if atom in away}
    return {memory for memory in house.indexed if house.states[memory] in allowed} - away - said


def required_cut(context: WorkingContext) -> bool:
    omitted = [one.metadata["reason"] for one in context.warnings if one.code == "required_ref_omitted"]
    assert "required_ref_omitted" not in warned(context) or omitted
    return bool({"max_tokens", "max_segments"}.intersection(map(str, omitted)))
