"""index: a batch becomes visible as a whole, and the last batch of a job closes it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from sqlalchemy import text

from infinicon.domain import BatchRef, IngestEpisode, JobStatus, Json, Lane, MemoryType, Stage
from infinicon.errors import InfiniconError, LeaseLost
from infinicon.operations import index as indexing
from infinicon.operations.dispatch import LaneLimits
from infinicon.ports import Extraction, SourceEpisode
from infinicon.store import database, spaces
from infinicon.store.database import translate
from infinicon.store.spaces import add_to_counters
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.together import together
from tests.waiting import wait_until

COUNTERS = """
    SELECT c.index_rows, c.index_lexemes,
           (SELECT count(*) FROM space_rows s WHERE s.tenant = c.tenant AND s.namespace = c.namespace),
           (SELECT coalesce(sum(frequency), 0) FROM postings p WHERE p.tenant = c.tenant AND p.namespace = c.namespace)
    FROM namespace_counters c WHERE c.tenant = %s
"""
LOCK_COUNTERS = text("SELECT seq FROM namespace_counters WHERE tenant = :tenant FOR UPDATE")
WAITING_FOR_A_LOCK = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%namespace_counters%'"
)


def staged(pipeline: Pipeline, lane: Lane = Lane.INTERACTIVE) -> list[BatchRef]:
    """Everything that waits, up to the last stage."""
    return [pipeline.embed(pipeline.extract(ref)) for ref in pipeline.claim(lane)]


def test_nothing_is_visible_before_all_of_it_is(pipeline: Pipeline, sql: Sql) -> None:
    """The last stage is held up at its last statements, when everything else is written."""
    reply = pipeline.put("The heron flew. The tide was out.", "The boat stayed.")
    (ref,) = staged(pipeline)
    with ThreadPoolExecutor(1) as pool:
        with pipeline.app.transaction(ref.tenant) as tx:
            tx.execute(LOCK_COUNTERS, {"tenant": ref.tenant})
            indexing = pool.submit(pipeline.index, ref)
            wait_until(lambda: sql(WAITING_FOR_A_LOCK) != [(0,)], "index waits for the counters")
            assert pipeline.query("heron tide boat").hits == []
            assert pipeline.job(reply.job_id).progress.done == 0
        indexing.result(30)
    assert pipeline.found("boat")[0] == "The boat stayed."
    assert pipeline.job(reply.job_id).progress.done == 2


def test_a_fault_at_the_end_leaves_nothing_and_the_next_try_all(
    pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = pipeline.put("The heron flew. The tide was out.")
    (ref,) = staged(pipeline)
    before = sql("SELECT count(*) FROM events WHERE tenant = %s", ref.tenant)

    def full(*_: object) -> None:
        raise InfiniconError("the disk is full")

    monkeypatch.setattr("infinicon.operations.index.events.append", full)
    with pytest.raises(InfiniconError, match="disk"):
        pipeline.index(ref)
    monkeypatch.undo()

    for table in ("space_rows", "postings"):
        assert sql(f"SELECT count(*) FROM {table} WHERE tenant = %s", ref.tenant) == [(0,)]
    assert sql("SELECT count(*) FROM events WHERE tenant = %s", ref.tenant) == before
    assert sql("SELECT DISTINCT status FROM memories WHERE tenant = %s", ref.tenant) == [("pending",)]
    assert pipeline.query("heron").hits == []

    pipeline.index(BatchRef(ref.tenant, ref.batch, 2, Stage.INDEX, ref.lane))
    assert pipeline.found("heron")[0] == "The heron flew."
    assert pipeline.job(reply.job_id).status is JobStatus.COMPLETED
    ((rows, lexemes, real_rows, real_lexemes),) = sql(COUNTERS, ref.tenant)
    assert (rows, lexemes) == (real_rows, real_lexemes)


def test_the_message_again_does_nothing(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("The heron flew. The tide was out.")
    (ref,) = staged(pipeline)
    pipeline.index(ref)
    before = (sql(COUNTERS, ref.tenant), sql("SELECT count(*) FROM events WHERE tenant = %s", ref.tenant))
    with pytest.raises(LeaseLost):
        pipeline.index(ref)

    assert (sql(COUNTERS, ref.tenant), sql("SELECT count(*) FROM events WHERE tenant = %s", ref.tenant)) == before


def test_counters_are_what_is_there(pipeline: Pipeline, sql: Sql) -> None:
    for namespace in ("one", "two"):
        pipeline.put(
            "A heron and a heron and a third heron.", "The tide was out. It came back.", scope=pipeline.scope(namespace)
        )
        pipeline.put("A heron and a heron and a third heron.", scope=pipeline.scope(namespace, session="s"))
    pipeline.put("!!!", "…", "👍", scope=pipeline.scope("one"))
    pipeline.drain()

    counted = sql(COUNTERS, pipeline.caller.tenant)
    assert len(counted) == 2
    for rows, lexemes, real_rows, real_lexemes in counted:
        assert rows == real_rows > 0
        assert lexemes == real_lexemes > 0
    unequal = sql(
        """SELECT s.row_id FROM space_rows s
           WHERE s.tenant = %s AND ARRAY(SELECT unnest(s.lexemes) ORDER BY 1) IS DISTINCT FROM
                 ARRAY(SELECT lexeme FROM postings p WHERE p.tenant = s.tenant AND p.row_id = s.row_id ORDER BY 1)""",
        pipeline.caller.tenant,
    )
    assert unequal == []


def test_one_event_for_each_memory_that_becomes_visible(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.put("The heron flew. The tide was out.", scope=pipeline.scope(agent="a", session="s"))
    pipeline.drain()

    events = sql(
        "SELECT seq, type, memory, memory_type, agent_id, session_id FROM events WHERE tenant = %s ORDER BY seq",
        pipeline.caller.tenant,
    )
    assert [event[0] for event in events] == list(range(1, len(events) + 1))
    kinds = [(event[1], event[3]) for event in events]
    assert kinds[0] == ("episode.ingested", "episode")
    assert kinds[1:3] == [("atom.extracted", "atom")] * 2
    assert sorted(kinds[3:]) == [("memory.indexed", "atom")] * 2 + [("memory.indexed", "episode")]
    assert {event[4:] for event in events} == {("a", "s")}
    assert len({event[2] for event in events}) == 3
    assert events[0][2] == reply.results[0].ref.id


def test_eight_batches_at_once_close_their_job(pipeline: Pipeline, sql: Sql) -> None:
    """Who counts rows to see whether the job is done sees the others' rows open: nobody would be the last."""
    pipeline.limits = LaneLimits(5, 100_000, 100)
    for round_ in range(4):
        reply = pipeline.put(*[f"Fact number {number} of round {round_}." for number in range(40)], lane=Lane.BULK)
        batches = staged(pipeline, Lane.BULK)
        assert len(batches) == 8
        together(*[lambda ref=ref: pipeline.index(ref) for ref in batches])
        job = pipeline.job(reply.job_id)
        assert (job.status, job.progress.done, job.progress.total) == (JobStatus.COMPLETED, 40, 40)
    ((rows, lexemes, real_rows, real_lexemes),) = sql(COUNTERS, pipeline.caller.tenant)
    assert (rows, lexemes) == (real_rows, real_lexemes)


