"""tombstone: gone at once, with what follows from it, and nothing late brings it back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from infinicon.domain import (
    Cascade,
    HydrateRequest,
    IngestEpisode,
    IngestStatus,
    MemoryRef,
    MemoryType,
    Permission,
    Scope,
    TombstoneReply,
    TombstoneRequest,
    TombstoneStatus,
)
from infinicon.errors import Unauthorized
from infinicon.operations import tombstone as tombstoning
from infinicon.operations.hydrate import hydrate
from infinicon.operations.tombstone import purge, tombstone
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline

NONE, STALE, DERIVED = Cascade.NONE, Cascade.MARK_DERIVED_STALE, Cascade.TOMBSTONE_DERIVED
GONE, ALREADY, UNKNOWN, REJECTED = (
    TombstoneStatus.TOMBSTONED,
    TombstoneStatus.ALREADY_TOMBSTONED,
    TombstoneStatus.NOT_FOUND,
    TombstoneStatus.REJECTED,
)
SECRET = "The vault code is quokka seven."
GATE = "The orchard gate code is on the blue tag."
ROSA = "Rosa moved to Turin in March of last year."
RAIN = "The boiler in the cellar was serviced in May."
SNOW = "The blue bicycle stayed behind in Lyon in June."


def delete(
    pipeline: Pipeline, *refs: MemoryRef | None, cascade: Cascade = DERIVED, scope: Scope | None = None
) -> TombstoneReply:
    request = TombstoneRequest(scope or pipeline.scope(), refs, "asked for", cascade)
    return tombstone(pipeline.app, pipeline.keyring, pipeline.caller, request)


def statuses(reply: TombstoneReply) -> list[TombstoneStatus]:
    return [result.status for result in reply.results]


def put(pipeline: Pipeline, *texts: str, scope: Scope | None = None) -> list[MemoryRef]:
    refs = [result.ref for result in pipeline.put(*texts, scope=scope).results]
    pipeline.drain()
    return refs


def found(pipeline: Pipeline, text: str) -> set[UUID]:
    return {hit.ref.id for hit in pipeline.query(text).hits}


def atoms_of(sql: Sql, episode: UUID) -> list[UUID]:
    return [row[0] for row in sql("SELECT from_id FROM links WHERE to_id = %s ORDER BY from_id", episode)]


def state(sql: Sql, *ids: UUID) -> list[tuple[str, bool]]:
    rows = {row[0]: row[1:] for row in sql("SELECT id, status, stale FROM memories WHERE id = ANY(%s)", list(ids))}
    return [rows[memory] for memory in ids]


def consolidation(sql: Sql, pipeline: Pipeline, *sources: UUID) -> UUID:
    """A derived memory, as consolidation will make them."""
    made = uuid4()
    sql(
        "INSERT INTO memories (tenant, id, namespace, type, status, content, created_by)"
        " SELECT tenant, %s, namespace, 'consolidation', 'active', 'a summary', '{\"id\": \"p\", \"kind\": \"plugin\"}'"
        " FROM memories WHERE id = %s",
        made,
        sources[0],
    )
    for source in sources:
        sql(
            "INSERT INTO links (tenant, id, namespace, link_type, from_id, from_type, to_id, to_type)"
            " SELECT tenant, %s, namespace, 'derived_from', %s, 'consolidation', id, type FROM memories WHERE id = %s",
            uuid4(),
            made,
            source,
        )
    return made


def traces(sql: Sql, ids: Sequence[UUID]) -> list[int]:
    """Rows that the index, the stage and the queue still have of these memories."""
    return [
        sql(f"SELECT count(*) FROM {table} WHERE {column} = ANY(%s)", list(ids))[0][0]
        for table, column in (("space_rows", "memory"), ("staged_vectors", "memory"), ("queued_episodes", "episode"))
    ]


def counters(sql: Sql, pipeline: Pipeline) -> tuple[int, int]:
    row = sql(
        "SELECT index_rows, index_lexemes FROM namespace_counters c JOIN namespaces n ON n.id = c.namespace"
        " WHERE n.tenant = %s AND n.name = 'notes'",
        pipeline.caller.tenant,
    )
    return row[0]


def test_what_is_gone_is_found_by_nobody_and_leaves_nothing(pipeline: Pipeline, sql: Sql) -> None:
    kept, gone = put(pipeline, "Rosa moved to Turin.", SECRET)
    before = counters(sql, pipeline)
    own = [gone.id, *atoms_of(sql, gone.id)]
    assert found(pipeline, "vault code quokka") & set(own)

    reply = delete(pipeline, gone)
    assert statuses(reply) == [GONE]
    assert {ref.id for ref in reply.results[0].affected} == set(own[1:])
    assert not found(pipeline, "vault code quokka") & set(own)
    shown = hydrate(pipeline.app, pipeline.caller, HydrateRequest(pipeline.scope(), [gone, kept]))
    assert (shown.missing, [item.id for item in shown.objects]) == ([gone], [kept.id])
    assert traces(sql, own) == [0, 0, 0]
    assert found(pipeline, "Turin")
    after = counters(sql, pipeline)
    assert after[0] < before[0]
    assert after[1] < before[1]
    rows = sql("SELECT count(*) FROM postings p WHERE tenant = %s", pipeline.caller.tenant)
    assert rows == sql(
        "SELECT coalesce(sum(cardinality(lexemes)), 0) FROM space_rows WHERE tenant = %s", pipeline.caller.tenant
    )
    columns = "content, search_text, speaker, title, dedupe_key, content_hmac, fingerprint, filters, renderer, unit_chars, content_chars"
    for row in sql(f"SELECT {columns} FROM memories WHERE id = ANY(%s)", own):
        assert row == (None,) * 11


def test_again_is_already_and_unknown_is_unknown(pipeline: Pipeline) -> None:
    (gone,) = put(pipeline, SECRET)
    stranger = replace(gone, id=uuid4())
    elsewhere = replace(gone, scope=pipeline.scope("other"))
    wrong_type = replace(gone, type=MemoryType.ATOM)
    link = replace(gone, type=MemoryType.LINK)

    assert statuses(delete(pipeline, gone, stranger, elsewhere, wrong_type, None, link)) == [
        GONE,
        UNKNOWN,
        UNKNOWN,
        UNKNOWN,
        UNKNOWN,
        REJECTED,
    ]
    assert statuses(delete(pipeline, gone, gone)) == [ALREADY, ALREADY]


def test_another_tenants_memory_is_unknown(new_pipeline: Callable[[], Pipeline], sql: Sql) -> None:
    pipeline, other = new_pipeline(), new_pipeline()
    (theirs,) = put(other, SECRET)

    reply = delete(pipeline, replace(theirs, scope=pipeline.scope()))
    assert statuses(reply) == [UNKNOWN]
    assert state(sql, theirs.id) == [("active", False)]


def test_an_agents_scope_does_not_reach_beyond_it(pipeline: Pipeline, sql: Sql) -> None:
    (mine,) = put(pipeline, "Mine.", scope=pipeline.scope(agent="a"))
    (theirs,) = put(pipeline, "Theirs.", scope=pipeline.scope(agent="b"))

    reply = delete(pipeline, replace(theirs, scope=pipeline.scope()), mine, scope=pipeline.scope(agent="a"))
    assert statuses(reply) == [UNKNOWN, GONE]
    assert state(sql, theirs.id) == [("active", False)]


@pytest.mark.parametrize(
    ("cascade", "shared", "own"),
    [
        (NONE, ("active", False), ("active", False)),
        (STALE, ("active", True), ("active", True)),
        (DERIVED, ("active", False), ("tombstoned", False)),
    ],
)
def test_what_two_episodes_say_and_what_one_says(
    pipeline: Pipeline, sql: Sql, cascade: Cascade, shared: tuple[str, bool], own: tuple[str, bool]
) -> None:
    first, second = put(pipeline, f"{GATE} {ROSA}", f"{GATE} {RAIN}")
    both = set(atoms_of(sql, first.id)) & set(atoms_of(sql, second.id))
    alone = set(atoms_of(sql, first.id)) - both
    assert (len(both), len(alone)) == (1, 1)

    reply = delete(pipeline, first, cascade=cascade)
    assert state(sql, *both) == [shared]
    assert state(sql, *alone) == [own]
    affected = {ref.id for ref in reply.results[0].affected}
    assert affected == {NONE: set(), STALE: both | alone, DERIVED: alone}[cascade]


def test_both_sources_at_once_take_their_statement_along(pipeline: Pipeline, sql: Sql) -> None:
    first, second = put(pipeline, f"{GATE} {RAIN}", f"{GATE} {SNOW}")
    everything = {*atoms_of(sql, first.id), *atoms_of(sql, second.id)}

    delete(pipeline, first, second)
    assert {status for status, _ in state(sql, *everything)} == {"tombstoned"}


def test_one_source_after_the_other_takes_it_along_too(pipeline: Pipeline, sql: Sql) -> None:
    first, second = put(pipeline, f"{GATE} {RAIN}", f"{GATE} {SNOW}")
    shared = set(atoms_of(sql, first.id)) & set(atoms_of(sql, second.id))

    delete(pipeline, first)
    assert state(sql, *shared) == [("active", False)]
    delete(pipeline, second)
    assert state(sql, *shared) == [("tombstoned", False)]


def test_a_cascade_reaches_any_depth_through_diamonds_and_cycles(pipeline: Pipeline, sql: Sql) -> None:
    (root,) = put(pipeline, f"{GATE} {RAIN}")
    left, right = atoms_of(sql, root.id)
    middle = [consolidation(sql, pipeline, left), consolidation(sql, pipeline, right)]
    top = consolidation(sql, pipeline, *middle)
    for source in (top,):  # and back down again
        sql(
            "INSERT INTO links (tenant, id, namespace, link_type, from_id, from_type, to_id, to_type)"
            " SELECT tenant, %s, namespace, 'derived_from', %s, 'consolidation', id, type FROM memories WHERE id = %s",
            uuid4(),
            middle[0],
            source,
        )
    chain = [top]
    for _ in range(30):
        chain.append(consolidation(sql, pipeline, chain[-1]))

    reply = delete(pipeline, root, cascade=STALE)
    below = {left, right, *middle, *chain}
    assert {ref.id for ref in reply.results[0].affected} == below
    assert set(state(sql, *below)) == {("active", True)}
    reply = delete(pipeline, root, cascade=DERIVED)
    assert statuses(reply) == [ALREADY]
    assert {ref.id for ref in reply.results[0].affected} == below
    assert set(state(sql, *below)) == {("tombstoned", False)}


def test_a_consolidation_goes_with_any_of_its_sources(pipeline: Pipeline, sql: Sql) -> None:
    first, second = put(pipeline, f"{GATE} {RAIN}", f"{ROSA} {SNOW}")
    summary = consolidation(sql, pipeline, atoms_of(sql, first.id)[0], atoms_of(sql, second.id)[0])

    delete(pipeline, first)
    assert state(sql, summary) == [("tombstoned", False)]


def test_a_replay_is_known_and_brings_nothing_back(pipeline: Pipeline, sql: Sql) -> None:
    episode = IngestEpisode("text/plain", SECRET, dedupe_key="k")
    ref = pipeline.ingest(episode).results[0].ref
    pipeline.drain()
    delete(pipeline, ref)

    for again in (episode, replace(episode, content="Something else.")):
        result = pipeline.ingest(again).results[0]
        assert (result.status, result.ref) == (IngestStatus.DEDUPLICATED, ref)
        assert [warning.code for warning in result.warnings] == ["tombstoned"]
    pipeline.drain()
    assert state(sql, ref.id) == [("tombstoned", False)]


def test_a_later_episode_may_say_the_same_anew(pipeline: Pipeline) -> None:
    (gone,) = put(pipeline, SECRET)
    delete(pipeline, gone)

    put(pipeline, SECRET)
    assert found(pipeline, "vault code quokka")


@pytest.mark.parametrize("stage", ["waiting", "claimed", "extracted", "embedded"])
def test_what_is_on_its_way_does_not_arrive(pipeline: Pipeline, sql: Sql, stage: str) -> None:
    reply = pipeline.put(SECRET, "Rosa moved to Turin.")
    gone = reply.results[0].ref
    batches = [] if stage == "waiting" else pipeline.claim()
    if stage in {"extracted", "embedded"}:
        batches = [pipeline.extract(batch) for batch in batches]
    if stage == "embedded":
        batches = [pipeline.embed(batch) for batch in batches]

    assert statuses(delete(pipeline, gone)) == [GONE]
    for batch in batches:
        pipeline.run(batch)
    pipeline.drain()
    own = [gone.id, *atoms_of(sql, gone.id)]
    assert {status for status, _ in state(sql, *own)} == {"tombstoned"}
    assert traces(sql, own) == [0, 0, 0]
    assert sql(
        "SELECT count(*) FROM memories WHERE tenant = %s AND content LIKE '%%quokka%%'", pipeline.caller.tenant
    ) == [(0,)]
    assert found(pipeline, "Turin")
    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.done, job.progress.failed) == ("completed", 2, 0)


def test_an_extractor_that_comes_late_says_nothing(pipeline: Pipeline, sql: Sql) -> None:
    gone = pipeline.put(SECRET).results[0].ref
    (batch,) = pipeline.claim()
    inner = pipeline.extractor

    class Slow:
        name, version = inner.name, inner.version

        def supports(self, media_type: str) -> bool:
            return inner.supports(media_type)

        def extract(self, episode: object) -> object:
            found = inner.extract(episode)  # type: ignore[arg-type]
            delete(pipeline, gone)  # while the plug-in works, nothing is locked
            return found

    pipeline.extractor = Slow()  # type: ignore[assignment]
    pipeline.extract(batch)
    assert atoms_of(sql, gone.id) == []
    assert sql("SELECT count(*) FROM memories WHERE tenant = %s AND content IS NOT NULL", pipeline.caller.tenant) == [
        (0,)
    ]


def test_too_much_for_one_transaction_is_hidden_at_once_and_emptied_by_a_job(
    pipeline: Pipeline, sql: Sql, sweeper: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from infinicon.operations.dispatch import purges

    monkeypatch.setattr(tombstoning, "AT_ONCE", 3)
    monkeypatch.setattr(tombstoning, "SLICE", 2)
    refs = put(pipeline, SECRET, f"{GATE} {RAIN}", "Rosa moved to Turin.")
    reply = delete(pipeline, *refs)
    assert reply.job_id is not None
    everything = [row[0] for row in sql("SELECT id FROM memories WHERE tenant = %s", pipeline.caller.tenant)]
    assert {status for status, _ in state(sql, *everything)} == {"tombstoned"}
    assert not found(pipeline, "vault code quokka")
    assert {warning.code for warning in pipeline.assemble("the vault").warnings} == {
        "deletion_pending",
        "empty_context",
    }
    assert traces(sql, everything)[0] > 0
    assert (pipeline.caller.tenant, reply.job_id) in purges(sweeper)

    assert purge(pipeline.app, pipeline.caller.tenant, reply.job_id) == len(everything)
    assert traces(sql, everything) == [0, 0, 0]
    assert counters(sql, pipeline) == (0, 0)
    assert sql("SELECT count(*) FROM memories WHERE tenant = %s AND content IS NOT NULL", pipeline.caller.tenant) == [
        (0,)
    ]
    assert (pipeline.caller.tenant, reply.job_id) not in purges(sweeper)
    assert purge(pipeline.app, pipeline.caller.tenant, reply.job_id) == 0


def test_every_deletion_has_an_event_and_a_record_without_content(pipeline: Pipeline, sql: Sql) -> None:
    (gone,) = put(pipeline, SECRET)
    (atom,) = atoms_of(sql, gone.id)
    delete(pipeline, gone)
    delete(pipeline, gone)

    events = sql("SELECT memory FROM events WHERE tenant = %s AND type = 'memory.tombstoned'", pipeline.caller.tenant)
    assert sorted(row[0] for row in events) == sorted([gone.id, atom])
    records = sql("SELECT memory, key, reason, root, kept FROM tombstones WHERE tenant = %s", pipeline.caller.tenant)
    assert sorted(records) == sorted(
        [(gone.id, pipeline.caller.key, "asked for", True, None), (atom, pipeline.caller.key, "asked for", False, None)]
    )


def test_who_may_not_delete_does_not(pipeline: Pipeline) -> None:
    (ref,) = put(pipeline, SECRET)
    caller = replace(pipeline.caller, permissions=frozenset({Permission.INGEST, Permission.QUERY}))

    with pytest.raises(Unauthorized):
        tombstone(pipeline.app, pipeline.keyring, caller, TombstoneRequest(pipeline.scope(), [ref], "no", NONE))


def test_the_scopes_filters_hold(pipeline: Pipeline) -> None:
    ref = replace(put(pipeline, SECRET, scope=pipeline.scope(filters={"room": "r1"}))[0], scope=pipeline.scope())
    other, own = pipeline.scope(filters={"room": "r2"}), pipeline.scope(filters={"room": "r1"})

    assert statuses(delete(pipeline, ref, scope=other)) == [UNKNOWN]
    assert pipeline.content(ref) == SECRET
    assert statuses(delete(pipeline, ref, scope=own)) == [GONE]
    assert statuses(delete(pipeline, ref, scope=own)) == [ALREADY]
