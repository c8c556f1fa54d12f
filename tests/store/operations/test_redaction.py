"""Redaction at write: whatever field a known secret comes in, no table holds it; what is derived is redacted again."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infinicon import rendering
from infinicon.domain import Cascade, IngestEpisode, IngestStatus, Span, TombstoneRequest
from infinicon.errors import InvalidContent, InvalidRequest
from infinicon.operations import erase
from infinicon.operations.policy import set_policy
from infinicon.operations.tombstone import tombstone
from infinicon.ports import ExtractedAtom, Extraction, Extractor, SourceEpisode
from tests.store.conftest import Sql
from tests.store.operations.conftest import COUNTERS, Pipeline
from tests.store.operations.entry_worlds import put_entry
from tests.store.operations.traces import add, everywhere, found_in, memories, spoken

SECRET = "Tr0ub4dor&3 correct.horse"
JOINED = "hunter two pass"


def test_no_table_holds_a_known_secret_whatever_field_it_came_in(pipeline: Pipeline, sql: Sql) -> None:
    stands_for = add(pipeline, SECRET)
    scope = pipeline.scope(agent="a", session="s", filters={SECRET: SECRET})
    pipeline.ingest(everywhere(SECRET), spoken(SECRET), scope=scope, label=f"fill {SECRET}", key="k", body=b"body")
    pipeline.drain()

    assert found_in(pipeline, sql, SECRET) == set()
    assert memories(pipeline, sql, "tags")[0] == [stands_for, f"a {stands_for} b"]
    assert memories(pipeline, sql, "dedupe_key")[0] == f"key-{stands_for}"
    assert memories(pipeline, sql, "created_by ->> 'id'")[0] == f"ada {stands_for}"
    assert sql("SELECT label FROM jobs WHERE tenant = %s", pipeline.caller.tenant) == [(f"fill {stands_for}",)]
    assert f"It is {stands_for}, I said." in memories(pipeline, sql, "content", "atom")


def test_a_secret_that_is_not_known_is_found_by_the_same_search(pipeline: Pipeline, sql: Sql) -> None:
    """What the test above looks at is where it would be."""
    scope = pipeline.scope(agent="a", session="s", filters={SECRET: SECRET})
    pipeline.ingest(everywhere(SECRET), spoken(SECRET), scope=scope, label=f"fill {SECRET}")
    pipeline.drain()
    assert {
        "memories.content", "memories.search_text", "memories.tags", "memories.metadata", "memories.created_by", "memories.dedupe_key",
        "memories.filters", "memories.content_type", "memories.speaker", "links.speaker", "jobs.label",
    } <= found_in(pipeline, sql, SECRET)  # fmt: skip


@pytest.mark.parametrize("part", ["agent", "session"])
def test_names_of_a_scope_say_no_secret(pipeline: Pipeline, sql: Sql, part: str) -> None:
    add(pipeline, SECRET)
    scope = pipeline.scope(agent=SECRET) if part == "agent" else pipeline.scope(session=f"s {SECRET}")
    with pytest.raises(InvalidRequest) as refusal:
        pipeline.put("anything", scope=scope)
    assert SECRET not in f"{refusal.value.message} {refusal.value.details}"
    with pytest.raises(InvalidRequest):
        pipeline.put("anything", scope=pipeline.scope(f"of {SECRET}"))
    assert found_in(pipeline, sql, SECRET) == set()


def test_what_is_kept_of_bodies_under_idempotency_keys_proves_no_guess(pipeline: Pipeline, sql: Sql) -> None:
    digest = sha256(b'{"content": "It is hunter22."}').digest()
    pipeline.ingest(spoken(SECRET), key="k", body=digest)
    put_entry(pipeline, "It is hunter22.", idempotency_key="p", body_digest=digest)
    kept = [
        bytes(row[0]) for row in sql("SELECT body_digest FROM idempotency WHERE tenant = %s", pipeline.caller.tenant)
    ]
    assert len(kept) == 2
    assert digest not in kept


@pytest.mark.parametrize("content_type", ["text/{}", "application/{}+json", "text/{}; charset=utf-8"])
def test_a_media_type_says_no_secret(pipeline: Pipeline, sql: Sql, content_type: str) -> None:
    add(pipeline, "hunter22")
    rejected, kept = pipeline.ingest(
        IngestEpisode(content_type.format("x-hunter22"), "A heron stood."),
        IngestEpisode(content_type.format("x-hunter2"), "A heron stood."),
    ).results
    assert (rejected.status, kept.status) == (IngestStatus.REJECTED, IngestStatus.CREATED)
    assert rejected.error is not None
    assert (rejected.error.code, rejected.error.details["field"]) == ("invalid_request", "contentType")
    assert "hunter22" not in f"{rejected.error.message} {rejected.error.details}"
    assert found_in(pipeline, sql, "hunter22") == set()


def test_the_plain_media_types_are_taken_whatever_is_known(pipeline: Pipeline) -> None:
    add(pipeline, "text/plain")
    assert pipeline.put("A heron stood.").results[0].status is IngestStatus.CREATED


def test_sameness_is_known_of_what_came_in(pipeline: Pipeline) -> None:
    """Digests are made before anything is replaced: other content is other content, though it is redacted to the same."""
    add(pipeline, "first secret")
    add(pipeline, "other secret")
    episode = IngestEpisode("text/plain", "It is first secret.", dedupe_key="first secret")
    created, again = (pipeline.ingest(episode).results[0] for _ in range(2))
    other = pipeline.ingest(replace(episode, content="It is other secret.")).results[0]
    elsewhere = pipeline.ingest(replace(episode, dedupe_key="other secret")).results[0]
    assert [one.status for one in (created, again, other, elsewhere)] == [
        IngestStatus.CREATED, IngestStatus.DEDUPLICATED, IngestStatus.REJECTED, IngestStatus.CREATED,
    ]  # fmt: skip
    assert again.ref.id == created.ref.id


def test_what_is_counted_and_ranked_is_the_marker(pipeline: Pipeline, sql: Sql) -> None:
    """W15: a marker costs more than a short secret, and a search for the secret finds nothing by it."""
    stands_for = add(pipeline, "hunter22")
    pipeline.put("The password is hunter22 today.", "A heron stood at the lake.")
    pipeline.drain()
    rows = sql(
        "SELECT content, content_o200k_base, content_chars FROM memories WHERE tenant = %s AND type = 'atom' AND content LIKE %s",
        pipeline.caller.tenant,
        "The password%",
    )
    redacted = f"The password is {stands_for} today."
    assert rows == [(redacted, COUNTERS.count("o200k_base", redacted), len(redacted))]
    assert all("hunter22" not in str(content) for content in pipeline.found("hunter22"))
    context = pipeline.assemble("What is the password?")
    assert "hunter22" not in "".join(str(segment.content) for segment in context.segments)
    assert (
        pipeline.assemble("Is it hunter22?", scope=pipeline.scope(filters={"a": "hunter22"})).task
        == f"Is it {stands_for}?"
    )


class Joining:
    """An extractor that puts lines together, and says things of its own, as a model does."""

    name = "joining"
    version = "1"

    def __init__(self, inner: Extractor) -> None:
        self._inner = inner

    def supports(self, content_type: str) -> bool:
        return self._inner.supports(content_type)

    def extract(self, episode: SourceEpisode) -> Extraction:
        text = str(episode.content)
        if "poison" in text:
            raise InvalidContent(f"cannot read {JOINED}", details={"seen": JOINED})
        joined = " ".join(text.split())
        return Extraction(
            [ExtractedAtom(joined, Span(0, len(text)), speaker=f"says {JOINED}")], f"found by {joined}", JOINED
        )


def test_derived_text_passes_the_redactor_again(pipeline: Pipeline, sql: Sql) -> None:
    """A secret that a line break keeps apart is none in the source, and one in what is derived from it."""
    stands_for = add(pipeline, JOINED)
    pipeline.extractor = Joining(pipeline.extractor)
    pipeline.put("It is hunter\ntwo pass, so.")
    pipeline.drain()
    assert memories(pipeline, sql, "content") == ["It is hunter\ntwo pass, so."]
    assert found_in(pipeline, sql, JOINED) == set()
    assert memories(pipeline, sql, "content", "atom") == [f"It is {stands_for}, so."]
    assert memories(pipeline, sql, "search_text") == [f"found by It is {stands_for}, so."]
    assert memories(pipeline, sql, "speaker", "atom") == [f"says {stands_for}"]
    unit = rendering.unit(
        f"says {stands_for}", None, memories(pipeline, sql, "created_at", "atom")[0], f"It is {stands_for}, so."
    )
    assert memories(pipeline, sql, "unit_chars", "atom") == [len(unit)]


def test_what_a_plug_in_words_is_redacted(pipeline: Pipeline, sql: Sql) -> None:
    stands_for = add(pipeline, JOINED)
    pipeline.extractor = Joining(pipeline.extractor)
    job = pipeline.put("poison").job_id
    pipeline.drain()
    assert found_in(pipeline, sql, JOINED) == set()
    error = pipeline.job(job).error
    assert error is not None
    assert error.message == f"cannot read {stands_for}"
    assert error.details["seen"] == stands_for


def test_a_secret_that_becomes_known_while_the_extractor_works_is_redacted_in_what_it_says(
    pipeline: Pipeline, sql: Sql
) -> None:
    inner = Joining(pipeline.extractor)
    added: list[str] = []

    class Slow(Joining):
        def extract(self, episode: SourceEpisode) -> Extraction:
            found = inner.extract(episode)
            added.append(add(pipeline, JOINED))
            return found

    pipeline.extractor = Slow(pipeline.extractor)
    pipeline.put("It is hunter\ntwo pass, so.")
    pipeline.drain()
    assert memories(pipeline, sql, "content", "atom") == [f"It is {added[0]}, so."]
    assert found_in(pipeline, sql, JOINED) == set()


def test_reasons_and_what_an_erasure_looks_for_are_redacted(pipeline: Pipeline, sql: Sql) -> None:
    stands_for = add(pipeline, SECRET)
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"audit_seconds": 60})
    ref = pipeline.ingest(IngestEpisode("text/plain", "Mine.", metadata={"person": SECRET})).results[0].ref
    pipeline.ingest(IngestEpisode("text/plain", "Also mine.", metadata={"person": SECRET}))
    pipeline.drain()
    request = TombstoneRequest(pipeline.scope(), [ref], f"held {SECRET}", Cascade.TOMBSTONE_DERIVED)
    tombstone(pipeline.app, pipeline.keyring, pipeline.caller, request)
    job = erase.erase(
        pipeline.app, pipeline.keyring, pipeline.caller, pipeline.scope(), f"of {SECRET}", {"person": SECRET}
    )
    assert found_in(pipeline, sql, SECRET) == set()
    erase.carry_on(pipeline.app, pipeline.caller.tenant, job.id)
    reasons = {row[0] for row in sql("SELECT reason FROM tombstones WHERE tenant = %s", pipeline.caller.tenant)}
    assert reasons == {f"held {stands_for}", f"of {stands_for}"}
    assert memories(pipeline, sql, "content") == [None, None]


def test_spans_are_of_the_redacted_text(pipeline: Pipeline, sql: Sql) -> None:
    add(pipeline, "hunter22")
    pipeline.put("It is hunter22. The heron stood at the lake. It was hunter22 again.")
    pipeline.drain()
    rows = sql(
        """SELECT substring(e.content FROM l.span_start + 1 FOR l.span_end - l.span_start), a.content
           FROM links l JOIN memories e ON e.tenant = l.tenant AND e.id = l.to_id
           JOIN memories a ON a.tenant = l.tenant AND a.id = l.from_id
           WHERE l.tenant = %s""",
        pipeline.caller.tenant,
    )
    assert len(rows) == 3
    assert all(of_source == said for of_source, said in rows)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text("abA1 .\n", min_size=8, max_size=12).filter(lambda value: value.strip()), st.text("abA1 .\n", max_size=40)
)
def test_any_secret_in_any_text(pipeline: Pipeline, sql: Sql, secret: str, around: str) -> None:
    sql("DELETE FROM memories WHERE tenant = %s", pipeline.caller.tenant)
    stands_for = add(pipeline, secret)
    pipeline.put(f"{around}{secret}{around} heron")
    pipeline.drain()
    stored = [*memories(pipeline, sql, "content"), *memories(pipeline, sql, "content", "atom")]
    assert all(secret not in text.replace(stands_for, "\0") for text in stored)


def test_what_looks_like_a_credential_goes_where_the_policy_says_so(pipeline: Pipeline, sql: Sql) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    strict, plain = pipeline.scope("strict"), pipeline.scope("plain")
    set_policy(pipeline.app, pipeline.caller, strict, {"redact_credentials": True})
    stands_for = add(pipeline, SECRET)
    for scope in (strict, plain):
        pipeline.ingest(
            IngestEpisode("text/plain", f"Push with {token}, not {SECRET}.", tags=[token], metadata={token: token}),
            scope=scope,
        )
    pipeline.drain()
    first, second = memories(pipeline, sql, "content")
    assert first == f"Push with [REDACTED:github-pat], not {stands_for}."
    assert second == f"Push with {token}, not {stands_for}."
    assert memories(pipeline, sql, "metadata")[0] == {"[REDACTED:github-pat]": "[REDACTED:github-pat]"}
    assert memories(pipeline, sql, "content", "atom") == [first, second]
