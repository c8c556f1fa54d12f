"""reindex: whatever the index has lost or kept too long, it comes out as the memories have it, and search answers meanwhile."""

from __future__ import annotations

from uuid import UUID

import pytest

from infinicon.domain import JobStatus, Lane
from infinicon.operations.dispatch import LaneLimits
from infinicon.store import slices, status
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.indexes import COUNTED, COUNTERS, INDEX, ORPHANS, TEXTS, answers, fill, reindexed


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some memories a slice, so that there are several."""
    monkeypatch.setattr(slices, "MEMORIES", 8)
    monkeypatch.setattr(slices, "TOKENS", 400)


# Each does some harm to the index of one tenant.
HARM = {
    "nothing": (),
    "all rows and postings": ("DELETE FROM space_rows WHERE tenant = %s", "DELETE FROM postings WHERE tenant = %s"),
    "some rows": ("DELETE FROM space_rows WHERE tenant = %s AND row_id %% 3 = 0",),
    "some postings": ("DELETE FROM postings WHERE tenant = %s AND lexeme %% 3 = 0",),
    "vectors": (
        """UPDATE space_rows r SET vector = (
             SELECT vector FROM space_rows s WHERE s.tenant = r.tenant ORDER BY row_id LIMIT 1) WHERE tenant = %s""",
    ),
    "vectors and what they are of": (
        """UPDATE space_rows r SET (vector, digest) = (
             SELECT vector, digest FROM space_rows s WHERE s.tenant = r.tenant ORDER BY row_id LIMIT 1) WHERE tenant = %s""",
    ),
    "counters": ("UPDATE namespace_counters SET index_rows = 5, index_lexemes = 100000 WHERE tenant = %s",),
    "rows of what never was": (
        """WITH ghosts AS (
             INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, span_start, span_end, digest, lexemes, vector)
             SELECT tenant, namespace, model, gen_random_uuid(), 0, 'atom', 0, 4, digest, lexemes, vector FROM space_rows WHERE tenant = %s
             RETURNING tenant, namespace, row_id, lexemes)
           INSERT INTO postings SELECT tenant, namespace, unnest(lexemes), row_id, 1, 9 FROM ghosts""",
    ),
    "postings of nothing": (
        "INSERT INTO postings SELECT tenant, namespace, lexeme, -row_id, 1, 1 FROM postings WHERE tenant = %s",
    ),
}


@pytest.mark.parametrize("harm", HARM)
def test_it_is_as_it_was(pipeline: Pipeline, sql: Sql, harm: str) -> None:
    fill(pipeline)
    before, index, tenant = answers(pipeline), sql(INDEX, pipeline.caller.tenant), pipeline.caller.tenant
    assert all(before)
    for statement in HARM[harm]:
        sql(statement, tenant)

    reindexed(pipeline)

    assert answers(pipeline) == before
    assert sql(INDEX, tenant) == index
    assert sql(COUNTERS, tenant) == sql(COUNTED, tenant)
    assert sql(ORPHANS, tenant) == [(0,)]
    assert sql("SELECT count(*) FROM staged_vectors WHERE tenant = %s", tenant) == [(0,)]
    assert sql("SELECT count(*) FROM queued_episodes WHERE tenant = %s", tenant) == [(0,)]


def test_search_answers_all_the_time(pipeline: Pipeline) -> None:
    fill(pipeline)
    before = answers(pipeline)
    pipeline.limits = LaneLimits(2, 10_000, 100)
    job = pipeline.reindex()
    steps = 0
    while due := pipeline.claim(Lane.BULK):
        for ref in due:
            extracted = pipeline.extract(ref)
            assert answers(pipeline) == before
            embedded = pipeline.embed(extracted)
            assert answers(pipeline) == before
            pipeline.index(embedded)
            assert answers(pipeline) == before
            steps += 1

    assert steps > 2
    assert pipeline.job(job.id).status is JobStatus.COMPLETED


def test_nobody_waits_for_it(pipeline: Pipeline, sql: Sql) -> None:
    """It makes no answer eventual, and what is ingested meanwhile goes first."""
    fill(pipeline)
    pipeline.reindex()
    assert pipeline.query("heron").warnings == []
    with pipeline.app.transaction(pipeline.caller.tenant) as tx:
        assert status.lanes(pipeline.caller.tenant, tx) == []  # slices are no episodes
    reply = pipeline.put("Something that came later.", lane=Lane.BULK)
    assert [warning.code for warning in pipeline.query("heron").warnings] == ["eventual_consistency"]
    pipeline.limits = LaneLimits(1, 10_000, 100)

    first, *_ = pipeline.claim(Lane.BULK)

    ((job,),) = sql("SELECT job FROM queued_episodes WHERE batch = %s", first.batch)
    assert job == reply.job_id


def test_only_what_lives_is_indexed(pipeline: Pipeline, sql: Sql) -> None:
    """What is pending, failed, tombstoned or expired is not brought back, and what it had left in the index goes."""
    tenant = pipeline.caller.tenant
    fill(pipeline)
    gone: dict[str, UUID] = {}
    for ending in ("tombstoned", "failed"):
        ((memory,),) = sql(
            """UPDATE memories SET status = %s WHERE tenant = %s AND id = (
                 SELECT memory FROM space_rows WHERE tenant = %s AND memory <> ALL(%s) LIMIT 1) RETURNING id""",
            ending,
            tenant,
            tenant,
            list(gone.values()),
        )
        gone[ending] = memory
    ((gone["expired"],),) = sql(
        """UPDATE memories SET expires_at = now() - interval '1 second' WHERE tenant = %s AND id = (
             SELECT memory FROM space_rows WHERE tenant = %s AND memory <> ALL(%s) LIMIT 1) RETURNING id""",
        tenant,
        tenant,
        list(gone.values()),
    )
    pending = pipeline.put("A pending fact.").results[0].ref.id
    kept = {row[0] for row in sql("SELECT memory FROM space_rows WHERE tenant = %s", tenant)} - set(gone.values())

    job = pipeline.reindex()
    for ref in pipeline.claim(Lane.BULK):
        pipeline.run(ref)

    assert pipeline.job(job.id).status is JobStatus.COMPLETED
    assert {row[0] for row in sql("SELECT memory FROM space_rows WHERE tenant = %s", tenant)} == kept
    assert sql("SELECT status FROM memories WHERE id = %s", pending) == [("pending",)]
    assert sql(ORPHANS, tenant) == [(0,)]
    assert sql(COUNTERS, tenant) == sql(COUNTED, tenant)
    pipeline.drain()
    assert "A pending fact." in pipeline.found("pending fact")


def test_disputed_and_superseded_memories_keep_their_rows(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline)
    tenant = pipeline.caller.tenant
    sql(
        """UPDATE memories SET status = CASE WHEN id::text < '8' THEN 'disputed' ELSE 'superseded' END
           WHERE tenant = %s AND id IN (SELECT memory FROM space_rows WHERE tenant = %s LIMIT 10)""",
        tenant,
        tenant,
    )
    index = sql(INDEX, tenant)
    sql("DELETE FROM space_rows WHERE tenant = %s", tenant)

    reindexed(pipeline)

    assert sql(INDEX, tenant) == index


def test_what_is_tombstoned_under_its_hands_stays_gone(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline)
    tenant = pipeline.caller.tenant
    pipeline.reindex()
    late = [pipeline.embed(pipeline.extract(ref)) for ref in pipeline.claim(Lane.BULK)]
    ((memory,),) = sql("SELECT memory FROM space_rows WHERE tenant = %s ORDER BY row_id LIMIT 1 OFFSET 5", tenant)
    sql("UPDATE memories SET status = 'tombstoned' WHERE id = %s", memory)
    for ref in late:
        pipeline.index(ref)

    assert sql("SELECT count(*) FROM space_rows WHERE memory = %s", memory) == [(0,)]
    assert sql(ORPHANS, tenant) == [(0,)]
    assert sql(COUNTERS, tenant) == sql(COUNTED, tenant)


def test_what_becomes_visible_meanwhile_stays(pipeline: Pipeline, sql: Sql) -> None:
    """An episode that was pending when its slice was embedded is indexed by its own batch before the slice is."""
    fill(pipeline)
    pipeline.put("A newcomer in the last moment.")
    (own,) = pipeline.claim()
    pipeline.reindex()
    slices_ = [pipeline.embed(pipeline.extract(ref)) for ref in pipeline.claim(Lane.BULK)]
    pipeline.run(own)
    for ref in slices_:
        pipeline.index(ref)

    assert pipeline.found("newcomer")[0] == "A newcomer in the last moment."
    assert sql(COUNTERS, pipeline.caller.tenant) == sql(COUNTED, pipeline.caller.tenant)


def test_no_slice_grows_under_an_ingest_that_goes_on(pipeline: Pipeline, sql: Sql) -> None:
    """What waits in line when the namespace is cut weighs; what comes later is nobody's slice, and is indexed with all the rest."""
    fill(pipeline)
    tenant = pipeline.caller.tenant
    pipeline.put(*(f"A fact {number} that is on its way." for number in range(40)), lane=Lane.BULK)
    job = pipeline.reindex()
    ((last,),) = sql("SELECT id FROM memories WHERE tenant = %s ORDER BY id DESC LIMIT 1", tenant)
    pipeline.put(*(f"A fact {number} that came later." for number in range(40)), lane=Lane.BULK)
    sizes = sql(
        """SELECT q.upto, count(*) FROM queued_episodes q
           JOIN indexable_memories m ON m.tenant = q.tenant AND m.id > q.after AND m.id <= q.upto
           WHERE q.tenant = %s AND q.job = %s GROUP BY 1 ORDER BY 1""",
        tenant,
        job.id,
    )
    assert max(number for _, number in sizes) <= slices.MEMORIES + 1
    assert sizes[-1][0] == last

    pipeline.drain()

    assert pipeline.job(job.id).status is JobStatus.COMPLETED
    assert pipeline.found("fact 39 that came later")[0] == "A fact 39 that came later."
    ((rows,),) = sql("SELECT count(DISTINCT memory) FROM space_rows WHERE tenant = %s", tenant)
    assert sql("SELECT count(*) FROM indexable_memories WHERE tenant = %s", tenant) == [(rows,)]
    assert sql(COUNTERS, tenant) == sql(COUNTED, tenant)


