"""redact: what was stored before its secret was known comes out as if it had been known, in every table, and is found as before."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from infinicon.domain import (
    Cascade,
    IngestEpisode,
    IngestStatus,
    Job,
    JobStatus,
    Lane,
    Permission,
    TombstoneRequest,
)
from infinicon.errors import NotFound, Unauthorized
from infinicon.operations import erase, redact
from infinicon.operations.policy import set_policy
from infinicon.operations.tombstone import tombstone
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.indexes import COUNTED, COUNTERS, INDEX, ORPHANS
from tests.store.operations.test_redaction import Joining
from tests.store.operations.traces import add, everywhere, found_in, memories, spoken

SECRET = "Tr0ub4dor&3 correct.horse"


def start(pipeline: Pipeline, stands_for: str) -> Job:
    return redact.redact(pipeline.app, pipeline.caller, pipeline.caller.tenant_name, stands_for[len("[REDACTED:") : -1])


def tools(pipeline: Pipeline) -> redact.Tools:
    return redact.Tools(pipeline.app, pipeline.keyring, pipeline.extractor, pipeline.embedder, pipeline.counters)


def redacted(pipeline: Pipeline, stands_for: str) -> Job:
    """The job, over."""
    job = start(pipeline, stands_for)
    redact.carry_on(tools(pipeline), pipeline.caller.tenant, job.id)
    return pipeline.job(job.id)


UNTOUCHED = """
    SELECT id, content, updated_at, unit_chars FROM memories
    WHERE tenant = %s AND (content LIKE '%%heron%%' OR content LIKE '%%boat%%') ORDER BY id
"""
INDEXED = """
    SELECT s.type, s.chunk, s.span_start, s.span_end, s.digest, s.vector::text, (SELECT array_agg(l ORDER BY l) FROM unnest(s.lexemes) l)
    FROM space_rows s WHERE s.tenant = %s ORDER BY 1, 5, 2
