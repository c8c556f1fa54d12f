"""What a caller requires, excludes, allows and prefers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from infinicon.domain import (
    Cascade,
    ContextConstraints,
    IngestEpisode,
    MemoryFilters,
    MemoryRef,
    MemoryType,
    Scope,
    Status,
    TombstoneRequest,
    WorkingContext,
)
from infinicon.operations.tombstone import tombstone
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.contexts import DAY, FACTS, check, contents, ref_of, warned


class TestRequired:
    """mustIncludeRefs and excludedRefs."""

    @pytest.fixture
    def known(self, pipeline: Pipeline) -> WorkingContext:
        pipeline.put(*FACTS)
        pipeline.drain()
        return pipeline.assemble("the heron")

    def test_it_is_there_first_and_costs_its_tokens(self, pipeline: Pipeline, known: WorkingContext) -> None:
        wanted = ref_of(known, FACTS[3])
        context = pipeline.assemble("the heron", 40, constraints=ContextConstraints(must_include=[wanted]))

        check(context)
        assert FACTS[3] in contents(context)
        assert "required_ref_omitted" not in warned(context)
        one = pipeline.assemble("the heron", constraints=ContextConstraints(must_include=[wanted]), max_segments=1)
        assert contents(one) == [FACTS[3]]

    def test_what_is_not_found_is_all_alike(
        self, pipeline: Pipeline, known: WorkingContext, new_pipeline: Callable[[], Pipeline], sql: Sql
    ) -> None:
        real = ref_of(known, FACTS[0])
        gone = ref_of(known, FACTS[1])
        foreign = new_pipeline()
        foreign.put("A secret of others.")
        foreign.drain()
        other = foreign.assemble("secret").segments[0].ref
        tombstone(
            pipeline.app,
            pipeline.keyring,
            pipeline.caller,
            TombstoneRequest(pipeline.scope(), [gone], "x", Cascade.NONE),
        )
        expired = ref_of(known, FACTS[4])
        sql("UPDATE memories SET expires_at = now() - interval '1 s' WHERE id = %s", expired.id)
        refs = [
            MemoryRef(uuid4(), MemoryType.ATOM, pipeline.scope()),
            replace(real, type=MemoryType.EPISODE),
            replace(real, scope=pipeline.scope("elsewhere")),
            replace(real, scope=pipeline.scope(agent="other")),
            MemoryRef(other.id, other.type, pipeline.scope()),
            gone,
            expired,
        ]
        for ref in refs:
            context = pipeline.assemble("the heron", constraints=ContextConstraints(must_include=[ref]))
            warning = warned(context)["required_ref_omitted"]
            assert (list(warning.refs), warning.metadata) == ([ref], {"reason": "not_found"})
            assert not context.truncated
            assert {FACTS[1], FACTS[4], "A secret of others."}.isdisjoint(contents(context))

    def test_what_is_too_large_or_too_many_is_cut(self, pipeline: Pipeline, known: WorkingContext) -> None:
        refs = [segment.ref for segment in known.segments]
        small = pipeline.assemble("the heron", 5, constraints=ContextConstraints(must_include=refs[:1]))
        assert warned(small)["required_ref_omitted"].metadata == {"reason": "max_tokens"}
        assert small.truncated

        few = pipeline.assemble("the heron", max_segments=2, constraints=ContextConstraints(must_include=refs))
        check(few)
        warning = warned(few)["required_ref_omitted"]
        assert warning.metadata == {"reason": "max_segments"}
        assert list(warning.refs) == refs[2:]
        assert few.truncated

    def test_filters_do_not_hold_for_it(self, pipeline: Pipeline, known: WorkingContext) -> None:
        wanted = ref_of(known, FACTS[3])
        context = pipeline.assemble(
            "the heron",
            filters=MemoryFilters(tags=frozenset({"none has it"})),
            constraints=ContextConstraints(must_include=[wanted]),
        )

        assert contents(context) == [FACTS[3]]
        assert context.segments[0].score == 0
        assert context.segments[0].reason == "required by the caller"

    def test_of_an_atom_and_its_episode_the_first_is_taken(self, pipeline: Pipeline) -> None:
        (result,) = pipeline.put("Rosa moved to Turin. Her bicycle stayed in Lyon.").results
        pipeline.drain()
        atoms = [
            s.ref for s in pipeline.assemble("Rosa", filters=MemoryFilters(types=frozenset({MemoryType.ATOM}))).segments
        ]

        for refs in ([result.ref, *atoms], [*atoms, result.ref]):
            context = pipeline.assemble("Rosa", constraints=ContextConstraints(must_include=refs))
            warning = warned(context)["required_ref_omitted"]
            assert warning.metadata == {"reason": "double"}
            taken = {segment.ref.id for segment in context.segments}
            assert refs[0].id in taken
            assert {ref.id for ref in warning.refs} == {ref.id for ref in refs} - taken
            assert not context.truncated

    def test_what_is_excluded_is_not_there_and_nothing_that_says_the_same(self, pipeline: Pipeline) -> None:
        (result,) = pipeline.put("Rosa moved to Turin. Her bicycle stayed in Lyon.").results
        pipeline.put(*FACTS)
        pipeline.drain()
        episode = result.ref
        context = pipeline.assemble("Rosa moved to Turin", constraints=ContextConstraints(excluded=[episode]))
        assert set(contents(context)) == set(FACTS)
        assert not context.truncated

        atom = ref_of(
            pipeline.assemble("Turin", filters=MemoryFilters(types=frozenset({MemoryType.ATOM}))),
            "Rosa moved to Turin.",
        )
        context = pipeline.assemble("Rosa moved to Turin", constraints=ContextConstraints(excluded=[atom]))
        assert set(contents(context)) == {*FACTS, "Her bicycle stayed in Lyon."}
        assert not context.truncated

    def test_what_is_excluded_wins_over_what_is_required(self, pipeline: Pipeline) -> None:
        (result,) = pipeline.put("Rosa moved to Turin. Her bicycle stayed in Lyon.").results
        pipeline.drain()
        atoms = pipeline.assemble("Turin", filters=MemoryFilters(types=frozenset({MemoryType.ATOM})))
        atom = ref_of(atoms, "Rosa moved to Turin.")
        for required, excluded in ((atom, result.ref), (result.ref, atom)):
            constraints = ContextConstraints(must_include=[required], excluded=[excluded])
            context = pipeline.assemble("Turin", constraints=constraints)

            assert {required.id, excluded.id}.isdisjoint(segment.ref.id for segment in context.segments)
            warning = warned(context)["required_ref_omitted"]
            assert (list(warning.refs), warning.metadata) == ([required], {"reason": "excluded"})
            assert not context.truncated

    def test_each_wrong_ref_to_the_same_id_is_named(self, pipeline: Pipeline, known: WorkingContext) -> None:
        real = ref_of(known, FACTS[0])
        wrong = [replace(real, type=MemoryType.EPISODE), replace(real, scope=Scope("other", "notes"))]
        for refs in ([*wrong, *wrong, real], [real, *wrong, real]):
            context = pipeline.assemble("the heron", constraints=ContextConstraints(must_include=refs))
            assert list(warned(context)["required_ref_omitted"].refs) == wrong
            assert contents(context).count(FACTS[0]) == 1


SET_STATUS = "UPDATE memories SET status = %s WHERE tenant = %s AND id = %s"


class TestStates:
    """What is disputed, superseded or stale is there only where the caller allows it, and says so."""

    @pytest.fixture
    def marked(self, pipeline: Pipeline, sql: Sql) -> dict[str, MemoryRef]:
        pipeline.put(*FACTS)
        pipeline.drain()
        context = pipeline.assemble("the heron")
        refs = {
            name: ref_of(context, fact) for name, fact in zip(("disputed", "superseded", "stale"), FACTS, strict=False)
        }
        for name in ("disputed", "superseded"):
            sql(SET_STATUS, name, pipeline.caller.tenant, refs[name].id)
        sql("UPDATE memories SET stale = true WHERE id = %s", refs["stale"].id)
        return refs

    @pytest.mark.parametrize(
        ("name", "constraint", "code"),
        [
            ("disputed", "include_disputed", "disputed_memory_included"),
            ("superseded", "include_superseded", "superseded_memory_included"),
            ("stale", "allow_stale", "stale_consolidation"),
        ],
    )
    def test_only_where_it_is_allowed(
        self, pipeline: Pipeline, marked: dict[str, MemoryRef], name: str, constraint: str, code: str
    ) -> None:
        plain = pipeline.assemble("the heron")
        assert not {ref.id for ref in marked.values()} & {segment.ref.id for segment in plain.segments}
        assert not plain.truncated
        omitted = pipeline.assemble("the heron", constraints=ContextConstraints(must_include=[marked[name]]))
        assert warned(omitted)["required_ref_omitted"].metadata == {"reason": name}

        for must in ([], [marked[name]]):
            allowed = ContextConstraints(**{constraint: True}, must_include=must)  # type: ignore[arg-type] # they are flags
            context = pipeline.assemble("the heron", constraints=allowed)
            check(context)
            assert {segment.ref.id for segment in context.segments} & {ref.id for ref in marked.values()} == {
                marked[name].id
            }
            assert [ref.id for ref in warned(context)[code].refs] == [marked[name].id]
            assert "required_ref_omitted" not in warned(context)

    def test_filters_allow_it_as_well(self, pipeline: Pipeline, marked: dict[str, MemoryRef]) -> None:
        filters = MemoryFilters(statuses=frozenset({Status.DISPUTED}))
        context = pipeline.assemble("the heron", filters=filters)

        assert [segment.ref.id for segment in context.segments] == [marked["disputed"].id]
        assert "disputed_memory_included" in warned(context)


def test_a_tombstone_is_in_no_context_whatever_is_asked(pipeline: Pipeline) -> None:
    pipeline.put(*FACTS)
    pipeline.drain()
    gone = ref_of(pipeline.assemble("the heron"), FACTS[0])
    tombstone(
        pipeline.app, pipeline.keyring, pipeline.caller, TombstoneRequest(pipeline.scope(), [gone], "x", Cascade.NONE)
    )
    everything = ContextConstraints(
        must_include=[gone], include_disputed=True, include_superseded=True, allow_stale=True
    )
    context = pipeline.assemble("the heron", constraints=everything, filters=MemoryFilters(statuses=frozenset(Status)))

    assert FACTS[0] not in contents(context)
    assert set(warned(context)) == {"required_ref_omitted"}


def test_newer_memory_is_preferred_where_it_is_asked_for(pipeline: Pipeline) -> None:
    pipeline.ingest(
        *[
            IngestEpisode("text/plain", f"Rosa lives in {town}.", occurred_at=DAY + timedelta(days=days))
            for town, days in (("Porto", 0), ("Turin", 300), ("Ghent", 150))
        ]
    )
    pipeline.drain()
    newest = pipeline.assemble("Rosa lives in", max_segments=1, constraints=ContextConstraints(prefer_recency=True))

    assert contents(newest) == ["Rosa lives in Turin."]


def test_surer_memory_is_preferred_where_it_is_asked_for(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put(*[f"Rosa lives in {town}." for town in ("Porto", "Turin", "Ghent")])
    pipeline.drain()
    sql("UPDATE memories SET confidence = 0.4 WHERE tenant = %s AND content LIKE '%%Porto%%'", pipeline.caller.tenant)
    sql("UPDATE memories SET confidence = 0.9 WHERE tenant = %s AND content LIKE '%%Turin%%'", pipeline.caller.tenant)
    sql("UPDATE memories SET confidence = 0.1 WHERE tenant = %s AND content LIKE '%%Ghent%%'", pipeline.caller.tenant)
    surest = pipeline.assemble(
        "Rosa lives in", max_segments=1, constraints=ContextConstraints(prefer_high_confidence=True)
    )

    assert contents(surest) == ["Rosa lives in Turin."]