def test_a_slice_that_is_too_long_is_worked_on_in_parts(pipeline: Pipeline, sql: Sql) -> None:
    fill(pipeline)
    before, index, tenant = answers(pipeline), sql(INDEX, pipeline.caller.tenant), pipeline.caller.tenant
    job = pipeline.reindex()
    sql("DELETE FROM queued_episodes WHERE tenant = %s AND after <> %s", tenant, UUID(int=0))
    sql("UPDATE queued_episodes SET upto = %s WHERE tenant = %s", UUID(int=2**128 - 1), tenant)
    sql("UPDATE jobs SET total = 1 WHERE id = %s", job.id)
    pipeline.limits = LaneLimits(1, 10_000, 100)
    (ref,) = pipeline.claim(Lane.BULK)
    ref = pipeline.embed(pipeline.extract(ref))
    ((staged,),) = sql("SELECT count(DISTINCT memory) FROM staged_vectors WHERE batch = %s", ref.batch)
    assert 0 < staged <= slices.MEMORIES + 1
    pipeline.index(ref)

    found = pipeline.job(job.id)
    assert (found.status, found.progress.done) == (JobStatus.RUNNING, 1)
    assert found.progress.total > 3
    pipeline.drain()
    assert pipeline.job(job.id).status is JobStatus.COMPLETED
    assert answers(pipeline) == before
    assert sql(INDEX, tenant) == index


def test_other_namespaces_are_left_alone(pipeline: Pipeline, sql: Sql) -> None:
    elsewhere = pipeline.scope("elsewhere")
    fill(pipeline)
    pipeline.put(*TEXTS, scope=elsewhere)
    pipeline.drain()
    tenant = pipeline.caller.tenant
    rows = """SELECT s.row_id FROM space_rows s JOIN namespaces n ON n.tenant = s.tenant AND n.id = s.namespace
              WHERE s.tenant = %s AND n.name = %s ORDER BY 1"""
    before = {name: sql(rows, tenant, name) for name in ("notes", "elsewhere")}

    reindexed(pipeline)

    assert sql(rows, tenant, "elsewhere") == before["elsewhere"]
    assert sql(rows, tenant, "notes") != before["notes"]
    assert sql(COUNTERS, tenant) == sql(COUNTED, tenant)