"""


def test_no_table_holds_it_any_more(pipeline: Pipeline, sql: Sql) -> None:
    scope = pipeline.scope(agent="a", session="s", filters={SECRET: SECRET})
    own = replace(spoken(f"{SECRET} and {SECRET}"), tags=["b"])
    untouched = IngestEpisode("text/plain", "A heron stood. The boat is blue.")
    pipeline.ingest(everywhere(SECRET), own, scope=scope, label=f"fill {SECRET}")
    pipeline.ingest(untouched)
    pipeline.drain()
    plain = sql(UNTOUCHED, pipeline.caller.tenant)
    assert len(plain) == 3
    assert len(found_in(pipeline, sql, SECRET)) > 8

    stands_for = add(pipeline, SECRET)
    job = redacted(pipeline, stands_for)
    assert (job.status, job.type, job.progress.done) == (JobStatus.COMPLETED, "redact", job.progress.total)
    assert found_in(pipeline, sql, SECRET) == set()
    assert sql(UNTOUCHED, pipeline.caller.tenant) == plain
    assert memories(pipeline, sql, "tags")[0] == [stands_for, f"a {stands_for} b"]
    assert memories(pipeline, sql, "filters")[0] == {stands_for: stands_for}
    assert sql("SELECT label FROM jobs WHERE tenant = %s AND label IS NOT NULL", pipeline.caller.tenant) == [
        (f"fill {stands_for}",)
    ]
    tenant = pipeline.caller.tenant
    assert sql(COUNTED, tenant) == sql(COUNTERS, tenant)
    assert sql(ORPHANS, tenant) == [(0,)]


def test_what_is_counted_is_the_new_text(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("The password is hunter22 today. A heron stood at the lake.")
    pipeline.drain()
    stands_for = add(pipeline, "hunter22")
    redacted(pipeline, stands_for)
    said = f"The password is {stands_for} today."
    rows = sql(
        """SELECT content_o200k_base, content_chars, unit_o200k_base, created_at, occurred_at FROM memories
           WHERE tenant = %s AND type = 'atom' AND content = %s""",
        pipeline.caller.tenant,
        said,
    )
    ((tokens, characters, unit, created_at, occurred_at),) = rows
    assert (tokens, characters) == (pipeline.counters.count("o200k_base", said), len(said))
    assert unit == pipeline.counters.unit(None, occurred_at, created_at, said).o200k_base
    whole = memories(pipeline, sql, "unit_chars")[0]
    text = memories(pipeline, sql, "content")[0]
    assert whole == pipeline.counters.unit(None, None, created_at, text).chars


def test_index_spans_and_counts_are_those_of_the_new_text(pipeline: Pipeline, sql: Sql) -> None:
    first = f"It is {SECRET} here. A heron stood at the lake. It was {SECRET} again."
    pipeline.ingest(
        IngestEpisode("text/plain", first),
        IngestEpisode("application/json", {f"k {SECRET}": [f"Say {SECRET}. The boat is blue.", "x"]}),
    )
    pipeline.drain()
    stands_for = add(pipeline, SECRET)
    redacted(pipeline, stands_for)

    rows = sql(
        """SELECT e.content_type, e.content, l.span_path, l.span_start, l.span_end, a.content FROM links l
           JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id JOIN memories a ON a.tenant = l.tenant AND a.id = l.from_id
           WHERE l.tenant = %s ORDER BY l.id""",
        pipeline.caller.tenant,
    )
    assert len(rows) >= 5
    for content_type, content, path, begin, end, said in rows:
        text = content
        if content_type == "application/json":
            assert path == f"/k {stands_for}/0"
            text = json.loads(content)[f"k {stands_for}"][0]
        assert text[begin:end] == said

    index = sql(INDEXED, pipeline.caller.tenant)
    pipeline.reindex()
    pipeline.drain()
    assert sql(INDEXED, pipeline.caller.tenant) == index
    assert sql(INDEX, pipeline.caller.tenant)
    assert any(stands_for in str(content) for content in pipeline.found("It was again"))


def test_pieces_and_changed_forms_of_it_go_too(pipeline: Pipeline, sql: Sql) -> None:
    """Before it was known, the extractor cut through it, and took for markup what was a part of it."""
    secret = 'tr0ub. *Dor*&3 "**horse**". Battery staple'
    pipeline.ingest(
        IngestEpisode("text/markdown", f"# Notes\n\nThe code is {secret} since May. A heron stood at the lake."),
        IngestEpisode("application/json", [{"role": "user", "content": f"Say {secret} to get in. The boat is blue."}]),
    )
    pipeline.drain()
    assert any("Battery staple" in text and "tr0ub" not in text for text in memories(pipeline, sql, "content", "atom"))
    assert {"memories.content"} == found_in(pipeline, sql, secret)

    redacted(pipeline, add(pipeline, secret))
    for part in ("tr0ub", "Dor", "horse", "Battery", "staple"):
        assert found_in(pipeline, sql, part) == set()
    said = " ".join(memories(pipeline, sql, "content", "atom"))
    assert "A heron stood at the lake." in said
    assert "The boat is blue." in said
    rows = sql(
        """SELECT substring(e.content FROM l.span_start + 1 FOR l.span_end - l.span_start), a.content
           FROM links l JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id AND e.content_type = 'text/markdown'
           JOIN memories a ON a.tenant = l.tenant AND a.id = l.from_id WHERE l.tenant = %s""",
        pipeline.caller.tenant,
    )
    assert all(of_source == said for of_source, said in rows)
    index = sql(INDEXED, pipeline.caller.tenant)
    pipeline.reindex()
    pipeline.drain()
    assert sql(INDEXED, pipeline.caller.tenant) == index


def test_a_query_for_it_finds_it_no_longer_by_its_words(pipeline: Pipeline) -> None:
    pipeline.put("The code is quokkaseven today.", "A heron stood at the lake.")
    pipeline.drain()
    assert "quokkaseven" in str(pipeline.found("quokkaseven")[0])
    redacted(pipeline, add(pipeline, "quokkaseven"))
    hits = pipeline.query("quokkaseven").hits
    assert all("words" not in hit.reason.lower() or "quokkaseven" not in hit.reason for hit in hits)


def test_reasons_kept_content_and_errors_too(pipeline: Pipeline, sql: Sql) -> None:
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"audit_seconds": 3600})
    refs = [result.ref for result in pipeline.ingest(everywhere(SECRET), spoken(SECRET)).results]
    pipeline.drain()
    request = TombstoneRequest(pipeline.scope(), refs, f"held {SECRET}", Cascade.TOMBSTONE_DERIVED)
    tombstone(pipeline.app, pipeline.keyring, pipeline.caller, request)
    erase.erase(pipeline.app, pipeline.keyring, pipeline.caller, pipeline.scope(), f"of {SECRET}", {"a": SECRET})
    assert {"tombstones.reason", "tombstones.kept", "jobs.spec"} <= found_in(pipeline, sql, SECRET)
    redacted(pipeline, add(pipeline, SECRET))
    assert found_in(pipeline, sql, SECRET) == set()


def test_a_media_type_that_says_it_becomes_a_plain_one(pipeline: Pipeline, sql: Sql) -> None:
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"audit_seconds": 3600})
    refs = [
        result.ref
        for result in pipeline.ingest(
            IngestEpisode("text/x-hunter22; charset=utf-8", "The boat is blue."),
            IngestEpisode("application/x-hunter22+json", {"a": "The boat is blue."}),
            IngestEpisode("application/x-hunter22+json", {"a": "The boat was blue."}),
        ).results
    ]
    pipeline.drain()
    gone = TombstoneRequest(pipeline.scope(), refs[2:], "wrong", Cascade.TOMBSTONE_DERIVED)
    tombstone(pipeline.app, pipeline.keyring, pipeline.caller, gone)
    assert found_in(pipeline, sql, "hunter22") == {"memories.content_type", "tombstones.kept"}
    redacted(pipeline, add(pipeline, "hunter22"))
    assert found_in(pipeline, sql, "hunter22") == set()
    assert memories(pipeline, sql, "content_type") == ["text/plain", "application/json", "application/json"]
    assert memories(pipeline, sql, "content")[:2] == ["The boat is blue.", '{"a":"The boat is blue."}']
    kept: list[Any] = [row[0] for row in sql("SELECT kept FROM tombstones WHERE tenant = %s", pipeline.caller.tenant)]
    assert "application/json" in [one["contentType"] for one in kept]


def test_why_something_failed_too(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.extractor = Joining(pipeline.extractor)
    job = pipeline.put("poison").job_id
    pipeline.drain()
    words = "hunter two pass"
    assert {"jobs.error", "queued_episodes.error"} <= found_in(pipeline, sql, words)
    stands_for = add(pipeline, words)
    redacted(pipeline, stands_for)
    assert found_in(pipeline, sql, words) == set()
    error = pipeline.job(job).error
    assert error is not None
    assert error.message == f"cannot read {stands_for}"


def test_the_same_content_sent_again_is_still_known(pipeline: Pipeline) -> None:
    episode = IngestEpisode("text/plain", f"It is {SECRET}.", dedupe_key=f"key {SECRET}")
    created = pipeline.ingest(episode).results[0]
    pipeline.drain()
    redacted(pipeline, add(pipeline, SECRET))
    again = pipeline.ingest(episode).results[0]
    assert (again.status, again.ref.id) == (IngestStatus.DEDUPLICATED, created.ref.id)


def test_two_atoms_that_say_the_same_now_both_stay(pipeline: Pipeline, sql: Sql) -> None:
    """A redacted copy came in after the secret was known: its atom has the fingerprint that the older one would get."""
    pipeline.put(f"The code is {SECRET}.")
    pipeline.drain()
    stands_for = add(pipeline, SECRET)
    pipeline.put(f"The code is {SECRET}.")
    pipeline.drain()
    redacted(pipeline, stands_for)
    assert memories(pipeline, sql, "content", "atom") == [f"The code is {stands_for}."] * 2
    assert found_in(pipeline, sql, SECRET) == set()
    pipeline.put(f"The code is {SECRET}.")
    pipeline.drain()
    assert len(memories(pipeline, sql, "content", "atom")) == 2


@pytest.mark.parametrize("stage", ["claimed", "extracted", "embedded"])
def test_what_a_batch_carries_waits_until_it_is_through(pipeline: Pipeline, sql: Sql, stage: str) -> None:
    pipeline.ingest(everywhere(SECRET), spoken(SECRET))
    (batch,) = pipeline.claim()
    if stage != "claimed":
        batch = pipeline.extract(batch)
    if stage == "embedded":
        batch = pipeline.embed(batch)
    stands_for = add(pipeline, SECRET)
    job = start(pipeline, stands_for)
    redact.carry_on(tools(pipeline), pipeline.caller.tenant, job.id)
    assert pipeline.job(job.id).status is JobStatus.RUNNING

    pipeline.run(batch)
    redact.carry_on(tools(pipeline), pipeline.caller.tenant, job.id)
    assert pipeline.job(job.id).status is JobStatus.COMPLETED
    assert found_in(pipeline, sql, SECRET) == set()
    index = sql(INDEXED, pipeline.caller.tenant)
    pipeline.reindex()
    pipeline.drain()
    assert sql(INDEXED, pipeline.caller.tenant) == index


def test_what_waits_is_rewritten_before_anybody_reads_it(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.ingest(spoken(SECRET))
    stands_for = add(pipeline, SECRET)
    assert redacted(pipeline, stands_for).status is JobStatus.COMPLETED
    pipeline.drain()
    assert found_in(pipeline, sql, SECRET) == set()
    assert f"The code is {stands_for}." in memories(pipeline, sql, "content", "atom")


def test_a_slice_that_has_read_the_old_words_does_not_bring_them_back(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put(f"The code is {SECRET}.")
    pipeline.drain()
    pipeline.reindex()
    held = [pipeline.embed(pipeline.extract(ref)) for ref in pipeline.claim(Lane.BULK)]
    stands_for = add(pipeline, SECRET)
    job = start(pipeline, stands_for)
    redact.carry_on(tools(pipeline), pipeline.caller.tenant, job.id)
    for batch in held:
        pipeline.index(batch)
    pipeline.drain()
    redact.carry_on(tools(pipeline), pipeline.caller.tenant, job.id)
    assert pipeline.job(job.id).status is JobStatus.COMPLETED
    index = sql(INDEXED, pipeline.caller.tenant)
    pipeline.reindex()
    pipeline.drain()
    assert sql(INDEXED, pipeline.caller.tenant) == index


def test_it_goes_on_where_it_was_cut_off(pipeline: Pipeline, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline.put(*[f"Number {number} is {SECRET}." for number in range(7)])
    pipeline.drain()
    stands_for = add(pipeline, SECRET)
    job = start(pipeline, stands_for)
    monkeypatch.setattr(redact, "PAGE", 2)
    inner, calls = pipeline.embedder, 0

    class Dying:
        model = inner.model
        chunk = inner.chunk

        def embed(self, texts: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 3:
                raise SystemExit
            return inner.embed(texts)

    dying = replace(tools(pipeline), embedder=Dying())  # type: ignore[arg-type]
    with pytest.raises(SystemExit):
        redact.carry_on(dying, pipeline.caller.tenant, job.id)
    assert pipeline.job(job.id).status is JobStatus.RUNNING
    redact.carry_on(tools(pipeline), pipeline.caller.tenant, job.id)
    done = pipeline.job(job.id)
    assert done.status is JobStatus.COMPLETED
    assert found_in(pipeline, sql, SECRET) == set()
    result: Any = done.result
    assert result["rewritten"] == len([*memories(pipeline, sql, "id"), *memories(pipeline, sql, "id", "atom")]) == 14


def test_events_say_which_memories_changed(pipeline: Pipeline, sql: Sql) -> None:
    ref = pipeline.put(f"It is {SECRET}. A heron stood.").results[0].ref
    pipeline.drain()
    job = redacted(pipeline, add(pipeline, SECRET))
    rows = sql("SELECT type, memory FROM events WHERE tenant = %s AND job = %s", pipeline.caller.tenant, job.id)
    assert {type_ for type_, _ in rows} == {"memory.indexed"}
    assert ref.id in {memory for _, memory in rows}


def test_another_tenant_is_left_alone(new_pipeline: Any, sql: Sql) -> None:
    one, other = new_pipeline(), new_pipeline()
    for pipeline in (one, other):
        pipeline.put(f"It is {SECRET}.")
        pipeline.drain()
    stands_for = add(one, SECRET)
    with pytest.raises(NotFound):
        start(other, stands_for)
    job = redacted(one, stands_for)
    assert f"It is {SECRET}." in memories(other, sql, "content")
    with pytest.raises(NotFound):
        other.job(job.id)


def test_only_an_admin_of_the_whole_tenant_may_ask_for_it(pipeline: Pipeline) -> None:
    stands_for = add(pipeline, SECRET)
    limited = replace(pipeline.caller, namespaces=frozenset({1}))
    for caller in (limited, replace(pipeline.caller, permissions=frozenset(Permission) - {Permission.ADMIN})):
        pipeline.caller = caller
        with pytest.raises(Unauthorized):
            start(pipeline, stands_for)


@pytest.mark.parametrize("unknown", ["x", "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d"])
def test_there_is_no_such_secret(pipeline: Pipeline, unknown: str) -> None:
    with pytest.raises(NotFound):
        redact.redact(pipeline.app, pipeline.caller, pipeline.caller.tenant_name, unknown)


def test_it_is_neither_cancelled_nor_retried(pipeline: Pipeline) -> None:
    job = start(pipeline, add(pipeline, SECRET))
    assert pipeline.cancel(job.id).status is JobStatus.QUEUED
    assert pipeline.retry(job.id).status is JobStatus.QUEUED
