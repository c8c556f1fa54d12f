"""hydrate: where a memory comes from, over any number of steps; links as objects; and what an audit sees of what is gone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from infinicon.domain import (
    ActorRef,
    Cascade,
    HydrateReply,
    HydrateRequest,
    IngestEpisode,
    LinkType,
    Memory,
    MemoryFilters,
    MemoryRef,
    MemoryType,
    Permission,
    Provenance,
    Scope,
    Span,
    Status,
    TombstoneRequest,
)
from infinicon.errors import Unauthorized
from infinicon.operations import hydrate as operation
from infinicon.operations.hydrate import hydrate
from infinicon.operations.policy import set_policy
from infinicon.operations.tombstone import tombstone
from infinicon.store import memories
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline

CONSOLIDATION = """
    INSERT INTO memories (tenant, id, namespace, type, status, content, created_by, producer)
    SELECT %s, %s, id, 'consolidation', 'active', 'All of it.', '{"id": "x", "kind": "plugin"}', 'merge@1'
    FROM namespaces WHERE tenant = %s AND name = 'notes'
"""
EDGE = """
    INSERT INTO links (tenant, id, namespace, link_type, from_id, from_type, to_id, to_type)
    SELECT f.tenant, %s, f.namespace, 'derived_from', f.id, f.type, t.id, t.type
    FROM memories f, memories t WHERE f.tenant = %s AND t.tenant = f.tenant AND f.id = %s AND t.id = %s
