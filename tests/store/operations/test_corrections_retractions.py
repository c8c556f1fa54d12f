"""What is held no more is not told by the way either: through an episode that says it, or hides it from one that says it rightly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from infinicon.domain import (
    Cascade,
    ContextConstraints,
    IngestEpisode,
    MemoryFilters,
    MemoryRef,
    MemoryType,
    Status,
    TombstoneRequest,
)
from infinicon.operations.corrections import dispute, resolve
from infinicon.operations.tombstone import tombstone
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline

CAP = "The budget cap is 500 euros."
FRANK = "Frank approved the plan last week."
NEW_CAP = "The budget cap is 700 euros."
GANNET = "The gannet nests on Bass Rock."


@dataclass(frozen=True, slots=True)
class Desk:
    """Somebody who says things, takes them back and asks."""

    pipeline: Pipeline
    sql: Sql

    def says(self, text: str, **fields: object) -> MemoryRef:
        episode = IngestEpisode("text/plain", text, dedupe_key=str(uuid4()), **fields)  # type: ignore[arg-type]
        ref = self.pipeline.ingest(episode).results[0].ref
        self.pipeline.drain()
        return ref

    def atom(self, episode: MemoryRef, text: str) -> MemoryRef:
        rows = self.sql(
            """SELECT m.id FROM links l JOIN memories m ON m.tenant = l.tenant AND m.id = l.from_id
               WHERE l.to_id = %s AND l.link_type = 'derived_from' AND m.content = %s""",
            episode.id,
            text,
        )
        return MemoryRef(rows[0][0], MemoryType.ATOM, episode.scope)

    def deletes(self, ref: MemoryRef, cascade: Cascade) -> None:
        tombstone(
            self.pipeline.app,
            self.pipeline.keyring,
            self.pipeline.caller,
            TombstoneRequest(ref.scope, [ref], "wrong", cascade),
        )

    def disputes(self, *refs: MemoryRef) -> None:
        dispute(self.pipeline.app, self.pipeline.caller, refs[0].scope, refs)

    def finds(self, text: str, statuses: Sequence[Status] = (Status.ACTIVE,), **filters: object) -> set[UUID]:
        wanted = MemoryFilters(statuses=frozenset(statuses), **filters)  # type: ignore[arg-type]
        return {hit.ref.id for hit in self.pipeline.query(text, filters=wanted).hits}

    def reads(self, task: str, **constraints: bool) -> str:
        context = self.pipeline.assemble(task, constraints=ContextConstraints(**constraints))  # type: ignore[arg-type]
        return "\n".join(str(segment.content) for segment in context.segments)


@pytest.fixture
def desk(pipeline: Pipeline, sql: Sql) -> Desk:
    return Desk(pipeline, sql)


@pytest.mark.parametrize("way", ["tombstoned", "corrected", "superseded", "disputed"])
def test_an_episode_is_not_shown_for_what_it_says_and_is_held_no_more(desk: Desk, way: str) -> None:
    """Frank's statement stands by itself; the cap of 500 euros is read nowhere."""
    episode = desk.says(f"{CAP} {FRANK}")
    cap, frank = desk.atom(episode, CAP), desk.atom(episode, FRANK)
    allowed = {"superseded": Status.SUPERSEDED, "corrected": Status.SUPERSEDED, "disputed": Status.DISPUTED}.get(way)
    if way == "tombstoned":
        desk.deletes(cap, Cascade.TOMBSTONE_DERIVED)
    elif way == "disputed":
        desk.disputes(cap, desk.says(NEW_CAP))
    else:
        desk.says(NEW_CAP, **{"corrects" if way == "corrected" else "supersedes": [cap]})

    assert not desk.finds(CAP) & {episode.id, cap.id}
    assert not desk.finds(CAP, types=frozenset({MemoryType.EPISODE})) & {episode.id}
    assert CAP not in desk.reads("budget cap euros approved plan")
    assert FRANK in desk.reads("budget cap euros approved plan")
    assert frank.id in desk.finds(FRANK)
    if allowed is not None:
        both = {Status.ACTIVE, allowed}
        assert desk.finds(CAP, sorted(both)) & {episode.id, cap.id}
        including = {"include_disputed": True} if allowed is Status.DISPUTED else {"include_superseded": True}
        assert CAP in desk.reads("budget cap euros approved plan", **including)


def test_a_page_that_was_listed_before_does_not_show_it_after(desk: Desk) -> None:
    episode = desk.says(f"{CAP} {FRANK}")
    only_episodes = MemoryFilters(types=frozenset({MemoryType.EPISODE}))
    for number in range(3):
        desk.says(f"{FRANK} Note number {number} is about it.")
    first = desk.pipeline.query(FRANK, 1, filters=only_episodes)
    desk.deletes(desk.atom(episode, CAP), Cascade.TOMBSTONE_DERIVED)

    seen, cursor = {hit.ref.id for hit in first.hits} - {episode.id}, first.cursor
    while cursor is not None:
        page = desk.pipeline.query(FRANK, 1, filters=only_episodes, cursor=cursor)
        seen |= {hit.ref.id for hit in page.hits}
        cursor = page.cursor
    assert episode.id not in seen


