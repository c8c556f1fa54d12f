"""The same twice is stored once: within a request, across requests, across callers at the same moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from sqlalchemy import text

from infinicon.domain import (
    NIL_ID,
    Fault,
    IngestEpisode,
    IngestReply,
    IngestStatus,
    JobStatus,
    MemoryType,
    Scope,
)
from infinicon.store import database, jobs
from infinicon.store.database import translate
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.together import together

CREATED, DEDUPLICATED, REJECTED = IngestStatus.CREATED, IngestStatus.DEDUPLICATED, IngestStatus.REJECTED


def keyed(key: str | None, content: str = "The gate code is on the blue tag.") -> IngestEpisode:
    return IngestEpisode("text/plain", content, dedupe_key=key)


def statuses(reply: IngestReply) -> list[IngestStatus]:
    return [result.status for result in reply.results]


def episodes(sql: Sql, pipeline: Pipeline) -> int:
    rows = sql("SELECT count(*) FROM memories WHERE tenant = %s AND type = 'episode'", pipeline.caller.tenant)
    return int(rows[0][0])


def test_results_are_in_the_order_of_the_request(pipeline: Pipeline, sql: Sql) -> None:
    texts = [f"Sentence number {number} of the list." for number in range(20)]
    reply = pipeline.ingest(*[keyed(text, text) for text in texts])

    stored = {
        row[0]: row[1] for row in sql("SELECT id, content FROM memories WHERE tenant = %s", pipeline.caller.tenant)
    }
    assert [stored[result.ref.id] for result in reply.results] == texts
    assert {result.ref.type for result in reply.results} == {MemoryType.EPISODE}


def test_same_key_and_content_is_the_original(pipeline: Pipeline, sql: Sql) -> None:
    first = pipeline.ingest(keyed("k"))
    again = pipeline.ingest(keyed("k"))

    assert statuses(again) == [DEDUPLICATED]
    assert again.results[0].ref == first.results[0].ref
    assert again.results[0].error is None
    assert not again.results[0].warnings
    assert episodes(sql, pipeline) == 1
    assert pipeline.job(again.job_id).status is JobStatus.COMPLETED
    assert pipeline.job(again.job_id).progress.total == 0


def test_other_content_is_a_conflict_that_names_the_original(pipeline: Pipeline, sql: Sql) -> None:
    first = pipeline.ingest(keyed("k"))
    reply = pipeline.ingest(
        keyed("a", "A neighbour on the left."), keyed("k", "Other words."), keyed("b", "On the right.")
    )

    assert statuses(reply) == [CREATED, REJECTED, CREATED]
    refused = reply.results[1]
    assert refused.ref == first.results[0].ref
    assert refused.error is not None
    assert (refused.error.code, refused.error.retryable) == ("dedupe_conflict", False)
    assert "Other" not in repr(refused.error)
    assert episodes(sql, pipeline) == 3
    assert pipeline.job(reply.job_id).progress.total == 2


def test_twice_in_one_request(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.ingest(keyed("k"), keyed("x", "Something else."), keyed("k"))

    assert statuses(reply) == [CREATED, CREATED, DEDUPLICATED]
    assert reply.results[2].ref == reply.results[0].ref
    assert episodes(sql, pipeline) == 2


def test_conflict_in_one_request(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.ingest(keyed("k"), keyed("k", "Other words."), keyed("k"))

    assert statuses(reply) == [CREATED, REJECTED, DEDUPLICATED]
    assert {result.ref.id for result in reply.results} == {reply.results[0].ref.id}
    assert episodes(sql, pipeline) == 1


def test_without_a_key_nothing_is_compared(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.ingest(keyed(None), keyed(None))

    assert statuses(reply) == [CREATED, CREATED]
    assert episodes(sql, pipeline) == 2


def test_sameness_of_json_is_by_value(pipeline: Pipeline) -> None:
    first = IngestEpisode("application/json", {"a": 1, "b": [True, None]}, dedupe_key="j")
    other_order = IngestEpisode("application/json", {"b": [True, None], "a": 1}, dedupe_key="j")
    other_value = IngestEpisode("application/json", {"b": [True, None], "a": 2}, dedupe_key="j")
    other_type = IngestEpisode("text/plain", '{"a":1,"b":[true,null]}', dedupe_key="j")

    reply = pipeline.ingest(first, other_order, other_value, other_type)

    assert statuses(reply) == [CREATED, DEDUPLICATED, REJECTED, REJECTED]


def test_each_of_the_four_parts_of_a_scope_counts_and_absent_equals_absent(pipeline: Pipeline, sql: Sql) -> None:
    scopes = [
        pipeline.scope("one"),
        pipeline.scope("two"),
        pipeline.scope("one", agent="a"),
        pipeline.scope("one", agent="b"),
        pipeline.scope("one", session="a"),
        pipeline.scope("one", agent="a", session="a"),
    ]
    made = [pipeline.ingest(keyed("k"), scope=scope) for scope in scopes]
    again = [pipeline.ingest(keyed("k"), scope=scope) for scope in scopes]

    assert [statuses(reply) for reply in made] == [[CREATED]] * len(scopes)
    assert [statuses(reply) for reply in again] == [[DEDUPLICATED]] * len(scopes)
    assert [reply.results[0].ref for reply in again] == [reply.results[0].ref for reply in made]
    assert episodes(sql, pipeline) == len(scopes)


def test_filters_are_no_part_of_the_dedupe_scope(pipeline: Pipeline) -> None:
    pipeline.ingest(keyed("k"), scope=pipeline.scope(filters={"project": "a"}))
    again = pipeline.ingest(keyed("k"), scope=pipeline.scope(filters={"project": "b"}))

    assert statuses(again) == [DEDUPLICATED]


def test_a_hundred_at_once_make_one(pipeline: Pipeline, sql: Sql) -> None:
    replies = together(*[lambda: pipeline.ingest(keyed("k"))] * 100)

    counted = [reply.results[0].status for reply in replies]
    assert (counted.count(CREATED), counted.count(DEDUPLICATED)) == (1, 99)
    assert len({reply.results[0].ref.id for reply in replies}) == 1
    assert episodes(sql, pipeline) == 1
    events = sql("SELECT type FROM events WHERE tenant = %s", pipeline.caller.tenant)
    assert events == [("episode.ingested",)]


def test_two_orders_at_once_do_not_deadlock(pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty rounds of 200 keys, ascending and descending, with fresh keys in each round, so that both really insert."""
    faults: list[Exception] = []

    def watched(fault: Exception) -> Exception:
        faults.append(translate(fault))
        return faults[-1]

    monkeypatch.setattr(database, "translate", watched)
    for round_ in range(20):
        batch = [keyed(f"{round_}-{number}", f"Fact number {number} of round {round_}.") for number in range(200)]
        replies = together(lambda b=batch: pipeline.ingest(*b), lambda b=batch: pipeline.ingest(*reversed(b)))  # type: ignore[misc]
        created = [statuses(reply).count(CREATED) for reply in replies]
        assert sum(created) == 200
        assert sum(statuses(reply).count(DEDUPLICATED) for reply in replies) == 200
    assert episodes(sql, pipeline) == 20 * 200
    assert faults == []


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_what_failed_or_was_cancelled_is_queued_again(pipeline: Pipeline, sql: Sql, state: str) -> None:
    first = pipeline.ingest(keyed("k"))
    episode = first.results[0].ref.id
    sql("UPDATE queued_episodes SET state = %s, batch = NULL WHERE episode = %s", state, episode)
    sql("UPDATE memories SET status = 'failed' WHERE id = %s AND %s = 'failed'", episode, state)
    sql("UPDATE jobs SET status = %s WHERE id = %s", state, first.job_id)

    again = pipeline.ingest(keyed("k"))

    assert statuses(again) == [DEDUPLICATED]
    assert again.results[0].ref.id == episode
    assert pipeline.job(again.job_id).status is JobStatus.QUEUED
    pipeline.drain()
    job = pipeline.job(again.job_id)
    assert (job.status, job.progress.done, job.progress.total) == (JobStatus.COMPLETED, 1, 1)
    assert pipeline.job(first.job_id).status == state  # what is terminal stays
    assert pipeline.found("gate code") == ["The gate code is on the blue tag."]
    assert pipeline.job(pipeline.ingest(keyed("k")).job_id).progress.total == 0


