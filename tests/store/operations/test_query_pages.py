"""query by pages: each ref once, no page short but the last, and nothing on a later page that may not be shown any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest

from infinicon.domain import (
    Cascade,
    Hit,
    IngestEpisode,
    MemoryFilters,
    MemoryType,
    Permission,
    Scope,
    Status,
    TombstoneRequest,
)
from infinicon.errors import InvalidCursor, ScopeMismatch, Unauthorized
from infinicon.operations import query as operation
from infinicon.operations import ranking
from infinicon.operations.dispatch import forget
from infinicon.operations.tombstone import tombstone
from infinicon.ports import Vectors
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline, WordEmbedder

QUESTION = "number of boats in the bay"
OLDEST = """
    UPDATE query_pages SET expires_at = now() - interval '1 s'
    WHERE id = (SELECT id FROM query_pages WHERE tenant = %s ORDER BY id LIMIT 1)
"""
STORED = "SELECT count(*) FROM query_pages WHERE tenant = %s"


def fill(pipeline: Pipeline, count: int = 45, scope: Scope | None = None) -> None:
    pipeline.put(*[f"The bay has number {number} of its boats." for number in range(count)], scope=scope)
    pipeline.drain()


def pages(pipeline: Pipeline, limit: int, filters: MemoryFilters = ranking.ACTIVE) -> list[Sequence[Hit]]:
    found: list[Sequence[Hit]] = []
    cursor = None
    while True:
        assert len(found) < 100, "pages without end"
        reply = pipeline.query(QUESTION, limit, filters=filters, cursor=cursor)
        found.append(reply.hits)
        cursor = reply.cursor
        if cursor is None:
            return found


def ids(hits: Sequence[Hit]) -> list[UUID]:
    return [hit.ref.id for hit in hits]


@pytest.mark.parametrize("limit", [1, 7, 9, 15, 44, 45, 46, 1_000])
def test_pages_are_the_list_in_pieces(pipeline: Pipeline, limit: int) -> None:
    fill(pipeline)
    whole = pipeline.query(QUESTION, 1_000)
    read = pages(pipeline, limit)
    listed = [hit for page in read for hit in page]

    assert whole.cursor is None
    assert [len(page) for page in read[:-1]] == [limit] * (len(read) - 1)
    assert 0 < len(read[-1]) <= limit
    assert [(hit.ref, hit.score, hit.sources) for hit in listed] == [
        (hit.ref, hit.score, hit.sources) for hit in whole.hits
    ]
    assert all("boats" in hit.reason and "similar in meaning" in hit.reason for hit in listed)


def test_ninety_of_the_same_text(pipeline: Pipeline) -> None:
    """Of equal rank all: each in a session of its own, since a statement is one atom in its scope."""
    for session in range(90):
        pipeline.put("Equal boats.", scope=pipeline.scope(session=f"s{session}"))
    pipeline.drain()
    listed = [memory for page in pages(pipeline, 20) for memory in ids(page)]

    assert len(listed) == len(set(listed)) == 90
    assert listed == sorted(listed, reverse=True)


def test_after_the_best_are_gone_the_next_best_come_at_once(pipeline: Pipeline) -> None:
    """However many there are: a limit is kept, and what is deleted uses up nobody's place."""
    fill(pipeline, 300)
    best = pipeline.query(QUESTION, 150).hits
    assert len(set(ids(best))) == 150
    refs = [hit.ref for hit in best]
    tombstone(
        pipeline.app, pipeline.keyring, pipeline.caller, TombstoneRequest(pipeline.scope(), refs, "gone", Cascade.NONE)
    )

    after = [ids(pipeline.query(QUESTION, limit).hits) for limit in (10, 150, 1_000)]
    assert [len(found) for found in after] == [10, 150, 150]
    assert set(after[2]).isdisjoint(ids(best))
    assert after[0] == after[2][:10]