def test_who_holds_after_a_dispute_is_shown_and_who_does_not_is_not(desk: Desk) -> None:
    two, five = desk.says("The server room is on floor two."), desk.says("The server room is on floor five.")
    desk.disputes(two, five)
    assert not desk.finds("On which floor is the server room?")
    assert desk.reads("server room floor") == ""
    assert "floor two" in desk.reads("server room floor", include_disputed=True)

    resolve(desk.pipeline.app, desk.pipeline.caller, two.scope, [two, five], holds=five)
    assert "floor five" in desk.reads("server room floor")
    assert "floor two" not in desk.reads("server room floor")


def test_a_dispute_of_atoms_that_ends_leaves_the_one_that_holds(desk: Desk) -> None:
    first, second = desk.says(f"{CAP} {FRANK}"), desk.says(f"{NEW_CAP} Berta wrote it down.")
    old, new = desk.atom(first, CAP), desk.atom(second, NEW_CAP)
    desk.disputes(old, new)
    assert "euros" not in desk.reads("budget cap euros")

    resolve(desk.pipeline.app, desk.pipeline.caller, old.scope, [old, new], holds=new)
    assert NEW_CAP in desk.reads("budget cap euros")
    assert CAP not in desk.reads("budget cap euros")
    assert second.id in desk.finds(NEW_CAP, types=frozenset({MemoryType.EPISODE}))


@pytest.mark.parametrize("later", [False, True], ids=["said before", "said after"])
@pytest.mark.parametrize("way", ["stale", "superseded", "disputed"])
def test_who_says_the_same_and_was_not_meant_is_found(desk: Desk, way: str, later: bool) -> None:
    """Two episodes share an atom; what happens to one of them is not the other's business."""
    first = desk.says(GANNET)
    second = None if later else desk.says(GANNET)
    if way == "stale":
        desk.deletes(first, Cascade.MARK_DERIVED_STALE)
    elif way == "superseded":
        desk.says("The gannet nests on Ailsa Craig.", corrects=[first])
    else:
        desk.disputes(first, desk.says("No gannet was ever seen here."))
    second = second or desk.says(GANNET)

    found = desk.finds("Where does the gannet nest?")
    assert second.id in found or desk.atom(second, GANNET).id in found
    assert first.id not in found
    assert GANNET in desk.reads("Where does the gannet nest?")


def test_what_is_said_again_after_a_correction_of_the_statement_itself_is_told_by_who_says_it(desk: Desk) -> None:
    cap = desk.atom(desk.says(f"{CAP} {FRANK}"), CAP)
    desk.says(NEW_CAP, corrects=[cap])
    again = desk.says(CAP)

    assert again.id in desk.finds(CAP)
    assert desk.sql("SELECT status FROM memories WHERE id = %s", cap.id) == [("superseded",)]


def test_the_other_source_of_a_statement_is_shown_whole_after_the_first_is_gone(
    desk: Desk, new_pipeline: Callable[[], Pipeline]
) -> None:
    first, second = desk.says(f"{GANNET} {FRANK}"), desk.says(f"{GANNET} {CAP}")
    desk.deletes(first, Cascade.TOMBSTONE_DERIVED)

    assert second.id in desk.finds(GANNET, types=frozenset({MemoryType.EPISODE}))


@pytest.mark.parametrize("way", ["corrects", "supersedes", "disputes"])
def test_what_a_deleted_correction_said_no_to_holds_again(desk: Desk, way: str) -> None:
    old = desk.says(GANNET)
    if way == "disputes":
        new = desk.says("The gannet nests on Ailsa Craig.")
        desk.disputes(old, new)
    else:
        new = desk.says("The gannet nests on Ailsa Craig.", **{way: [old]})
    assert GANNET not in desk.reads("Where does the gannet nest?")

    desk.deletes(new, Cascade.TOMBSTONE_DERIVED)
    assert GANNET in desk.reads("Where does the gannet nest?")
    assert desk.sql(
        "SELECT DISTINCT status FROM memories WHERE content = %s AND tenant = %s", GANNET, desk.pipeline.caller.tenant
    ) == [("active",)]


def test_a_chain_of_corrections_is_not_undone_from_its_middle(desk: Desk) -> None:
    first = desk.says("Rosa lives in Lyon.")
    second = desk.says("Rosa lives in Turin.", corrects=[first])
    third = desk.says("Rosa lives in Porto.", corrects=[second])
    desk.deletes(second, Cascade.TOMBSTONE_DERIVED)

    assert desk.reads("Where does Rosa live?").count("Rosa lives") == 1
    assert "Porto" in desk.reads("Where does Rosa live?")
    desk.deletes(third, Cascade.TOMBSTONE_DERIVED)
    assert "Lyon" in desk.reads("Where does Rosa live?")