def test_a_hundred_at_once_queue_a_failed_one_once(pipeline: Pipeline, sql: Sql) -> None:
    episode = pipeline.ingest(keyed("k")).results[0].ref.id
    sql("UPDATE queued_episodes SET state = 'failed' WHERE episode = %s", episode)

    replies = together(*[lambda: pipeline.ingest(keyed("k"))] * 20)

    assert sorted(pipeline.job(reply.job_id).progress.total for reply in replies) == [0] * 19 + [1]


def test_a_conflict_does_not_queue_a_failed_one(pipeline: Pipeline, sql: Sql) -> None:
    episode = pipeline.ingest(keyed("k")).results[0].ref.id
    sql("UPDATE queued_episodes SET state = 'failed' WHERE episode = %s", episode)

    reply = pipeline.ingest(keyed("k", "Other words."))

    assert statuses(reply) == [REJECTED]
    assert pipeline.job(reply.job_id).progress.total == 0
    assert sql("SELECT state FROM queued_episodes WHERE episode = %s", episode) == [("failed",)]


def test_a_tombstoned_one_stays_gone(pipeline: Pipeline, sql: Sql) -> None:
    first = pipeline.ingest(keyed("k"))
    episode = first.results[0].ref.id
    pipeline.drain()
    sql("UPDATE memories SET status = 'tombstoned', content = NULL, content_hmac = NULL WHERE id = %s", episode)

    for content in ("The gate code is on the blue tag.", "Other words."):
        reply = pipeline.ingest(keyed("k", content))
        assert statuses(reply) == [DEDUPLICATED]
        result = reply.results[0]
        assert (result.ref.id, result.error) == (episode, None)
        assert [warning.code for warning in result.warnings] == ["tombstoned"]
        assert pipeline.job(reply.job_id).progress.total == 0
    assert sql("SELECT status FROM memories WHERE id = %s", episode) == [("tombstoned",)]