def test_only_what_has_a_second_page_is_kept(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline, 5)
    assert pipeline.query(QUESTION, 5).cursor is None
    assert pipeline.query(QUESTION, 6).cursor is None
    assert sql(STORED, pipeline.caller.tenant) == [(0,)]
    assert pipeline.query(QUESTION, 4).cursor is not None
    assert sql(STORED, pipeline.caller.tenant) == [(1,)]
    ((kept,),) = sql("SELECT query_pages::text FROM query_pages WHERE tenant = %s", pipeline.caller.tenant)
    assert "boats" not in kept


def test_the_same_cursor_gives_the_same_page(pipeline: Pipeline) -> None:
    fill(pipeline)
    cursor = pipeline.query(QUESTION, 10).cursor

    replies = [pipeline.query(QUESTION, 10, cursor=cursor) for _ in range(3)]
    assert replies[0] == replies[1] == replies[2]
    # Another limit is another piece of the same list.
    assert ids(pipeline.query(QUESTION, 3, cursor=cursor).hits) == ids(replies[0].hits)[:3]


def test_what_comes_in_meanwhile_moves_nothing(pipeline: Pipeline) -> None:
    fill(pipeline)
    whole = ids(pipeline.query(QUESTION, 1_000).hits)
    first = pipeline.query(QUESTION, 10)
    pipeline.put(*[f"In the bay the number of boats is {number}." for number in range(20)])
    pipeline.drain()

    listed, cursor = ids(first.hits), first.cursor
    while cursor is not None:
        reply = pipeline.query(QUESTION, 10, cursor=cursor)
        listed += ids(reply.hits)
        cursor = reply.cursor
    assert listed[: len(whole)] == whole
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize(
    "gone",
    ["status = 'tombstoned'", "status = 'disputed'", "expires_at = now()", "stale = true"],
)
def test_what_goes_meanwhile_leaves_no_short_page(pipeline: Pipeline, sql: Sql, gone: str) -> None:
    fill(pipeline)
    whole = ids(pipeline.query(QUESTION, 1_000).hits)
    first = pipeline.query(QUESTION, 10)
    leaving = {*whole[5:8], *whole[12:33], whole[44]}
    sql(f"UPDATE memories SET {gone} WHERE tenant = %s AND id = ANY(%s)", pipeline.caller.tenant, list(leaving))
    second = pipeline.query(QUESTION, 10, cursor=first.cursor)
    third = pipeline.query(QUESTION, 10, cursor=second.cursor)

    staying = [memory for memory in whole[10:] if memory not in leaving]
    assert ids(second.hits) == staying[:10]
    assert ids(third.hits) == staying[10:]
    assert third.cursor is None


def test_filters_hold_on_every_page(pipeline: Pipeline, sql: Sql) -> None:
    notes = [
        IngestEpisode("text/plain", f"The bay has number {n} of its boats.", tags=["even"] if n % 2 == 0 else [])
        for n in range(40)
    ]
    pipeline.ingest(*notes)
    pipeline.drain()
    filters = MemoryFilters(tags=frozenset({"even"}))
    whole = pipeline.query(QUESTION, 100, filters=filters).hits
    cursor = pipeline.query(QUESTION, 8, filters=filters).cursor
    (victim,) = whole[9:10]
    # An atom is there for a source that has the tag as well as for itself: when neither is there any more, it goes.
    sql("UPDATE memories SET tags = '{}' WHERE id = %s", victim.ref.id)
    assert ids(pipeline.query(QUESTION, 8, filters=filters, cursor=cursor).hits) == ids(whole[8:16])
    sql("UPDATE memories SET status = 'tombstoned' WHERE id = %s", victim.sources[0].id)
    assert ids(pipeline.query(QUESTION, 8, filters=filters, cursor=cursor).hits) == ids([whole[8], *whole[10:17]])


def test_a_list_that_ends_too_early_is_made_longer(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "POOL", 4)
    fill(pipeline, 60)
    read = pages(pipeline, 3)
    listed = [hit for page in read for hit in page]

    assert [len(page) for page in read[:-1]] == [3] * (len(read) - 1)
    assert set(ids(listed)) == set(ids(pipeline.query(QUESTION, 1_000).hits))
    assert len(listed) == 60
    scores = [hit.score for hit in listed]
    assert scores == sorted(scores, reverse=True)


