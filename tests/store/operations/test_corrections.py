"""Corrections: what is retired, when, and with what; contradictions and how they end."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest

from infinicon.domain import (
    Cascade,
    HydrateRequest,
    IngestEpisode,
    IngestResult,
    IngestStatus,
    LinkEnds,
    LinkType,
    MemoryRef,
    MemoryType,
    Permission,
    Scope,
    Status,
    TombstoneRequest,
)
from infinicon.errors import InvalidRequest, NotFound, Unauthorized
from infinicon.operations.corrections import dispute, resolve
from infinicon.operations.hydrate import hydrate
from infinicon.operations.tombstone import tombstone
from infinicon.store import database
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.together import together

ROSA = "Rosa moved to Turin in March of last year."
LYON = "Rosa moved back to Lyon in May of this year."
GATE = "The orchard gate code is on the blue tag."


def put(pipeline: Pipeline, text: str, **fields: object) -> IngestResult:
    return pipeline.ingest(IngestEpisode("text/plain", text, **fields)).results[0]  # type: ignore[arg-type]


def indexed(pipeline: Pipeline, text: str, **fields: object) -> MemoryRef:
    ref = put(pipeline, text, **fields).ref
    pipeline.drain()
    return ref


def atom_of(sql: Sql, episode: UUID) -> MemoryRef:
    row = sql("SELECT from_id FROM links WHERE to_id = %s AND link_type = 'derived_from'", episode)
    return MemoryRef(row[0][0], MemoryType.ATOM, Scope("", ""))


def status(sql: Sql, *ids: UUID) -> list[str]:
    rows: dict[UUID, str] = dict(sql("SELECT id, status FROM memories WHERE id = ANY(%s)", list(ids)))
    return [rows[memory] for memory in ids]


def kinds(sql: Sql, pipeline: Pipeline) -> list[tuple[str, UUID]]:
    rows = sql(
        "SELECT type, memory FROM events WHERE tenant = %s AND type IN ('memory.superseded', 'memory.disputed') ORDER BY seq",
        pipeline.caller.tenant,
    )
    return [(row[0], row[1]) for row in rows]


@pytest.mark.parametrize("field", ["supersedes", "corrects"])
def test_the_old_one_holds_until_the_new_one_is_indexed(pipeline: Pipeline, sql: Sql, field: str) -> None:
    old = indexed(pipeline, ROSA)
    atom = atom_of(sql, old.id)
    new = put(pipeline, LYON, **{field: [old]}).ref
    assert status(sql, old.id, atom.id, new.id) == ["active", "active", "pending"]

    pipeline.drain()
    assert status(sql, old.id, atom.id, new.id) == ["superseded", "superseded", "active"]
    assert sql("SELECT link_type, status FROM links WHERE from_id = %s AND to_id = %s", new.id, old.id) == [
        (field, "active")
    ]
    assert {memory for _, memory in kinds(sql, pipeline)} == {old.id, atom.id}
    found = {hit.ref.id for hit in pipeline.query("Where did Rosa move?").hits}
    assert not found & {old.id, atom.id}


def test_what_an_atom_alone_is_replaced(pipeline: Pipeline, sql: Sql) -> None:
    old = indexed(pipeline, f"{ROSA} {GATE}")
    rows = sql(
        "SELECT from_id FROM links l JOIN memories m ON m.id = l.from_id WHERE to_id = %s AND content = %s",
        old.id,
        ROSA,
    )
    atom = MemoryRef(rows[0][0], MemoryType.ATOM, pipeline.scope())
    indexed(pipeline, LYON, supersedes=[atom])

    assert status(sql, atom.id, old.id) == ["superseded", "active"]


def test_what_somebody_else_says_too_stays(pipeline: Pipeline, sql: Sql) -> None:
    first = indexed(pipeline, f"{ROSA} {GATE}")
    second = indexed(pipeline, f"{GATE} It snowed all day in Lyon.")
    shared = {row[0] for row in sql("SELECT from_id FROM links WHERE to_id = %s", first.id)} & {
        row[0] for row in sql("SELECT from_id FROM links WHERE to_id = %s", second.id)
    }
    indexed(pipeline, LYON, supersedes=[first])
    assert status(sql, *shared) == ["active"]
    indexed(pipeline, "And that is no more.", supersedes=[second])
    assert status(sql, *shared) == ["superseded"]


def test_one_that_is_on_its_way_is_retired_when_it_arrives(pipeline: Pipeline, sql: Sql) -> None:
    old = put(pipeline, ROSA).ref
    (slow,) = pipeline.claim()
    new = put(pipeline, LYON, supersedes=[old]).ref
    pipeline.drain()
    assert status(sql, old.id, new.id) == ["pending", "active"]

    pipeline.run(slow)
    assert status(sql, old.id, atom_of(sql, old.id).id) == ["superseded", "superseded"]


def test_a_chain_and_a_replay(pipeline: Pipeline, sql: Sql) -> None:
    first = indexed(pipeline, ROSA)
    second = indexed(pipeline, LYON, supersedes=[first], dedupe_key="k")
    third = indexed(pipeline, "Rosa lives in Nice since June.", supersedes=[second, second], corrects=[first])
    assert status(sql, first.id, second.id, third.id) == ["superseded", "superseded", "active"]

    again = put(pipeline, LYON, supersedes=[third], dedupe_key="k")
    pipeline.drain()
    assert again.status is IngestStatus.DEDUPLICATED
    assert [warning.code for warning in again.warnings] == ["corrections_ignored"]
    assert status(sql, third.id) == ["active"]
    same = put(pipeline, LYON, supersedes=[first], dedupe_key="k")
    assert (same.status, list(same.warnings)) == (IngestStatus.DEDUPLICATED, [])


def test_a_replay_does_not_mind_that_what_it_corrected_is_gone(pipeline: Pipeline) -> None:
    old = indexed(pipeline, ROSA)
    new = indexed(pipeline, LYON, corrects=[old], dedupe_key="k")
    request = TombstoneRequest(pipeline.scope(), [old], "x", Cascade.NONE)
    tombstone(pipeline.app, pipeline.keyring, pipeline.caller, request)

    again = put(pipeline, LYON, corrects=[old], dedupe_key="k")
    assert (again.status, again.ref, list(again.warnings)) == (IngestStatus.DEDUPLICATED, new, [])
    other = put(pipeline, LYON, corrects=[None], dedupe_key="k")
    assert [warning.code for warning in other.warnings] == ["corrections_ignored"]
    assert put(pipeline, GATE, corrects=[old], dedupe_key="new").status is IngestStatus.REJECTED


def test_a_ref_to_nothing_rejects_its_episode_alone(pipeline: Pipeline, sql: Sql) -> None:
    old = indexed(pipeline, ROSA)
    gone = indexed(pipeline, GATE)
    tombstone(
        pipeline.app, pipeline.keyring, pipeline.caller, TombstoneRequest(pipeline.scope(), [gone], "x", Cascade.NONE)
    )
    wrong: list[MemoryRef | None] = [
        None,
        gone,
        replace(old, id=uuid4()),
        replace(old, type=MemoryType.ATOM),
        replace(old, scope=pipeline.scope("other")),
    ]
    reply = pipeline.ingest(
        *[IngestEpisode("text/plain", f"Note {at}.", supersedes=[ref]) for at, ref in enumerate(wrong)],
        IngestEpisode("text/plain", "A good neighbour."),
    )
    assert [result.status for result in reply.results] == [IngestStatus.REJECTED] * len(wrong) + [IngestStatus.CREATED]
    assert {result.error.code for result in reply.results if result.error} == {"invalid_request"}
    assert status(sql, old.id) == ["active"]


def test_a_contradiction_and_which_one_holds(pipeline: Pipeline, sql: Sql) -> None:
    first, second = indexed(pipeline, ROSA), indexed(pipeline, LYON)
    a = replace(atom_of(sql, first.id), scope=pipeline.scope())
    b = replace(atom_of(sql, second.id), scope=pipeline.scope())

    standing = dispute(pipeline.app, pipeline.caller, pipeline.scope(), [a, b])
    assert [one.status for one in standing] == [Status.DISPUTED] * 2
    assert not {hit.ref.id for hit in pipeline.query("Where did Rosa move?").hits} & {a.id, b.id}
    dispute(pipeline.app, pipeline.caller, pipeline.scope(), [a, b])
    assert (
        kinds(sql, pipeline) == [("memory.disputed", one) for one in sorted([a.id, b.id])]
        or len(kinds(sql, pipeline)) == 2
    )

    standing = resolve(pipeline.app, pipeline.caller, pipeline.scope(), [a], b)
    assert [one.status for one in standing] == [Status.SUPERSEDED]
    assert status(sql, a.id, b.id) == ["superseded", "active"]
    assert sql("SELECT link_type FROM links WHERE from_id = %s AND to_id = %s", b.id, a.id) == [("supersedes",)]
    again = resolve(pipeline.app, pipeline.caller, pipeline.scope(), [a, b], b)
    assert again == [*standing, replace(again[1], ref=b, status=Status.ACTIVE)]
    with pytest.raises(InvalidRequest):
        resolve(pipeline.app, pipeline.caller, pipeline.scope(), [a], replace(b, type=MemoryType.EPISODE))
    with pytest.raises(InvalidRequest):
        resolve(pipeline.app, pipeline.caller, pipeline.scope(), [b], a)
    assert sql("SELECT status FROM links WHERE link_type = 'contradicts' AND tenant = %s", pipeline.caller.tenant) == [
        ("superseded",)
    ]


def related_to(pipeline: Pipeline, ref: MemoryRef) -> list[tuple[str, str, UUID, UUID]]:
    request = HydrateRequest(pipeline.scope(), [ref], include_provenance=True)
    (memory,) = hydrate(pipeline.app, pipeline.caller, request).objects
    return [(one.type.value, one.status.value, one.start.id, one.end.id) for one in memory.related]


def test_the_links_can_be_found_from_both_ends(pipeline: Pipeline, sql: Sql) -> None:
    first, second, third = (indexed(pipeline, text) for text in (ROSA, LYON, GATE))
    ((one, other),) = [dispute(pipeline.app, pipeline.caller, pipeline.scope(), [first, second])]
    (link,) = one.related
    assert one.related == other.related
    shown = hydrate(pipeline.app, pipeline.caller, HydrateRequest(pipeline.scope(), [link.link])).objects
    assert shown[0].ends == LinkEnds(LinkType.CONTRADICTS, first, second)

    resolve(pipeline.app, pipeline.caller, pipeline.scope(), [first], second)
    new = put(pipeline, "Rosa lives in Nice since June.", corrects=[second], supersedes=[third]).ref
    assert related_to(pipeline, third) == []
    pipeline.drain()
    settled, won = ("contradicts", "superseded", first.id, second.id), ("supersedes", "active", second.id, first.id)
    corrected, replaced = ("corrects", "active", new.id, second.id), ("supersedes", "active", new.id, third.id)
    assert related_to(pipeline, first) == [won, settled]
    assert related_to(pipeline, second) == [corrected, won, settled]
    assert related_to(pipeline, third) == [replaced]
    assert sorted(related_to(pipeline, new)) == [corrected, replaced]

    tombstone(
        pipeline.app, pipeline.keyring, pipeline.caller, TombstoneRequest(pipeline.scope(), [new], "x", Cascade.NONE)
    )
    assert not {new.id} & {start for _, _, start, _ in related_to(pipeline, second) + related_to(pipeline, third)}


def test_of_many_links_the_newest_are_shown(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infinicon.operations.hydrate.RELATIONS", 2)
    old = indexed(pipeline, ROSA)
    new = [indexed(pipeline, f"Rosa moved to place {number}.", corrects=[old]) for number in range(3)]

    assert [start for _, _, start, _ in related_to(pipeline, old)] == [new[2].id, new[1].id]


def test_an_error_is_taken_back_and_other_contradictions_stay(pipeline: Pipeline, sql: Sql) -> None:
    refs = [indexed(pipeline, text) for text in (ROSA, LYON, GATE)]
    dispute(pipeline.app, pipeline.caller, pipeline.scope(), refs[:2])
    dispute(pipeline.app, pipeline.caller, pipeline.scope(), refs[1:])

    resolve(pipeline.app, pipeline.caller, pipeline.scope(), [refs[0]], None)
    assert status(sql, *[ref.id for ref in refs]) == ["active", "disputed", "disputed"]
    resolve(pipeline.app, pipeline.caller, pipeline.scope(), [refs[2]], None)
    assert status(sql, *[ref.id for ref in refs]) == ["active", "active", "active"]


def test_what_cannot_be_disputed(pipeline: Pipeline) -> None:
    ref = indexed(pipeline, ROSA)
    pending = put(pipeline, LYON).ref
    caller = replace(pipeline.caller, permissions=frozenset({Permission.QUERY}))

    with pytest.raises(InvalidRequest):
        dispute(pipeline.app, pipeline.caller, pipeline.scope(), [ref, ref])
    with pytest.raises(InvalidRequest):
        dispute(pipeline.app, pipeline.caller, pipeline.scope(), [ref, pending])
    for unknown in (None, replace(ref, id=uuid4()), replace(ref, scope=pipeline.scope("other"))):
        with pytest.raises(NotFound):
            dispute(pipeline.app, pipeline.caller, pipeline.scope(), [ref, unknown])
    with pytest.raises(InvalidRequest):
        resolve(pipeline.app, pipeline.caller, pipeline.scope(), [ref], ref)
    with pytest.raises(Unauthorized):
        dispute(pipeline.app, caller, pipeline.scope(), [ref, ref])


def test_the_scopes_filters_hold(pipeline: Pipeline, sql: Sql) -> None:
    own, other = pipeline.scope(filters={"room": "r1"}), pipeline.scope(filters={"room": "r2"})
    old, new = (result.ref for result in pipeline.put(ROSA, LYON, scope=own).results)
    pipeline.drain()

    with pytest.raises(NotFound):
        dispute(pipeline.app, pipeline.caller, other, [old, new])
    correction = IngestEpisode("text/plain", GATE, corrects=[old])
    assert pipeline.ingest(correction, scope=other).results[0].status is IngestStatus.REJECTED
    dispute(pipeline.app, pipeline.caller, own, [old, new])
    with pytest.raises(NotFound):
        resolve(pipeline.app, pipeline.caller, other, [old], new)
    assert status(sql, old.id, new.id) == ["disputed", "disputed"]
    assert pipeline.ingest(correction, scope=own).results[0].status is IngestStatus.CREATED


def test_many_who_state_and_end_contradictions_at_once_do_not_stand_in_each_others_way(
    pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deadlock is found after a second, and keeps connections from everybody else until then."""
    conflicts: list[float] = []
    monkeypatch.setattr(database, "time", SimpleNamespace(sleep=conflicts.append))
    refs = [put(pipeline, f"Fact number {number} says something else.").ref for number in range(6)]
    pipeline.drain()
    rivals = [(first, second) for first in refs for second in refs if first.id != second.id]

    def act(number: int) -> None:
        first, second = rivals[number % len(rivals)]
        if number % 2:
            dispute(pipeline.app, pipeline.caller, pipeline.scope(), [first, second])
        else:
            resolve(pipeline.app, pipeline.caller, pipeline.scope(), [first], None)

    together(*[partial(act, number) for number in range(40)])

    disputed = {
        row[0]
        for row in sql(
            "SELECT id FROM memories WHERE status = 'disputed' AND type = 'episode' AND tenant = %s",
            pipeline.caller.tenant,
        )
    }
    open_links = sql(
        "SELECT from_id, to_id FROM links WHERE link_type = 'contradicts' AND status = 'active' AND tenant = %s",
        pipeline.caller.tenant,
    )
    assert disputed == {end for ends in open_links for end in ends}
    assert conflicts == []
