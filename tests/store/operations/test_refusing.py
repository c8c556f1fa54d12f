"""What a person takes back of a consolidation: one merge of many, for good; and nothing else is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from infinicon.domain import MemoryRef
from infinicon.operations.corrections import resolve
from infinicon.ports import ConsolidationInput, Digest, Dispute, Duplicate, Plan, Supersession
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.consolidations import Consolidations, key_of
from tests.store.operations.test_consolidate import look, previews
from tests.store.operations.test_consolidating import BLUE, GREEN, LYON, TURIN, links, put, statuses
from tests.store.operations.test_undoing import counted, ref, take_back

NEAR = "Rosa moved and lives in Lyon or in Turin, the bicycle is blue or green"
"""Whatever is looked at with it is near to it."""


def merged(request: ConsolidationInput) -> Plan:
    """Both ways in which a memory gives way."""
    return Plan(
        supersessions=[Supersession(key_of(request, LYON), key_of(request, TURIN), "moved")],
        duplicates=[Duplicate(key_of(request, BLUE), key_of(request, GREEN))],
    )


def _over(plan: Callable[[str, str], Plan], old: str, new: str, request: ConsolidationInput) -> Plan:
    return plan(key_of(request, old), key_of(request, new))


def say(pipeline: Pipeline, *named: MemoryRef, holds: MemoryRef | None = None) -> list[str]:
    found = resolve(pipeline.app, pipeline.caller, pipeline.scope(), named, holds)
    return [one.status.value for one in found]


@pytest.fixture
def made(pipeline: Pipeline) -> Consolidations:
    put(pipeline, LYON, TURIN, BLUE, GREEN)
    return Consolidations(pipeline, merged)


@pytest.mark.parametrize(("old", "new", "left"), [(LYON, TURIN, GREEN), (GREEN, BLUE, LYON)])
def test_one_wrong_merge_is_repaired_and_does_not_come_back(
    pipeline: Pipeline, sql: Sql, made: Consolidations, old: str, new: str, left: str
) -> None:
    made.run()
    gone, stands = ref(pipeline, sql, old), ref(pipeline, sql, new)
    assert say(pipeline, stands, gone) == ["active", "active"]
    assert say(pipeline, stands, gone) == ["active", "active"]
    assert statuses(sql, pipeline) == {**dict.fromkeys([LYON, TURIN, BLUE, GREEN], "active"), left: "superseded"}
    assert len(links(sql, pipeline)) == 1
    told = [row[0] for row in sql("SELECT type FROM events WHERE memory = %s ORDER BY seq", gone.id)]
    assert told == ["atom.extracted", "memory.indexed", "memory.superseded", "memory.indexed"]

    # Neither in this order nor in the other, nor as something else that retires one of them.
    retire: list[Callable[[str, str], Plan]] = [
        lambda one, other: Plan(supersessions=[Supersession(one, other, "moved")]),
        lambda one, other: Plan(supersessions=[Supersession(other, one, "moved")]),
        lambda one, other: Plan(duplicates=[Duplicate(one, other)]),
    ]
    for number, plan in enumerate(retire):
        put(pipeline, f"{NEAR} {number}")
        made.stub.plan = partial(_over, plan, old, new)
        assert counted(made.run())["refused"] == 1
        assert (statuses(sql, pipeline)[old], statuses(sql, pipeline)[new]) == ("active", "active")


def test_what_held_takes_the_place_of_the_other(pipeline: Pipeline, sql: Sql, made: Consolidations) -> None:
    job = made.run()
    lyon, turin = ref(pipeline, sql, LYON), ref(pipeline, sql, TURIN)
    assert say(pipeline, lyon, turin, holds=turin) == ["superseded", "active"]
    assert say(pipeline, lyon, turin, holds=lyon) == ["active", "superseded"]
    assert say(pipeline, lyon, turin, holds=lyon) == ["active", "superseded"]
    # What a person said is not taken back with the job.
    take_back(pipeline, job)
    assert statuses(sql, pipeline) == {LYON: "active", TURIN: "superseded", BLUE: "active", GREEN: "active"}


def test_a_merge_that_holds_is_left_alone(pipeline: Pipeline, sql: Sql, made: Consolidations) -> None:
    made.run()
    before = statuses(sql, pipeline), links(sql, pipeline)
    say(pipeline, ref(pipeline, sql, LYON), ref(pipeline, sql, BLUE))
    say(pipeline, ref(pipeline, sql, LYON))
    say(pipeline, ref(pipeline, sql, BLUE), ref(pipeline, sql, GREEN), holds=ref(pipeline, sql, BLUE))

    assert (statuses(sql, pipeline), links(sql, pipeline)) == before


def test_other_plans_about_the_same_memories_are_applied(pipeline: Pipeline, sql: Sql, made: Consolidations) -> None:
    def digests(request: ConsolidationInput, *texts: str) -> Any:
        return [Digest("Rosa", text, [key_of(request, LYON), key_of(request, TURIN)]) for text in texts]

    made.stub.plan = lambda request: Plan(
        digests(request, "Rosa moved."), disputes=[Dispute(key_of(request, BLUE), key_of(request, GREEN), "values")]
    )
    take_back(pipeline, made.run())
    assert not look(made, previews(made)).digests
    made.stub.plan = lambda request: Plan(digests(request, "Rosa moved.", "Rosa has moved."))
    shown = look(made, previews(made))
    assert [one.content for one in shown.digests] == ["Rosa has moved."]
    again = counted(made.run())

    assert (again["consolidations"], again["refused"]) == (1, 1)
    put(pipeline, NEAR)
    made.stub.plan = lambda request: Plan(duplicates=[Duplicate(key_of(request, BLUE), key_of(request, GREEN))])
    assert counted(made.run())["duplicates"] == 1


def test_what_lost_its_place_by_itself_is_not_refused(pipeline: Pipeline, sql: Sql, made: Consolidations) -> None:
    made.run()
    made.stub.plan = lambda request: Plan(
        supersessions=[Supersession(key_of(request, LYON), key_of(request, TURIN), "moved")]
    )
    put(pipeline, LYON, NEAR)  # said again: it is active, and nobody said that the consolidation was wrong
    assert statuses(sql, pipeline)[LYON] == "active"
    assert counted(made.run())["superseded"] == 1