def test_a_tombstoned_one_that_had_failed_is_not_queued(pipeline: Pipeline, sql: Sql) -> None:
    episode = pipeline.ingest(keyed("k")).results[0].ref.id
    sql("UPDATE queued_episodes SET state = 'failed' WHERE episode = %s", episode)
    sql("UPDATE memories SET status = 'tombstoned', content = NULL WHERE id = %s", episode)

    assert pipeline.job(pipeline.ingest(keyed("k")).job_id).progress.total == 0
    assert sql("SELECT state FROM queued_episodes WHERE episode = %s", episode) == [("failed",)]


def test_a_fault_of_one_leaves_its_neighbours_alone(pipeline: Pipeline, sql: Sql) -> None:
    unread = Fault("invalid_content", "the episode holds NUL", False, {"field": "content"})
    reply = pipeline.ingest(
        keyed("a", "The first is fine."),
        unread,
        IngestEpisode("video/mp4", "no"),
        IngestEpisode("text/plain", {"not": "text"}),
        keyed("b", "The last is fine."),
    )

    assert statuses(reply) == [CREATED, REJECTED, REJECTED, REJECTED, CREATED]
    faults = [result.error for result in reply.results if result.error is not None]
    assert [fault.code for fault in faults] == ["invalid_content", "unsupported_media_type", "invalid_content"]
    assert faults[1].details["supported"] == ["text/*", "application/json", "application/*+json"]
    assert [result.ref.id for result in reply.results[1:4]] == [NIL_ID] * 3
    assert episodes(sql, pipeline) == 2
    assert pipeline.job(reply.job_id).progress.total == 2


def test_only_faults_is_a_completed_job(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.ingest(IngestEpisode("video/mp4", "no"))

    job = pipeline.job(reply.job_id)
    assert (job.status, job.progress.total) == (JobStatus.COMPLETED, 0)
    assert sql("SELECT count(*) FROM events WHERE tenant = %s", pipeline.caller.tenant) == [(0,)]


def test_a_failure_at_the_end_stores_nothing(pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "INSERT", text("SELECT 1/0"))
    with pytest.raises(Exception, match="refused a statement"):
        pipeline.ingest(keyed("k"))
    monkeypatch.undo()

    assert episodes(sql, pipeline) == 0
    assert statuses(pipeline.ingest(keyed("k"))) == [CREATED]


def test_many_at_once_make_one_namespace(pipeline: Pipeline, sql: Sql) -> None:
    scope = Scope(pipeline.caller.tenant_name, "made by all at once")
    replies = together(*[lambda n=n: pipeline.ingest(keyed(f"k{n}"), scope=scope) for n in range(16)])

    assert [statuses(reply) for reply in replies] == [[CREATED]] * 16
    names = sql("SELECT name FROM namespaces WHERE tenant = %s", pipeline.caller.tenant)
    assert names == [("made by all at once",)]


def test_a_book_is_bulk_work_whoever_sends_it(pipeline: Pipeline, sql: Sql) -> None:
    """In the interactive lane it would go through the encoder process, and every conversation would wait behind it."""

    def lane(*items: IngestEpisode) -> str:
        return str(sql("SELECT lane FROM jobs WHERE id = %s", pipeline.ingest(*items).job_id)[0][0])

    assert lane(keyed(None)) == "interactive"
    assert lane(keyed(None, "A sentence of a book. " * 5_000)) == "bulk"
    assert lane(*[keyed(None)] * 17) == "bulk"


def test_what_is_over_already_says_so(pipeline: Pipeline, sql: Sql) -> None:
    past, future = (datetime.now(UTC) + timedelta(days=days) for days in (-1, 1))
    first, second, third = pipeline.ingest(
        replace(keyed("k"), expires_at=past),
        replace(keyed("k"), expires_at=past),
        replace(keyed("l"), expires_at=future),
    ).results
    assert [(one.status, [warning.code for warning in one.warnings]) for one in (first, second, third)] == [
        (CREATED, ["already_expired"]),
        (DEDUPLICATED, ["expired"]),
        (CREATED, []),
    ]
    pipeline.drain()

    sql("UPDATE memories SET expires_at = now() WHERE id = %s", third.ref.id)
    for key, ref in (("k", first.ref), ("l", third.ref)):
        again = pipeline.ingest(keyed(key)).results[0]
        assert (again.status, again.ref, [one.code for one in again.warnings]) == (DEDUPLICATED, ref, ["expired"])
    assert statuses(pipeline.ingest(keyed("l", "Something else."))) == [REJECTED]


def test_a_type_that_is_not_read_says_what_is(pipeline: Pipeline) -> None:
    for content_type in ("text/html", "image/png"):
        fault = pipeline.ingest(IngestEpisode(content_type, "x")).results[0].error
        assert fault is not None
        assert fault.details["supported"] == ["text/*", "application/json", "application/*+json"]
        assert {"text/html", "text/rtf"} <= set(cast("list[str]", fault.details["except"]))