"""


def shown(pipeline: Pipeline, *refs: MemoryRef, scope: Scope | None = None, audit: bool = False) -> HydrateReply:
    request = HydrateRequest(scope or pipeline.scope(), refs, include_provenance=True, include_tombstoned=audit)
    return hydrate(pipeline.app, pipeline.caller, request)


def one(pipeline: Pipeline, ref: MemoryRef, *, audit: bool = False) -> Memory:
    (memory,) = shown(pipeline, ref, audit=audit).objects
    return memory


def provenance_of(pipeline: Pipeline, ref: MemoryRef) -> Provenance:
    found = one(pipeline, ref).provenance
    assert found is not None
    return found


def chain(pipeline: Pipeline, ref: MemoryRef) -> list[tuple[UUID, UUID]]:
    return [(step.derived.id, step.source.ref.id) for step in provenance_of(pipeline, ref).chain or ()]


def consolidation(pipeline: Pipeline, sql: Sql, *sources: UUID) -> MemoryRef:
    ref = MemoryRef(uuid4(), MemoryType.CONSOLIDATION, pipeline.scope())
    sql(CONSOLIDATION, pipeline.caller.tenant, ref.id, pipeline.caller.tenant)
    for source in sources:
        join(pipeline, sql, ref.id, source)
    return ref


def join(pipeline: Pipeline, sql: Sql, derived: UUID, source: UUID) -> UUID:
    link = uuid4()
    sql(EDGE, link, pipeline.caller.tenant, derived, source)
    return link


def atoms(pipeline: Pipeline, *texts: str) -> list[MemoryRef]:
    """One episode, and one atom, for each text."""
    pipeline.put(*texts)
    pipeline.drain()
    return [pipeline.query(text, 1).hits[0].ref for text in texts]


def remove(pipeline: Pipeline, *refs: MemoryRef, cascade: Cascade = Cascade.NONE) -> None:
    tombstone(
        pipeline.app, pipeline.keyring, pipeline.caller, TombstoneRequest(pipeline.scope(), refs, "asked for", cascade)
    )


def test_an_atoms_chain_is_its_episodes(pipeline: Pipeline) -> None:
    first = pipeline.put("Rosa moved to Turin. It rained all day.").results[0].ref
    second = pipeline.put("That is what I said. Rosa moved to Turin.").results[0].ref
    pipeline.drain()
    atom = pipeline.query("Rosa moved to Turin").hits[0].ref
    found = provenance_of(pipeline, atom)

    assert [(step.derived, step.source.ref, step.source.span, step.source.status) for step in found.chain or ()] == [
        (atom, first, Span(0, 20), Status.ACTIVE),
        (atom, second, Span(21, 41), Status.ACTIVE),
    ]
    assert not found.truncated
    plain = hydrate(pipeline.app, pipeline.caller, HydrateRequest(pipeline.scope(), [atom])).objects[0]
    assert plain.provenance == replace(found, chain=None)
    assert one(pipeline, first).provenance is None


def test_a_chain_leads_over_any_number_of_steps(pipeline: Pipeline, sql: Sql) -> None:
    (atom,) = atoms(pipeline, "The heron flew.")
    ((episode,),) = sql("SELECT to_id FROM links WHERE from_id = %s", atom.id)
    names = [atom.id]
    for _ in range(40):
        names.append(consolidation(pipeline, sql, names[-1]).id)

    top = MemoryRef(names[-1], MemoryType.CONSOLIDATION, pipeline.scope())
    assert chain(pipeline, top) == [*zip(names[:0:-1], names[-2::-1], strict=True), (atom.id, episode)]
    found = provenance_of(pipeline, top)
    assert [source.ref.id for source in found.source_refs] == [names[-2]]
    assert (found.produced_by, found.transformation) == (ActorRef("merge@1", "plugin"), "consolidate")


def test_diamonds_and_cycles_end(pipeline: Pipeline, sql: Sql) -> None:
    heron, boiler = atoms(pipeline, "The heron flew.", "The boiler hums.")
    left = consolidation(pipeline, sql, heron.id, boiler.id)
    right = consolidation(pipeline, sql, heron.id)
    top = consolidation(pipeline, sql, left.id, right.id)
    join(pipeline, sql, right.id, top.id)  # which no runtime would make
    found = chain(pipeline, top)

    assert len(found) == len(set(found)) == 8
    assert {top.id, left.id, right.id} == {derived for derived, _ in found} - {heron.id, boiler.id}
    assert set(found[:2]) == {(top.id, left.id), (top.id, right.id)}
    assert len(chain(pipeline, right)) == 8
    assert len(chain(pipeline, left)) == 4
    both = shown(pipeline, top, left).objects  # the chain of one does not run into the other's
    assert [len((memory.provenance and memory.provenance.chain) or ()) for memory in both] == [8, 4]


def test_a_source_that_is_gone_is_named_and_says_nothing(pipeline: Pipeline, sql: Sql) -> None:
    scope = pipeline.scope(filters={"person": "Rosa"})
    pipeline.put("Rosa moved to Turin. It rained all day.", scope=scope)
    pipeline.put("That is what I said. Rosa moved to Turin.", scope=scope)
    pipeline.drain()
    statements = MemoryFilters(types=frozenset({MemoryType.ATOM}))
    hit = next(
        hit for hit in pipeline.query("Rosa moved", scope=scope, filters=statements).hits if len(hit.sources) == 2
    )
    newer, older = hit.sources
    remove(pipeline, older)
    sql("UPDATE memories SET expires_at = now() WHERE id = %s", newer.id)
    found = provenance_of(pipeline, hit.ref)

    for sources in (found.source_refs, [step.source for step in found.chain or ()]):
        assert [(source.ref.id, source.status) for source in sources] == [
            (older.id, Status.TOMBSTONED),
            (newer.id, Status.TOMBSTONED),
        ]
        assert all(source.ref.scope.filters is None for source in sources)
    assert list(shown(pipeline, older, newer).missing) == [older, newer]


def test_chains_are_bounded(pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    herons = atoms(pipeline, *[f"Heron number {number} flew." for number in range(6)])
    top = consolidation(pipeline, sql, *[heron.id for heron in herons])
    assert len(chain(pipeline, top)) == 12
    monkeypatch.setattr(operation, "CHAIN_STEPS", 8)
    found = provenance_of(pipeline, top)
    assert [step.derived.id for step in found.chain or ()][:6] == [top.id] * 6
    assert (len(found.chain or ()), found.truncated) == (8, True)
    monkeypatch.setattr(operation, "STEPS_AT_ONCE", 3)
    found = provenance_of(pipeline, top)
    assert (len(found.chain or ()), found.truncated) == (4, True)


def test_sources_are_bounded_and_the_newest_are_shown(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "SHOWN_SOURCES", 3)
    said = []
    for _ in range(5):
        said.append(pipeline.put("The heron flew.").results[0].ref)
        pipeline.drain()
    found = provenance_of(pipeline, pipeline.query("heron").hits[0].ref)

    assert [source.ref for source in found.source_refs] == said[2:]
    assert found.truncated


def link_of(sql: Sql, derived: UUID) -> UUID:
    ((link,),) = sql("SELECT id FROM links WHERE from_id = %s", derived)
    return UUID(str(link))


def test_a_link_is_an_object(pipeline: Pipeline, sql: Sql) -> None:
    scope = pipeline.scope(agent="a")
    pipeline.put("The heron flew.", scope=scope)
    pipeline.drain()
    (hit,) = pipeline.query("heron").hits
    ref = MemoryRef(link_of(sql, hit.ref.id), MemoryType.LINK, pipeline.scope())
    link = one(pipeline, ref)

    assert (link.id, link.type, link.scope, link.status) == (ref.id, MemoryType.LINK, scope, Status.ACTIVE)
    assert link.ends is not None
    assert (link.ends.type, link.ends.start, link.ends.end) == (LinkType.DERIVED_FROM, hit.ref, hit.sources[0])
    assert (link.content, link.metadata, link.provenance) == (None, {}, None)
    assert link.created_by == ActorRef("builtin@1", "plugin")
    assert (one(pipeline, hit.ref).provenance or Provenance([], link.created_by, link.created_at, "")).chain is not None
    (step,) = provenance_of(pipeline, hit.ref).chain or ()
    assert step.link == MemoryRef(ref.id, MemoryType.LINK, scope)


def test_a_link_that_cannot_be_shown_is_missing(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline], sql: Sql
) -> None:
    other = new_pipeline()
    for house in (pipeline, other):
        house.put("The heron flew.", scope=house.scope(agent="a"))
        house.put("The heron flew.", scope=house.scope("elsewhere"))
        house.drain()

    def link(house: Pipeline, scope: Scope) -> MemoryRef:
        (hit,) = house.query("heron", scope=scope).hits
        return MemoryRef(link_of(sql, hit.ref.id), MemoryType.LINK, house.scope())

    own = link(pipeline, pipeline.scope(agent="a"))
    missing = [
        link(other, other.scope(agent="a")),
        replace(link(other, other.scope(agent="a")), scope=pipeline.scope()),
        link(pipeline, pipeline.scope("elsewhere")),
        replace(own, type=MemoryType.ATOM),
        replace(own, scope=pipeline.scope(agent="b")),
        MemoryRef(uuid4(), MemoryType.LINK, pipeline.scope()),
        MemoryRef(pipeline.query("heron").hits[0].ref.id, MemoryType.LINK, pipeline.scope()),
    ]
    reply = shown(pipeline, *missing, own)
    assert [memory.id for memory in reply.objects] == [own.id]
    assert list(reply.missing) == missing
    assert list(shown(pipeline, own, scope=pipeline.scope(agent="b")).missing) == [own]
    assert [memory.id for memory in shown(pipeline, own, scope=pipeline.scope(agent="a")).objects] == [own.id]
    remove(pipeline, pipeline.query("heron").hits[0].sources[0], cascade=Cascade.TOMBSTONE_DERIVED)
    assert list(shown(pipeline, own).missing) == [own]


def permissions(pipeline: Pipeline, wanted: Collection[Permission]) -> None:
    pipeline.caller = replace(pipeline.caller, permissions=frozenset(wanted))


def keep_for_an_audit(pipeline: Pipeline, seconds: int = 3_600) -> None:
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"audit_seconds": seconds})


def test_who_may_audit(pipeline: Pipeline) -> None:
    ref = pipeline.put("The heron flew.").results[0].ref
    for lacking in ({Permission.HYDRATE}, {Permission.ADMIN, Permission.HYDRATE}):
        permissions(pipeline, lacking)
        with pytest.raises(Unauthorized) as refused:
            shown(pipeline, ref, audit=True)
        assert refused.value.authenticated
        assert [memory.id for memory in shown(pipeline, ref).objects] == [ref.id]
    permissions(pipeline, {Permission.HYDRATE, Permission.AUDIT})
    assert [memory.id for memory in shown(pipeline, ref, audit=True).objects] == [ref.id]


def test_an_audit_sees_what_is_kept(pipeline: Pipeline, sql: Sql) -> None:
    keep_for_an_audit(pipeline)
    scope = pipeline.scope(agent="a", filters={"p": 1})
    episode = IngestEpisode(
        "application/json", {"said": ["The heron flew."]}, ActorRef("anna", "user"), "key", {"m": 1}, ["t"]
    )
    ref = pipeline.ingest(episode, scope=scope).results[0].ref
    pipeline.drain()
    (atom,) = [hit.ref for hit in pipeline.query("heron").hits if hit.ref.type is MemoryType.ATOM]
    before = one(pipeline, ref), one(pipeline, atom)
    remove(pipeline, ref, cascade=Cascade.TOMBSTONE_DERIVED)

    assert list(shown(pipeline, ref, atom).missing) == [ref, atom]
    after = shown(pipeline, ref, atom, audit=True).objects
    for was, now in zip(before, after, strict=True):
        assert now.status is Status.TOMBSTONED
        assert now.tombstone is not None
        assert (now.tombstone.reason, now.tombstone.key) == ("asked for", pipeline.caller.key)
        assert now.tombstone.kept_until is not None
        parts = ("content", "content_type", "metadata", "tags", "dedupe_key", "created_by", "scope", "atom_type")
        assert {part: getattr(now, part) for part in parts} == {part: getattr(was, part) for part in parts}
    assert [source.ref.id for source in (after[1].provenance or pytest.fail("no provenance")).source_refs] == [ref.id]


@pytest.mark.parametrize("policy", [0, 3_600])
def test_when_nothing_is_kept_a_tombstone_is_all_there_is(pipeline: Pipeline, sql: Sql, policy: int) -> None:
    keep_for_an_audit(pipeline, policy)
    ref = pipeline.ingest(IngestEpisode("text/plain", "The heron flew.", tags=["t"])).results[0].ref
    pipeline.drain()
    remove(pipeline, ref)
    sql("UPDATE tombstones SET kept_until = now() WHERE memory = %s AND kept IS NOT NULL", ref.id)
    # A deletion that goes on in a job leaves the row full for a while.
    sql("UPDATE memories SET content = 'The heron flew.', tags = '{t}', purge_job = %s WHERE id = %s", uuid4(), ref.id)
    gone = one(pipeline, ref, audit=True)

    assert (gone.status, gone.content, list(gone.tags), gone.created_by.id) == (Status.TOMBSTONED, None, [], "erased")
    assert gone.tombstone is not None
    assert gone.tombstone.reason == "asked for"


def test_an_audit_stays_in_its_scope(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]) -> None:
    other = new_pipeline()
    refs = []
    for house, scope in (
        (pipeline, pipeline.scope(agent="a")),
        (pipeline, pipeline.scope("elsewhere")),
        (other, other.scope()),
    ):
        ref = house.put("The heron flew.", scope=scope).results[0].ref
        tombstone(house.app, house.keyring, house.caller, TombstoneRequest(scope, [ref], "x", Cascade.NONE))
        refs.append(ref)

    def seen(scope: Scope) -> list[UUID]:
        asked = [part for ref in refs for part in (ref, replace(ref, scope=pipeline.scope()))]
        reply = shown(pipeline, *asked, scope=scope, audit=True)
        assert {ref.id for ref in reply.missing} | {memory.id for memory in reply.objects} == {ref.id for ref in refs}
        return [memory.id for memory in reply.objects]

    assert seen(pipeline.scope()) == [refs[0].id]
    assert seen(pipeline.scope(agent="a")) == [refs[0].id]
    assert seen(pipeline.scope(agent="b")) == []


def test_what_is_stale_says_so_and_a_consolidation_names_whose_place_it_took(pipeline: Pipeline, sql: Sql) -> None:
    (heron,) = [result.ref for result in pipeline.put("The heron flew.").results]
    pipeline.drain()
    old, new = consolidation(pipeline, sql, heron.id), consolidation(pipeline, sql, heron.id)
    link = join(pipeline, sql, new.id, old.id)
    sql("UPDATE links SET link_type = 'supersedes' WHERE id = %s", link)
    sql("UPDATE memories SET stale = true WHERE id = %s", old.id)

    assert [ref.id for ref in one(pipeline, new).supersedes] == [old.id]
    assert list(one(pipeline, old).supersedes) == []
    assert (one(pipeline, old).stale, one(pipeline, new).stale) == (True, False)