def test_many_jobs_in_many_batches_at_once(pipeline: Pipeline, sql: Sql) -> None:
    """Batches that serve the same jobs in other orders, in the same namespaces: no deadlock that is not survived, no lost count."""
    pipeline.limits = LaneLimits(4, 100_000, 100)
    scopes = [pipeline.scope(name) for name in ("one", "two")]
    replies = [
        (
            scope,
            pipeline.put(f"Fact {n} of {scope.namespace_id}.", "The same in all of them.", scope=scope, lane=Lane.BULK),
        )
        for n in range(8)
        for scope in scopes
    ]
    together(*[lambda ref=ref: pipeline.run(ref) for ref in pipeline.claim(Lane.BULK)])

    for scope, reply in replies:
        job = pipeline.job(reply.job_id, scope)
        assert (job.status, job.progress.done) == (JobStatus.COMPLETED, 2)
    for rows, lexemes, real_rows, real_lexemes in sql(COUNTERS, pipeline.caller.tenant):
        assert (rows, lexemes) == (real_rows, real_lexemes)


def test_batches_that_cross_in_two_namespaces_do_not_deadlock(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has rows for one namespace's counter and an event for the other's: both counters are taken in one order all the same."""
    one, two = pipeline.scope("one"), pipeline.scope("two")
    for scope in (one, two):
        pipeline.put("What is known already.", scope=scope)
    pipeline.drain()
    batches = []
    for new, known in ((one, two), (two, one)):
        pipeline.put("Something new.", scope=new)
        pipeline.put("What is known already.", scope=known)  # becomes visible by its atom, and adds no row
        batches += staged(pipeline)
    both_counted = Barrier(2)
    faults: list[Exception] = []

    def counted(*arguments: Any) -> None:
        add_to_counters(*arguments)
        with suppress(BrokenBarrierError):
            both_counted.wait(0.5)  # the second one should not get here before the first has committed

    def watched(fault: Exception) -> Exception:
        faults.append(translate(fault))
        return faults[-1]

    monkeypatch.setattr(spaces, "add_to_counters", counted)
    monkeypatch.setattr(database, "translate", watched)
    together(*[lambda ref=ref: pipeline.index(ref) for ref in batches])

    assert faults == []
    assert len(pipeline.found("known", scope=one)) == 2


class Silent:
    """Extracts nothing."""

    name, version = "silent", "1"

    def supports(self, content_type: str) -> bool:
        return True

    def extract(self, episode: SourceEpisode) -> Extraction:
        return Extraction((), str(episode.content))


def test_an_episode_without_atoms_is_found_by_its_own_text(pipeline: Pipeline) -> None:
    pipeline.extractor = Silent()
    reply = pipeline.put("A heron that nobody made a claim of.", "Something else.")
    pipeline.drain()

    assert pipeline.job(reply.job_id).status is JobStatus.COMPLETED
    hits = pipeline.query("heron").hits
    assert (hits[0].ref.type, hits[0].ref.id) == (MemoryType.EPISODE, reply.results[0].ref.id)
    assert list(hits[0].sources) == []


@pytest.mark.parametrize("words", ["", " ", "!!!", "👍", "the", "\u200b"])
def test_what_has_next_to_no_text_goes_through(pipeline: Pipeline, words: str) -> None:
    reply = pipeline.put(words, "A neighbour with words.")
    nothings: list[Json] = [{}, [], None, 0, False, words]
    reply_json = pipeline.ingest(*[IngestEpisode("application/json", value) for value in nothings])
    pipeline.drain()

    assert pipeline.job(reply.job_id).status is JobStatus.COMPLETED
    assert pipeline.job(reply_json.job_id).status is JobStatus.COMPLETED
    assert "A neighbour with words." in pipeline.found("neighbour")


def test_code_is_found_by_its_episode(pipeline: Pipeline) -> None:
    reply = pipeline.ingest(IngestEpisode("text/markdown", "```\nfrobnicate_widget(7)\n```"))
    pipeline.drain()

    assert [hit.ref.id for hit in pipeline.query("frobnicate_widget").hits] == [reply.results[0].ref.id]


@pytest.mark.parametrize("kind", ["atom", "episode"])
def test_what_was_deleted_meanwhile_does_not_come_back(pipeline: Pipeline, sql: Sql, kind: str) -> None:
    reply = pipeline.put("The heron flew. The tide was out.")
    (ref,) = staged(pipeline)
    gone = sql(
        "UPDATE memories SET status = 'tombstoned', content = NULL WHERE tenant = %s AND type = %s RETURNING id",
        ref.tenant,
        kind,
    )
    pipeline.index(ref)

    ids = [row[0] for row in gone]
    assert sql("SELECT DISTINCT status FROM memories WHERE id = ANY(%s)", ids) == [("tombstoned",)]
    assert sql("SELECT count(*) FROM space_rows WHERE memory = ANY(%s)", ids) == [(0,)]
    assert sql("SELECT count(*) FROM events WHERE memory = ANY(%s) AND type = 'memory.indexed'", ids) == [(0,)]
    assert {hit.ref.id for hit in pipeline.query("heron tide").hits}.isdisjoint(ids)
    assert pipeline.query("heron tide").hits
    assert pipeline.job(reply.job_id).status is JobStatus.COMPLETED
    assert sql("SELECT count(*) FROM staged_vectors WHERE tenant = %s", ref.tenant) == [(0,)]


def test_what_was_deleted_at_the_last_moment_does_not_come_back(
    pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the stage has read what it publishes, before its transaction."""
    pipeline.put("The heron flew. The tide was out.", "The boat stayed.")
    (ref,) = staged(pipeline)

    def delete(chunks: Sequence[spaces.StagedChunk]) -> Any:
        sql(
            "UPDATE memories SET status = 'tombstoned', content = NULL WHERE tenant = %s AND content LIKE '%%tide%%'",
            ref.tenant,
        )
        return analyse(chunks)

    analyse = indexing._analyse
    monkeypatch.setattr(indexing, "_analyse", delete)
    pipeline.index(ref)

    gone = [row[0] for row in sql("SELECT id FROM memories WHERE tenant = %s AND status = 'tombstoned'", ref.tenant)]
    assert len(gone) == 2
    assert sql("SELECT count(*) FROM space_rows WHERE memory = ANY(%s)", gone) == [(0,)]
    assert sql("SELECT count(*) FROM events WHERE memory = ANY(%s) AND type = 'memory.indexed'", gone) == [(0,)]
    assert len(pipeline.query("heron tide boat").hits) == 2
    ((rows, lexemes, real_rows, real_lexemes),) = sql(COUNTERS, ref.tenant)
    assert (rows, lexemes) == (real_rows, real_lexemes)


def test_what_was_deleted_before_it_was_extracted_stays_gone(pipeline: Pipeline, sql: Sql) -> None:
    reply = pipeline.put("The heron flew.", "The tide was out.")
    episode = reply.results[0].ref.id
    (ref,) = pipeline.claim()
    sql("UPDATE memories SET status = 'tombstoned', content = NULL WHERE id = %s", episode)
    pipeline.run(ref)

    assert pipeline.found("heron tide") == ["The tide was out."]
    assert pipeline.job(reply.job_id).status is JobStatus.COMPLETED
