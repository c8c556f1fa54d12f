"""A plan meets a world that went on: sources that were deleted, expired or said again, and secrets that became known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from infinicon.domain import (
    Cascade,
    ContextConstraints,
    HydrateRequest,
    IngestEpisode,
    JobStatus,
    MemoryFilters,
    MemoryRef,
    MemoryType,
    Status,
    TombstoneRequest,
)
from infinicon.errors import Unavailable
from infinicon.operations import selecting
from infinicon.operations.expire import expire
from infinicon.operations.hydrate import hydrate
from infinicon.operations.tombstone import tombstone
from infinicon.ports import ConsolidationInput, Digest, Dispute, Duplicate, Plan, Supersession, Vectors
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline, WordEmbedder
from tests.store.operations.consolidations import Consolidations, digest, key_of, nothing
from tests.store.operations.test_consolidating import BLUE, GREEN, LYON, TURIN, put, statuses, waiting
from tests.store.operations.traces import add, found_in
from tests.together import together

ROME = "Rosa lives in Rome."
BOTH = f"{LYON} {TURIN}"


def delete(pipeline: Pipeline, *episodes: UUID, cascade: Cascade = Cascade.TOMBSTONE_DERIVED) -> None:
    refs = [MemoryRef(episode, MemoryType.EPISODE, pipeline.scope()) for episode in episodes]
    tombstone(
        pipeline.app, pipeline.keyring, pipeline.caller, TombstoneRequest(pipeline.scope(), refs, "asked for", cascade)
    )


def meanwhile(
    happens: Callable[[], None], plan: Callable[[ConsolidationInput], Plan]
) -> Callable[[ConsolidationInput], Plan]:
    """The plug-in thinks, and something happens; once."""
    done: list[bool] = []

    def thinking(request: ConsolidationInput) -> Plan:
        made = plan(request)
        if not done:
            done.append(True)
            happens()
        return made

    return thinking


@pytest.mark.parametrize("cascade", list(Cascade))
def test_a_source_that_is_deleted_while_the_plug_in_thinks_is_never_cited(
    pipeline: Pipeline, sql: Sql, cascade: Cascade
) -> None:
    gone, *_ = put(pipeline, LYON, TURIN, ROME)
    atom = sql("SELECT from_id FROM links WHERE to_id = %s", gone)[0][0]

    def remove() -> None:
        refs = [
            MemoryRef(gone, MemoryType.EPISODE, pipeline.scope()),
            MemoryRef(atom, MemoryType.ATOM, pipeline.scope()),
        ]
        request = TombstoneRequest(pipeline.scope(), refs, "asked for", cascade)
        tombstone(pipeline.app, pipeline.keyring, pipeline.caller, request)

    job = Consolidations(pipeline, meanwhile(remove, digest)).run()

    assert job.status is JobStatus.COMPLETED
    assert statuses(sql, pipeline) == {TURIN: "active", ROME: "active", " ".join(sorted([TURIN, ROME])): "active"}
    assert waiting(sql, pipeline) == (0, 0)
    for text, count in sql(
        "SELECT content, count(*) FROM memories WHERE tenant = %s AND content LIKE '%%Lyon%%' GROUP BY 1",
        pipeline.caller.tenant,
    ):
        raise AssertionError((text, count))


def test_twenty_sources_deleted_at_once_leave_it_stale_and_its_provenance_says_so(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, *[f"Rosa saw {number} swans." for number in range(20)])
    Consolidations(pipeline, digest).run()
    ((memory,),) = sql("SELECT id FROM memories WHERE tenant = %s AND type = 'consolidation'", pipeline.caller.tenant)
    atoms = [row[0] for row in sql("SELECT to_id FROM links WHERE from_id = %s", memory)]

    def remove(atom: UUID) -> None:
        refs = [MemoryRef(atom, MemoryType.ATOM, pipeline.scope())]
        request = TombstoneRequest(pipeline.scope(), refs, "asked for", Cascade.MARK_DERIVED_STALE)
        tombstone(pipeline.app, pipeline.keyring, pipeline.caller, request)

    together(*[lambda atom=atom: remove(atom) for atom in atoms])

    assert sql("SELECT stale, status FROM memories WHERE id = %s", memory) == [(True, "active")]
    wanted = HydrateRequest(pipeline.scope(), [MemoryRef(memory, MemoryType.CONSOLIDATION, pipeline.scope())])
    (shown,) = hydrate(pipeline.app, pipeline.caller, wanted).objects
    assert shown.provenance is not None
    assert [source.status for source in shown.provenance.source_refs] == [Status.TOMBSTONED] * 20


def test_a_stale_one_is_made_anew_from_what_is_left(pipeline: Pipeline, sql: Sql) -> None:
    episodes = put(pipeline, LYON, TURIN, ROME)
    made = Consolidations(pipeline, digest)
    made.run()
    delete(pipeline, episodes[2], cascade=Cascade.MARK_DERIVED_STALE)
    stale = " ".join(sorted([LYON, TURIN, ROME]))
    assert not [hit for hit in pipeline.query("Rosa", 10).hits if hit.ref.type == "consolidation"]
    shown = pipeline.assemble("Rosa", constraints=ContextConstraints(allow_stale=True))
    assert "stale_consolidation" in {warning.code for warning in shown.warnings}
    # The atom of the deleted episode is stale as well: it is no material. Its two neighbours wait again.
    assert waiting(sql, pipeline) == (2, 2)
    made.run()

    found = statuses(sql, pipeline)
    assert (found[BOTH], found[stale]) == ("active", "superseded")
    assert waiting(sql, pipeline) == (0, 0)


def test_what_is_left_of_a_deleted_one_is_made_anew(pipeline: Pipeline, sql: Sql) -> None:
    episodes = put(pipeline, LYON, TURIN, ROME)
    made = Consolidations(pipeline, digest)
    made.run()
    delete(pipeline, episodes[2])
    assert statuses(sql, pipeline) == {LYON: "active", TURIN: "active"}
    assert waiting(sql, pipeline) == (2, 2)
    made.run()

    assert statuses(sql, pipeline) == {LYON: "active", TURIN: "active", BOTH: "active"}


def supersede(request: ConsolidationInput) -> Plan:
    return Plan(supersessions=[Supersession(key_of(request, LYON), key_of(request, TURIN), "moved")])


def fold(request: ConsolidationInput) -> Plan:
    return Plan(duplicates=[Duplicate(key_of(request, TURIN), key_of(request, LYON))])


def contradict(request: ConsolidationInput) -> Plan:
    return Plan(disputes=[Dispute(key_of(request, LYON), key_of(request, TURIN), "values")])


@pytest.mark.parametrize("plan", [supersede, fold, contradict])
@pytest.mark.parametrize("how", ["deleted", "expired"])
def test_what_gave_way_comes_back_when_what_stands_in_its_place_goes(
    pipeline: Pipeline, sql: Sql, plan: Callable[[ConsolidationInput], Plan], how: str
) -> None:
    _, turin = put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, plan)
    made.run()
    assert statuses(sql, pipeline)[LYON] in {"superseded", "disputed"}
    if how == "deleted":
        delete(pipeline, turin)
    else:
        sql(
            "UPDATE memories SET expires_at = now() WHERE tenant = %s AND (id = %s OR content = %s)",
            pipeline.caller.tenant,
            turin,
            TURIN,
        )
        expire(pipeline.sweeper, pipeline.app)

    assert statuses(sql, pipeline) == {LYON: "active"}
    assert [hit.ref.type for hit in pipeline.query("Rosa Lyon").hits] == ["atom"]
    assert waiting(sql, pipeline) == (1, 1)


def test_what_is_said_again_holds_again(pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "NEAR", 0.0)
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, supersede)
    made.run()
    assert statuses(sql, pipeline) == {LYON: "superseded", TURIN: "active"}
    put(pipeline, LYON)

    assert statuses(sql, pipeline) == {LYON: "active", TURIN: "active"}
    assert waiting(sql, pipeline) == (1, 1)
    made.stub.plan = nothing
    made.run()
    turin, lyon = sorted(made.stub.seen[-1].memories, key=lambda one: one.created_at)
    assert (turin.content, lyon.content, lyon.fresh) == (TURIN, LYON, True)


def test_it_lives_no_longer_than_its_sources_and_carries_what_they_share(pipeline: Pipeline, sql: Sql) -> None:
    soon, late = (datetime.now(UTC) + timedelta(days=days) for days in (1, 9))
    when = datetime(2026, 3, 1, 9, tzinfo=UTC)
    scope = pipeline.scope(agent="a", session="1", filters={"project": "x", "team": "one"})
    other = pipeline.scope(agent="a", session="2", filters={"project": "x", "team": "two"})
    episodes = [
        IngestEpisode("text/plain", LYON, tags=["home", "old"], expires_at=late, occurred_at=when),
        IngestEpisode("text/plain", TURIN, tags=["home"], expires_at=soon, occurred_at=when + timedelta(days=30)),
    ]
    for one, place in zip(episodes, (scope, other), strict=True):
        pipeline.ingest(one, scope=place)
    pipeline.drain()
    Consolidations(pipeline, digest).run()

    found = sql(
        "SELECT agent_id, session_id, filters, tags, expires_at, occurred_at, producer, content_o200k_base > 0, unit_chars > 0"
        " FROM memories WHERE tenant = %s AND type = 'consolidation'",
        pipeline.caller.tenant,
    )
    assert found == [("a", None, {"project": "x"}, ["home"], soon, when + timedelta(days=30), "stub@1", True, True)]
    shared = pipeline.query("Rosa", scope=pipeline.scope(agent="a", filters={"project": "x"}))
    narrow = pipeline.query("Rosa", scope=pipeline.scope(agent="a", filters={"team": "one"}))
    assert [sum(hit.ref.type == "consolidation" for hit in reply.hits) for reply in (shared, narrow)] == [1, 0]


def test_times_of_all_zones_are_compared(pipeline: Pipeline) -> None:
    moments = ["2026-11-30T10:00:00+00:00", "2026-11-30T10:00:00+09:00", "2026-11-30T10:00:00-05:00"]
    for number, moment in enumerate(moments):
        pipeline.ingest(
            IngestEpisode("text/plain", f"Rosa saw {number} swans.", occurred_at=datetime.fromisoformat(moment))
        )
    pipeline.put("Rosa saw no swans.")
    pipeline.drain()
    made = Consolidations(pipeline, nothing)
    made.run()

    known = [one for one in made.stub.seen[0].memories if one.occurred_at is not None]
    ordered = sorted(known, key=lambda one: one.occurred_at or one.created_at)
    assert [one.content[9] for one in ordered] == ["1", "0", "2"]


def test_states_and_filters_hold_for_what_is_consolidated(pipeline: Pipeline) -> None:
    put(pipeline, LYON, TURIN, BLUE, GREEN)

    def plan(request: ConsolidationInput) -> Plan:
        keys = [key_of(request, BLUE), key_of(request, GREEN)]
        return Plan(
            digests=[Digest("Bicycle", "The bicycle is blue or green.", keys)],
            supersessions=[Supersession(key_of(request, LYON), key_of(request, TURIN), "moved")],
        )

    Consolidations(pipeline, plan).run()

    def seen(**filters: object) -> set[str]:
        reply = pipeline.query("Rosa bicycle Lyon", 20, filters=MemoryFilters(**filters))  # type: ignore[arg-type]
        return {str(pipeline.content(hit.ref)) for hit in reply.hits}

    assert LYON not in seen()
    assert LYON in seen(statuses=frozenset({Status.ACTIVE, Status.SUPERSEDED}))
    assert seen(types=frozenset({MemoryType.CONSOLIDATION})) == {"The bicycle is blue or green."}


SECRET = "Tr0ub4dor&3 correct.horse"


def test_what_a_digest_puts_together_is_redacted(pipeline: Pipeline, sql: Sql) -> None:
    stands_for = add(pipeline, SECRET)
    put(pipeline, LYON, TURIN)

    def plan(request: ConsolidationInput) -> Plan:
        return Plan(digests=[Digest(f"On {SECRET}", f"It is {SECRET}.", [one.key for one in request.memories])])

    Consolidations(pipeline, plan).run()

    found = sql(
        "SELECT title, content FROM memories WHERE tenant = %s AND type = 'consolidation'", pipeline.caller.tenant
    )
    assert found == [(f"On {stands_for}", f"It is {stands_for}.")]
    assert found_in(pipeline, sql, SECRET) == set()


def test_a_secret_that_becomes_known_while_it_is_embedded_is_redacted(pipeline: Pipeline, sql: Sql) -> None:
    class Slow(WordEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            if any(SECRET in text for text in texts):
                add(pipeline, SECRET)
            return super().embed(texts)

    put(pipeline, LYON, TURIN)
    pipeline.embedder = Slow()
    made = Consolidations(
        pipeline,
        lambda request: Plan(digests=[Digest("T", f"It is {SECRET}.", [one.key for one in request.memories])]),
    )
    job = made.ask()
    (ref,) = made.published()
    with pytest.raises(Unavailable):
        made.work(ref)
    assert set(statuses(sql, pipeline)) == {LYON, TURIN}
    (ref,) = made.published(lost=True)
    assert made.work(ref) is None

    assert made.job(job.id).status is JobStatus.COMPLETED
    assert found_in(pipeline, sql, SECRET) == set()