def test_doubles_stay_away_also_behind_the_first_list(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "POOL", 4)
    pipeline.put(*[f"The bay has {number} boats. And number {number} of the herons." for number in range(30)])
    pipeline.drain()
    hits = [hit for page in pages(pipeline, 2) for hit in page]

    episodes = {hit.ref.id for hit in hits if hit.ref.type is MemoryType.EPISODE}
    assert len(hits) == len(set(ids(hits)))
    assert episodes.isdisjoint(source.id for hit in hits for source in hit.sources)


def test_who_was_listed_and_went_still_stands_for_its_double(
    pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "POOL", 4)
    pipeline.put(*[f"The bay has {number} boats. And number {number} of the herons." for number in range(30)])
    pipeline.drain()
    first = pipeline.query(QUESTION, 2)
    sql("UPDATE memories SET status = 'superseded' WHERE id = ANY(%s)", ids(first.hits))
    doubles = {
        other
        for pair in sql("SELECT from_id, to_id FROM links WHERE tenant = %s", pipeline.caller.tenant)
        for other in pair
        if not {*pair}.isdisjoint(ids(first.hits))
    }
    rest = []
    cursor = first.cursor
    while cursor is not None:
        reply = pipeline.query(QUESTION, 20, cursor=cursor)
        rest += ids(reply.hits)
        cursor = reply.cursor

    assert len(rest) > 20
    assert doubles.isdisjoint(rest)


def test_depth_is_bounded(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "POOL", 4)
    monkeypatch.setattr(operation, "QUERY_DEPTH", 25)
    fill(pipeline)

    assert [len(page) for page in pages(pipeline, 10)] == [10, 10, 5]
    assert len(pipeline.query(QUESTION, 40).hits) == 40


class Counted(WordEmbedder):
    """Knows how often it was asked."""

    asked = 0

    def embed_query(self, text: str) -> Vectors:
        self.asked += 1
        return super().embed_query(text)


def test_the_encoder_is_asked_once(pipeline: Pipeline) -> None:
    pipeline.embedder = embedder = Counted()
    fill(pipeline)
    pages(pipeline, 10)

    assert embedder.asked == 1


def test_without_a_vector_the_words_are_the_reason(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline, 6)
    sql("UPDATE space_rows SET vector = NULL WHERE tenant = %s", pipeline.caller.tenant)
    read = pages(pipeline, 4)

    assert [len(page) for page in read] == [4, 2]
    assert {hit.reason for page in read for hit in page} == {"has “bay”, “boats”, “number”"}


def test_a_cursor_is_good_for_its_scope_alone(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]) -> None:
    scope = pipeline.scope(agent="a", filters={"p": 1})
    fill(pipeline, 20, scope)
    fill(pipeline, 20)
    cursor = pipeline.query(QUESTION, 5, scope).cursor

    assert len(pipeline.query(QUESTION, 5, scope, cursor=cursor).hits) == 5
    for other in (
        pipeline.scope(),
        pipeline.scope(agent="a"),
        pipeline.scope(agent="b", filters={"p": 1}),
        pipeline.scope(agent="a", filters={"p": 2}),
        pipeline.scope(agent="a", session="s", filters={"p": 1}),
        pipeline.scope("elsewhere", agent="a", filters={"p": 1}),
    ):
        with pytest.raises(ScopeMismatch):
            pipeline.query(QUESTION, 5, other, cursor=cursor)
    stranger = new_pipeline()
    with pytest.raises(ScopeMismatch):
        stranger.query(QUESTION, 5, stranger.scope(agent="a", filters={"p": 1}), cursor=cursor)


