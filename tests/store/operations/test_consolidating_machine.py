"""Any sequence of ingest, consolidate, tombstone, expiry, undo and crash: no fact that somebody still says is lost, nothing derived cites
what is gone without saying so, and the backlog counts what it holds.

A state machine (hypothesis) drives the operations on a real Postgres, with a consolidator that proposes whatever its seed says.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from infinicon.domain import Cascade, MemoryRef, MemoryType, RunRef, TombstoneRequest, Trigger
from infinicon.errors import InvalidRequest, LeaseLost
from infinicon.operations import selecting
from infinicon.operations.expire import expire
from infinicon.operations.tombstone import tombstone
from infinicon.operations.undoing import undo
from infinicon.ports import ConsolidationInput, Digest, Dispute, Duplicate, Plan, Supersession
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.consolidations import Consolidations

STATEMENTS = tuple(
    f"Rosa {what}."
    for what in (
        "lives in Lyon",
        "lives in Turin",
        "lives in Rome",
        "has a blue bicycle",
        "has a green bicycle",
        "sings on Mondays",
        "sings on Fridays",
        "works in a bakery",
    )
)
texts = st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=2, unique=True).map(" ".join)

# Atoms that a living episode says, and that are neither active nor have a living memory that explains why not.
LOST = """
    WITH RECURSIVE above (start, id) AS (
        SELECT l.to_id, l.from_id FROM links l
        WHERE l.tenant = %s AND l.link_type IN ('supersedes', 'corrects', 'same_as') AND l.status = 'active'
        UNION
        SELECT a.start, l.from_id FROM above a JOIN links l ON l.to_id = a.id
        WHERE l.link_type IN ('supersedes', 'corrects', 'same_as') AND l.status = 'active'
    )
    SELECT a.id, a.content, a.status FROM memories a
    WHERE a.tenant = %s AND a.type = 'atom' AND a.status IN ('superseded', 'disputed', 'tombstoned', 'pending', 'failed')
      AND NOT EXISTS (SELECT FROM tombstones t WHERE t.memory = a.id AND t.root)
      AND EXISTS (SELECT FROM links l JOIN memories e ON e.id = l.to_id WHERE l.from_id = a.id AND l.link_type = 'derived_from'
                  AND e.status IN ('active', 'disputed'))
      AND NOT EXISTS (SELECT FROM above u JOIN memories s ON s.id = u.id WHERE u.start = a.id AND s.status IN ('active', 'disputed'))
      AND NOT (a.status = 'disputed' AND EXISTS (
               SELECT FROM links l JOIN memories o ON o.id = CASE WHEN l.from_id = a.id THEN l.to_id ELSE l.from_id END
               WHERE (l.from_id = a.id OR l.to_id = a.id) AND l.link_type = 'contradicts' AND l.status = 'active'
                 AND o.status IN ('active', 'disputed')))
"""
# Derived memories that may be shown, and that cite what is gone.
UNMARKED = """
    SELECT m.id FROM memories m
    WHERE m.tenant = %s AND m.type = 'consolidation' AND m.status IN ('active', 'disputed', 'superseded') AND NOT m.stale
      AND (NOT EXISTS (SELECT FROM links l WHERE l.from_id = m.id AND l.link_type = 'derived_from')
           OR EXISTS (SELECT FROM links l JOIN memories s ON s.id = l.to_id
                      WHERE l.from_id = m.id AND l.link_type = 'derived_from' AND (s.status = 'tombstoned' OR s.stale)))
"""
MISCOUNTED = """
    SELECT s.id, s.waiting, count(b.memory) FILTER (WHERE NOT b.undone) FROM consolidation_scopes s
    LEFT JOIN consolidation_backlog b ON b.tenant = s.tenant AND b.scope = s.id
    WHERE s.tenant = %s GROUP BY s.id, s.waiting HAVING s.waiting <> count(b.memory) FILTER (WHERE NOT b.undone)
"""
WAITING_DEAD = """
    SELECT b.memory FROM consolidation_backlog b JOIN memories m ON m.id = b.memory WHERE b.tenant = %s AND m.status = 'tombstoned'
"""
COUNTED = (
    "SELECT coalesce(sum(index_rows), 0), coalesce(sum(index_lexemes), 0) FROM namespace_counters WHERE tenant = %s"
)
HELD = """
    SELECT (SELECT count(*) FROM space_rows WHERE tenant = %s), (SELECT coalesce(sum(frequency), 0) FROM postings WHERE tenant = %s)
"""
UNINDEXED = """
    SELECT m.id FROM memories m WHERE m.tenant = %s AND m.type = 'consolidation' AND m.status IN ('active', 'superseded', 'disputed')
      AND NOT EXISTS (SELECT FROM space_rows s WHERE s.tenant = m.tenant AND s.memory = m.id)
