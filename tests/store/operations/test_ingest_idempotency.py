"""An Idempotency-Key stands for one reply, however often and from how many sides it comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from infinicon.api.wire.ingest import to_wire
from infinicon.domain import Fault, IngestEpisode, IngestStatus, Permission, Scope
from infinicon.errors import IdempotencyConflict, InfiniconError, Unauthorized
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.together import together

EPISODES = (
    IngestEpisode("text/plain", "Keys hang behind the door."),
    Fault("invalid_content", "the episode holds NUL", False, {"field": "content"}),
    IngestEpisode("text/plain", "Other words.", dedupe_key="taken"),
)


def test_the_whole_reply_comes_again(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.ingest(IngestEpisode("text/plain", "The original.", dedupe_key="taken"))
    first = pipeline.ingest(*EPISODES, key="once", body=b"digest")
    again = pipeline.ingest(*EPISODES, key="once", body=b"digest")

    assert to_wire(again) == to_wire(first)
    assert [result.status for result in again.results] == [
        IngestStatus.CREATED,
        IngestStatus.REJECTED,
        IngestStatus.REJECTED,
    ]
    assert sql("SELECT count(*) FROM memories WHERE tenant = %s", pipeline.caller.tenant) == [(2,)]
    assert sql("SELECT count(*) FROM jobs WHERE tenant = %s", pipeline.caller.tenant) == [(2,)]


def test_a_warning_comes_again(pipeline: Pipeline, sql: Sql) -> None:
    kept = IngestEpisode("text/plain", "The original.", dedupe_key="gone")
    episode = pipeline.ingest(kept).results[0].ref.id
    sql("UPDATE memories SET status = 'tombstoned' WHERE id = %s", episode)
    first = pipeline.ingest(kept, key="once", body=b"digest")

    assert [warning.code for warning in first.results[0].warnings] == ["tombstoned"]
    assert to_wire(pipeline.ingest(kept, key="once", body=b"digest")) == to_wire(first)


def test_another_body_is_a_conflict_and_stores_nothing(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.ingest(EPISODES[0], key="once", body=b"digest")

    with pytest.raises(IdempotencyConflict):
        pipeline.ingest(IngestEpisode("text/plain", "Something else."), key="once", body=b"other")
    assert sql("SELECT count(*) FROM memories WHERE tenant = %s", pipeline.caller.tenant) == [(1,)]


def test_at_once_from_many_sides(pipeline: Pipeline, sql: Sql) -> None:
    replies = together(*[lambda: pipeline.ingest(EPISODES[0], key="once", body=b"digest")] * 30)

    assert all(to_wire(reply) == to_wire(replies[0]) for reply in replies)
    assert sql("SELECT count(*) FROM memories WHERE tenant = %s", pipeline.caller.tenant) == [(1,)]


def test_at_once_with_two_bodies_one_wins(pipeline: Pipeline, sql: Sql) -> None:
    def send(body: bytes) -> str:
        try:
            pipeline.ingest(EPISODES[0], key="once", body=body)
        except IdempotencyConflict:
            return "conflict"
        return body.decode()

    answers = together(*[lambda: send(b"one"), lambda: send(b"two")] * 8)

    assert len(set(answers) - {"conflict"}) == 1
    assert answers.count("conflict") == 8
    assert sql("SELECT count(*) FROM memories WHERE tenant = %s", pipeline.caller.tenant) == [(1,)]


def test_keys_of_other_namespaces_and_tenants_are_other_keys(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]
) -> None:
    other = new_pipeline()
    replies = [
        pipeline.ingest(EPISODES[0], key="once", body=b"one"),
        pipeline.ingest(EPISODES[0], key="once", body=b"two", scope=pipeline.scope("elsewhere")),
        other.ingest(EPISODES[0], key="once", body=b"three"),
    ]

    assert len({reply.job_id for reply in replies}) == 3


def test_a_request_that_failed_does_not_take_the_key(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise InfiniconError("the disk is full")

    monkeypatch.setattr("infinicon.operations.ingest.jobs.insert", refuse)
    with pytest.raises(InfiniconError, match="disk"):
        pipeline.ingest(EPISODES[0], key="once", body=b"digest")
    monkeypatch.undo()

    assert pipeline.ingest(EPISODES[0], key="once", body=b"other").results[0].status is IngestStatus.CREATED


def test_who_may_write(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("This makes the namespace.")
    ((namespace,),) = sql("SELECT id FROM namespaces WHERE tenant = %s", pipeline.caller.tenant)
    everything = pipeline.caller

    pipeline.caller = replace(everything, permissions=frozenset({Permission.QUERY}))
    with pytest.raises(Unauthorized) as refused:
        pipeline.put("no")
    assert refused.value.authenticated

    pipeline.caller = everything
    with pytest.raises(Unauthorized):
        pipeline.put("no", scope=Scope("another tenant", "notes"))

    pipeline.caller = replace(everything, namespaces=frozenset({namespace}))
    assert pipeline.put("yes").results[0].status is IngestStatus.CREATED
    for elsewhere in ("unknown", ""):
        with pytest.raises(Unauthorized):
            pipeline.put("no", scope=pipeline.scope(elsewhere))
    assert sql("SELECT count(*) FROM namespaces WHERE tenant = %s", everything.tenant) == [(1,)]