def test_a_cursor_is_good_for_its_question_alone(pipeline: Pipeline) -> None:
    fill(pipeline, 20)
    filters = MemoryFilters(created_after=datetime.now(UTC) - timedelta(days=1), metadata={})
    cursor = pipeline.query(QUESTION, 5, filters=filters).cursor

    assert len(pipeline.query(QUESTION, 5, filters=filters, cursor=cursor).hits) == 5
    for question, other in (
        (QUESTION + " ", filters),
        (QUESTION, MemoryFilters()),
        (QUESTION, replace(filters, created_after=datetime.now(UTC) - timedelta(days=2))),
        (QUESTION, replace(filters, created_after=None, created_before=filters.created_after)),
        (QUESTION, replace(filters, tags=frozenset({"x"}))),
        (QUESTION, replace(filters, metadata={"a": 1})),
        (QUESTION, replace(filters, types=frozenset({MemoryType.ATOM}))),
        (QUESTION, replace(filters, statuses=frozenset({Status.ACTIVE, Status.DISPUTED}))),
    ):
        with pytest.raises(InvalidCursor) as refused:
            pipeline.query(question, 5, filters=other, cursor=cursor)
        assert refused.value.details == {"field": "cursor"}


def test_what_is_no_cursor(pipeline: Pipeline, sql: Sql, sweeper: object) -> None:
    fill(pipeline, 20)
    cursor = pipeline.query(QUESTION, 5).cursor
    assert cursor is not None
    jobs = pipeline.jobs(limit=1).cursor
    for other in ("", "zzz", cursor[:-1], cursor + "A", cursor.swapcase(), "é", "x" * 5_000, jobs):
        if other is not None:
            with pytest.raises(InvalidCursor):
                pipeline.query(QUESTION, 5, cursor=other)
    sql("UPDATE query_pages SET expires_at = now() WHERE tenant = %s", pipeline.caller.tenant)
    with pytest.raises(InvalidCursor):
        pipeline.query(QUESTION, 5, cursor=cursor)


def test_what_is_too_old_is_dropped(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline, 20)
    old, new = pipeline.query(QUESTION, 5).cursor, pipeline.query(QUESTION, 5).cursor
    sql(
        OLDEST,
        pipeline.caller.tenant,
    )
    forget(pipeline.sweeper, 3600)

    assert sql(STORED, pipeline.caller.tenant) == [(1,)]
    assert len(pipeline.query(QUESTION, 5, cursor=new).hits) == 5
    with pytest.raises(InvalidCursor):
        pipeline.query(QUESTION, 5, cursor=old)


def test_a_key_that_may_no_more_reads_no_further(pipeline: Pipeline) -> None:
    fill(pipeline, 20)
    cursor = pipeline.query(QUESTION, 5).cursor
    everything = pipeline.caller
    for caller in (
        replace(everything, permissions=frozenset({Permission.HYDRATE})),
        replace(everything, namespaces=frozenset()),
    ):
        pipeline.caller = caller
        with pytest.raises(Unauthorized):
            pipeline.query(QUESTION, 5, cursor=cursor)


def test_warnings_are_of_the_page(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline, 6)
    every = MemoryFilters(statuses=frozenset({Status.ACTIVE, Status.SUPERSEDED}))
    order = ids(pipeline.query(QUESTION, 6, filters=every).hits)
    sql("UPDATE memories SET status = 'superseded' WHERE id = ANY(%s)", [order[1], order[5]])
    first = pipeline.query(QUESTION, 3, filters=every)
    second = pipeline.query(QUESTION, 3, filters=every, cursor=first.cursor)

    for page, memory in ((first, order[1]), (second, order[5])):
        (warning,) = page.warnings
        assert (warning.code, [ref.id for ref in warning.refs]) == ("superseded_memory_included", [memory])
        assert [hit.ref.id for hit in page.hits if hit.warnings] == [memory]


def test_scores_survive_their_being_kept(pipeline: Pipeline) -> None:
    fill(pipeline)
    whole = [hit.score for hit in pipeline.query(QUESTION, 1_000).hits]
    paged = [hit.score for page in pages(pipeline, 10) for hit in page]

    assert paged == whole
    assert all(np.isfinite(score) for score in paged)