"""
GAPS = "SELECT count(*) - coalesce(max(seq), 0) FROM events WHERE tenant = %s"


def proposing(seed: int) -> Callable[[ConsolidationInput], Plan]:
    """A valid plan of whatever kind."""

    def plan(request: ConsolidationInput) -> Plan:
        dice = random.Random(seed)
        keys = [one.key for one in request.memories]
        dice.shuffle(keys)
        kind = {one.key: one.type for one in request.memories}
        pairs = list(zip(keys[::2], keys[1::2], strict=False))
        ways = [dice.choice(["none", "supersede", "fold", "dispute"]) for _ in pairs]
        retired = {a for (a, _), way in zip(pairs, ways, strict=True) if way in {"supersede", "fold"}}
        sources = dice.sample(keys, dice.randint(2, len(keys))) if len(keys) >= 2 and dice.random() < 0.7 else []
        old = [
            key
            for key in keys
            if kind[key] is MemoryType.CONSOLIDATION
            and key not in sources
            and key not in retired
            and dice.random() < 0.7
        ]
        return Plan(
            [Digest("T", f"Rosa, says {seed}, of {len(sources)}.", sources, old)] if sources else [],
            [Supersession(a, b, "later") for (a, b), way in zip(pairs, ways, strict=True) if way == "supersede"],
            [
                Dispute(a, b, "values")
                for (a, b), way in zip(pairs, ways, strict=True)
                if way == "dispute" and not {a, b} & set(old)
            ],
            [Duplicate(b, a) for (a, b), way in zip(pairs, ways, strict=True) if way == "fold"],
        )

    return plan


class Machine(RuleBasedStateMachine):
    def __init__(self, pipeline: Pipeline, sql: Sql) -> None:
        super().__init__()
        self.pipeline = pipeline
        self.sql = sql
        self.made = Consolidations(pipeline, proposing(0), memories=4)
        self.episodes: list[MemoryRef] = []
        self.jobs: list[UUID] = []
        self.runs: list[RunRef] = []

    @rule(said=st.lists(texts, min_size=1, max_size=4))
    def ingest(self, said: list[str]) -> None:
        self.episodes += [result.ref for result in self.pipeline.put(*said).results]
        self.pipeline.drain()

    @precondition(lambda self: self.episodes)
    @rule(seed=st.integers(0, 1_000))
    def run(self, seed: int) -> None:
        """From the request to the end."""
        self.made.stub.plan = proposing(seed)
        self.jobs.append(self.made.run().id)

    @precondition(lambda self: self.episodes)
    @rule(seed=st.integers(0, 1_000), trigger=st.sampled_from(list(Trigger)))
    def consolidate(self, seed: int, trigger: Trigger) -> None:
        self.made.stub.plan = proposing(seed)
        self.jobs.append(self.made.ask(trigger=trigger).id)
        self.runs += self.made.published()

    @precondition(lambda self: self.runs)
    @rule(seed=st.integers(0, 1_000))
    def work(self, seed: int) -> None:
        """One slice."""
        self.made.stub.plan = proposing(seed)
        self._work(self.runs.pop(0))

    @precondition(lambda self: self.episodes)
    @rule(seed=st.integers(0, 1_000), place=st.integers(0, 50), cascade=st.sampled_from(list(Cascade)[1:]))
    def delete_meanwhile(self, seed: int, place: int, cascade: Cascade) -> None:
        """One slice, and while the plug-in thinks something of what it thinks about is deleted."""

        def plan(request: ConsolidationInput) -> Plan:
            self.delete_derived(place, cascade)
            self.delete(place, cascade)
            return proposing(seed)(request)

        self.jobs.append(self.made.ask().id)
        self.runs += self.made.published()
        self.made.stub.plan = plan
        if self.runs:
            self._work(self.runs.pop())

    @precondition(lambda self: self.runs)
    @rule()
    def crash(self) -> None:
        """A worker takes a slice and dies; its lease runs out, and it is published again."""
        ref = self.runs.pop(0)

        def dying(_request: ConsolidationInput) -> Plan:
            raise _Died

        self.made.stub.plan = dying
        with contextlib.suppress(_Died, LeaseLost):
            following = self.made.work(ref)
            self.runs += [] if following is None else [following]
        self._find_lost()

    def _work(self, ref: RunRef) -> None:
        with contextlib.suppress(LeaseLost):
            following = self.made.work(ref)
            self.runs += [] if following is None else [following]

    def _find_lost(self) -> None:
        self.sql(
            "UPDATE consolidation_runs SET lease = NULL, lease_until = NULL, not_before = now(), published_at = '-infinity'"
            " WHERE tenant = %s AND state = 'open'",
            self.pipeline.caller.tenant,
        )
        known = {ref.job for ref in self.runs}
        self.runs += [ref for ref in self.made.published(lost=True) if ref.job not in known]

    @precondition(lambda self: self.episodes)
    @rule(place=st.integers(0, 50), cascade=st.sampled_from(list(Cascade)[1:]))
    def delete(self, place: int, cascade: Cascade) -> None:
        self._delete(self.episodes[place % len(self.episodes)], cascade)

    @rule(place=st.integers(0, 50), cascade=st.sampled_from(list(Cascade)[1:]))
    def delete_derived(self, place: int, cascade: Cascade) -> None:
        """A statement or a consolidation: those first that others gave way to."""
        found = self.sql(
            "SELECT id, type FROM memories m WHERE tenant = %s AND type <> 'episode' AND status <> 'tombstoned' ORDER BY"
            " NOT EXISTS (SELECT FROM consolidation_changes c WHERE c.other = m.id AND c.kind <> 'created' AND NOT c.undone), id",
            self.pipeline.caller.tenant,
        )
        if found:
            memory, kind = found[place % min(len(found), 3)]
            self._delete(MemoryRef(memory, MemoryType(kind), self.pipeline.scope()), cascade)

    def _delete(self, ref: MemoryRef, cascade: Cascade) -> None:
        request = TombstoneRequest(self.pipeline.scope(), [ref], "asked for", cascade)
        tombstone(self.pipeline.app, self.pipeline.keyring, self.pipeline.caller, request)

    @precondition(lambda self: self.episodes)
    @rule(place=st.integers(0, 50))
    def run_out(self, place: int) -> None:
        ref = self.episodes[place % len(self.episodes)]
        self.sql("UPDATE memories SET expires_at = now() WHERE id = %s", ref.id)
        expire(self.pipeline.sweeper, self.pipeline.app)

    @precondition(lambda self: self.jobs)
    @rule(place=st.integers(0, 50))
    def take_back(self, place: int) -> None:
        job = self.jobs[place % len(self.jobs)]
        with contextlib.suppress(InvalidRequest):  # it is not over yet
            undo(self.pipeline.app, self.pipeline.caller, self.pipeline.scope(), str(job))

    @precondition(lambda self: self.jobs)
    @rule(place=st.integers(0, 50), again=st.booleans())
    def stop(self, place: int, *, again: bool) -> None:
        job = self.jobs[place % len(self.jobs)]
        self.pipeline.cancel(job)
        if again:
            self.pipeline.retry(job)
            self.runs += self.made.published()

    def teardown(self) -> None:
        tenant = self.pipeline.caller.tenant
        self.pipeline.drain()
        self._invariants(tenant)
        self.made.stub.plan = lambda _: Plan()
        self._find_lost()
        self.runs += self.made.published()
        while self.runs:
            self._work(self.runs.pop(0))
        if self.episodes:
            self.made.run()
        assert self.sql("SELECT count(*) FROM consolidation_backlog WHERE tenant = %s", tenant) == [(0,)]
        assert self.sql("SELECT count(*) FROM consolidation_scopes WHERE tenant = %s AND job IS NOT NULL", tenant) == [
            (0,)
        ]
        self._invariants(tenant)
        for job in self.jobs:
            undo(self.pipeline.app, self.pipeline.caller, self.pipeline.scope(), str(job))
        self._invariants(tenant)
        # All of it taken back: whatever somebody still says is active.
        left = "SELECT count(*) FROM memories WHERE tenant = %s AND type = 'consolidation' AND status <> 'tombstoned'"
        assert self.sql(left, tenant) == [(0,)]
        gave_way = (
            "SELECT count(*) FROM memories WHERE tenant = %s AND status IN ('superseded', 'disputed') AND NOT stale"
        )
        assert self.sql(gave_way, tenant) == [(0,)]

    def _invariants(self, tenant: int) -> None:
        assert self.sql(LOST, tenant, tenant) == []
        assert self.sql(UNMARKED, tenant) == []
        assert self.sql(MISCOUNTED, tenant) == []
        assert self.sql(WAITING_DEAD, tenant) == []
        assert self.sql(UNINDEXED, tenant) == []
        assert self.sql(COUNTED, tenant) == self.sql(HELD, tenant, tenant)
        assert self.sql(GAPS, tenant) == [(0,)]


class _Died(BaseException):
    """What ends a worker without a word."""


def test_no_sequence_loses_a_fact_or_leaves_a_derived_one_unmarked(
    new_pipeline: Callable[[], Pipeline], sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selecting, "NEAR", -1.0)  # everything is compared with everything
    run_state_machine_as_test(
        lambda: Machine(new_pipeline(), sql),  # type: ignore[arg-type]  # a factory will do, hypothesis says
        settings=settings(
            max_examples=8,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            phases=[Phase.generate],  # what fails is seldom small, and takes minutes to make smaller
        ),
    )
