"""A consolidation taken back: nothing is lost, nothing is done twice, and what others changed since stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from infinicon.domain import Cascade, Job, MemoryRef, MemoryType, Permission, Scope, TombstoneRequest, Trigger
from infinicon.errors import InvalidRequest, NotFound, Unauthorized
from infinicon.operations.corrections import resolve
from infinicon.operations.tombstone import tombstone
from infinicon.operations.undoing import undo
from infinicon.ports import ConsolidationInput, Digest, Dispute, Duplicate, Plan, Supersession
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.consolidations import Consolidations, digest, key_of, nothing
from tests.store.operations.test_consolidating import BLUE, GREEN, LYON, TURIN, links, put, statuses, waiting

SAME = "The bicycle is blue, they say."
ALL = {LYON: "active", TURIN: "active", BLUE: "active", GREEN: "active", SAME: "active"}


def everything(request: ConsolidationInput) -> Plan:
    return Plan(
        digests=[Digest("Rosa", "Rosa moved from Lyon to Turin.", [key_of(request, LYON), key_of(request, TURIN)])],
        supersessions=[Supersession(key_of(request, LYON), key_of(request, TURIN), "moved")],
        disputes=[Dispute(key_of(request, BLUE), key_of(request, GREEN), "values")],
        duplicates=[Duplicate(key_of(request, BLUE), key_of(request, SAME))],
    )


def take_back(pipeline: Pipeline, job: Job) -> Job:
    return undo(pipeline.app, pipeline.caller, pipeline.scope(), str(job.id))


def counted(job: Job) -> dict[str, Any]:
    assert isinstance(job.result, dict)
    return dict(job.result)


def ref(pipeline: Pipeline, sql: Sql, content: str) -> MemoryRef:
    ((memory, kind),) = sql(
        "SELECT id, type FROM memories WHERE tenant = %s AND content = %s AND type <> 'episode'",
        pipeline.caller.tenant,
        content,
    )
    return MemoryRef(memory, MemoryType(kind), pipeline.scope())


def test_all_is_as_it_was_and_waits_for_a_person(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN, BLUE, GREEN, SAME)
    made = Consolidations(pipeline, everything)
    job = made.run()
    assert set(statuses(sql, pipeline).values()) == {"active", "superseded", "disputed"}
    undone = take_back(pipeline, job)

    assert statuses(sql, pipeline) == ALL
    assert links(sql, pipeline) == set()
    assert (counted(undone)["undone"], counted(undone)["revived"]) == (1, 4)
    assert waiting(sql, pipeline) == (0, 0)
    assert len(pipeline.query("Rosa bicycle", 10).hits) == 5
    # No trigger takes it up again. A person does, and gets nothing of what was taken back.
    seen = len(made.stub.seen)
    made.run(trigger=Trigger.SCHEDULED)
    assert len(made.stub.seen) == seen
    assert statuses(sql, pipeline) == ALL
    again = counted(made.run())
    assert len(made.stub.seen) == seen + 1
    assert (again["memories"], again["refused"]) == (5, 4)
    assert {again[name] for name in ("consolidations", "superseded", "duplicates", "disputed")} == {0}
    assert statuses(sql, pipeline) == ALL
    assert counted(job)["refused"] == 0


def test_again_changes_nothing(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN)
    job = Consolidations(pipeline, digest).run()
    first = take_back(pipeline, job)
    events = sql("SELECT count(*) FROM events WHERE tenant = %s", pipeline.caller.tenant)

    assert take_back(pipeline, job) == first
    assert sql("SELECT count(*) FROM events WHERE tenant = %s", pipeline.caller.tenant) == events


def test_every_step_has_its_event(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(
        pipeline, lambda request: Plan(supersessions=[Supersession(key_of(request, LYON), key_of(request, TURIN), "m")])
    )
    job = made.run()
    take_back(pipeline, job)

    lyon = ref(pipeline, sql, LYON).id
    told = [row[0] for row in sql("SELECT type FROM events WHERE memory = %s ORDER BY seq", lyon)]
    assert told == ["atom.extracted", "memory.indexed", "memory.superseded", "memory.indexed"]


def test_what_others_changed_since_stays(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN, BLUE, GREEN, SAME)
    job = Consolidations(pipeline, everything).run()
    blue, green = ref(pipeline, sql, BLUE), ref(pipeline, sql, GREEN)
    resolve(pipeline.app, pipeline.caller, pipeline.scope(), [blue, green], green)
    assert statuses(sql, pipeline)[BLUE] == "superseded"
    take_back(pipeline, job)

    # A person said that it is green. What said the same as the blue one is not in its place, and comes back.
    assert statuses(sql, pipeline) == {**ALL, BLUE: "superseded"}


def test_chains_are_taken_back_from_their_end(pipeline: Pipeline, sql: Sql) -> None:
    rome = "Rosa moved to Rome."
    put(pipeline, LYON, TURIN)
    made = Consolidations(
        pipeline, lambda request: Plan(supersessions=[Supersession(key_of(request, LYON), key_of(request, TURIN), "m")])
    )
    first = made.run()
    put(pipeline, rome)
    made.stub.plan = lambda request: Plan(
        supersessions=[Supersession(key_of(request, TURIN), key_of(request, rome), "m")]
    )
    second = made.run()
    assert statuses(sql, pipeline) == {LYON: "superseded", TURIN: "superseded", rome: "active"}
    take_back(pipeline, second)
    assert statuses(sql, pipeline) == {LYON: "superseded", TURIN: "active", rome: "active"}
    take_back(pipeline, first)
    assert statuses(sql, pipeline) == {LYON: "active", TURIN: "active", rome: "active"}


def test_a_digest_of_a_digest_goes_with_it_and_an_older_version_comes_back(pipeline: Pipeline, sql: Sql) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, digest)
    made.run()
    ada = "Rosa moved to Turin with Ada."
    put(pipeline, ada)
    second = made.run()
    old, new = f"{LYON} {TURIN}", " ".join(sorted([LYON, TURIN, ada]))
    assert statuses(sql, pipeline)[old] == "superseded"
    assert statuses(sql, pipeline)[new] == "active"
    take_back(pipeline, second)

    assert statuses(sql, pipeline) == {LYON: "active", TURIN: "active", ada: "active", old: "active"}


def test_what_was_deleted_since_stays_deleted(pipeline: Pipeline, sql: Sql) -> None:
    episodes = put(pipeline, LYON, TURIN)
    made = Consolidations(
        pipeline, lambda request: Plan(supersessions=[Supersession(key_of(request, LYON), key_of(request, TURIN), "m")])
    )
    job = made.run()
    delete(pipeline, episodes[0])
    take_back(pipeline, job)

    assert statuses(sql, pipeline) == {TURIN: "active"}


def delete(pipeline: Pipeline, *episodes: UUID, cascade: Cascade = Cascade.TOMBSTONE_DERIVED) -> None:
    refs = [MemoryRef(episode, MemoryType.EPISODE, pipeline.scope()) for episode in episodes]
    request = TombstoneRequest(pipeline.scope(), refs, "asked for", cascade)
    tombstone(pipeline.app, pipeline.keyring, pipeline.caller, request)


def test_what_cannot_be_undone_says_so(pipeline: Pipeline) -> None:
    put(pipeline, LYON, TURIN)
    made = Consolidations(pipeline, nothing)
    job = made.ask()
    with pytest.raises(InvalidRequest, match="not over"):
        take_back(pipeline, job)
    with pytest.raises(InvalidRequest, match="only a consolidation"):
        take_back(pipeline, pipeline.jobs(type="ingest").jobs[0])
    for wrong in ("nonsense", "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d"):
        with pytest.raises(NotFound):
            undo(pipeline.app, pipeline.caller, pipeline.scope(), wrong)
    with pytest.raises(NotFound):
        undo(pipeline.app, pipeline.caller, Scope(pipeline.caller.tenant_name, "elsewhere"), str(job.id))
    weak = replace(pipeline.caller, permissions=frozenset({Permission.JOBS}))
    with pytest.raises(Unauthorized):
        undo(pipeline.app, weak, pipeline.scope(), str(job.id))
