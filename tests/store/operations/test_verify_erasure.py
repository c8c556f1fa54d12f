"""Proof that a text is gone: what holds a piece of it is found, whatever became of its spelling; and what is not looked at is no proof."""

from __future__ import annotations

import json
import unicodedata
from random import Random
from uuid import uuid4

import pytest

from infinicon.domain import Cascade, IngestEpisode, Json, MemoryRef, Policy, ScopeKey, TombstoneRequest
from infinicon.errors import InvalidRequest, MissingDependency
from infinicon.operations.tombstone import tombstone
from infinicon.operations.verify_erasure import Report, verify_erasure
from infinicon.store import policies, tenancy
from tests.conftest import Cluster
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline


@pytest.fixture
def word() -> str:
    """A word that no other test has."""
    return f"w{uuid4().hex[:10]}"


def verify(cluster: Cluster, text: str, *, rewrite: bool = False, skip_short: bool = False) -> Report:
    return verify_erasure(cluster.superuser_url, text, rewrite=rewrite, skip_short=skip_short)


def columns(report: Report) -> set[tuple[str, str, str | None]]:
    return {(trace.place.table, trace.place.column, trace.status) for trace in report.traces}


def ingest(pipeline: Pipeline, content: Json, content_type: str = "text/plain") -> MemoryRef:
    (result,) = pipeline.ingest(IngestEpisode(content_type, content)).results
    pipeline.drain()
    assert result.ref is not None
    return result.ref


def delete(pipeline: Pipeline, ref: MemoryRef, cascade: Cascade = Cascade.TOMBSTONE_DERIVED) -> None:
    tombstone(pipeline.app, pipeline.keyring, pipeline.caller, TombstoneRequest(ref.scope, [ref], "asked for", cascade))


def test_short_sentences_that_live_on_are_found(pipeline: Pipeline, cluster: Cluster, word: str) -> None:
    text = f"My {word} is 49. Ann has {word} too."
    delete(pipeline, ingest(pipeline, text), Cascade.NONE)
    report = verify(cluster, text)
    assert ("infinicon.memories", "content", "active") in columns(report)
    assert len({trace.place.name for trace in report.traces}) == 2
    assert not report.clean


@pytest.mark.parametrize(
    "spelled",
    [
        json.dumps,
        lambda document: json.dumps(document, ensure_ascii=False, separators=(",", ":")),
        lambda document: json.dumps(dict(reversed(document.items())), indent=2),
        lambda document: document["note"],
    ],
)
def test_json_is_found_however_it_is_written(pipeline: Pipeline, cluster: Cluster, word: str, spelled: object) -> None:
    document: Json = {"at": "the café", "note": f'My "pin" is\n4921 {word}é, he said'}
    with pipeline.app.transaction(pipeline.caller.tenant) as tx:
        namespace = tenancy.ensure_namespace(pipeline.caller.tenant, tx, "notes")
        policies.write(ScopeKey(pipeline.caller.tenant, namespace, pipeline.scope()), tx, Policy(audit_seconds=3600))
    delete(pipeline, ingest(pipeline, document, "application/json"), Cascade.NONE)
    found = columns(verify(cluster, unicodedata.normalize("NFD", spelled(document))))  # type: ignore[operator]
    assert ("infinicon.memories", "content", "active") in found
    assert ("infinicon.tombstones", "kept", None) in {(table, column, None) for table, column, _ in found}


def test_long_texts_that_repeat_themselves_lie_open(pipeline: Pipeline, cluster: Cluster, word: str) -> None:
    sentence = f"The vault code of {word} is quokka seven and it opens to the left. "
    text = sentence * 160
    ref = ingest(pipeline, text)
    ingest(pipeline, " ".join(Random(2).choices("abcdefghijklmnopqrstuvwxyz", k=9_000)))  # the file ends after it
    delete(pipeline, ref)
    for asked in (text, sentence):
        report = verify(cluster, asked)
        assert (report.traces, report.unread) == ([], [])
        assert any("memories" in name for name in report.files)
        assert not report.clean
    assert verify(cluster, text, rewrite=True).proven


def test_what_lies_across_the_border_of_two_chunks_is_found(pipeline: Pipeline, cluster: Cluster, word: str) -> None:
    said = f"pin {word}"
    filler = "".join(Random(3).choices("abcdefghijklmnopqrstuvwxyz", k=9_000))
    ref = ingest(pipeline, f"{filler[:1_989]} {said} {filler[2_000:]}")
    ingest(pipeline, filler)
    delete(pipeline, ref)
    assert any("memories" in name for name in verify(cluster, said).files)


def test_what_could_not_be_looked_at_is_no_proof(cluster: Cluster, sql: Sql, word: str) -> None:
    text = f"Nobody ever said {word}."
    assert verify(cluster, text).proven
    sql("COMMENT ON TABLE memories IS 'compressed once'")
    try:
        report = verify(cluster, text)
        assert (report.clean, report.proven, len(report.unread)) == (True, False, 1)
        assert verify(cluster, text, rewrite=True).proven
    finally:
        sql("COMMENT ON TABLE memories IS NULL")


def test_short_sentences_are_no_proof(cluster: Cluster, word: str) -> None:
    text = f"Nobody ever said {word}. I am ill."
    report = verify(cluster, text)
    assert (report.clean, report.proven, report.short) == (True, False, 1)
    assert verify(cluster, text, skip_short=True).proven


def test_a_role_that_cannot_read_files_proves_by_writing_anew(cluster: Cluster, sql: Sql, word: str) -> None:
    sql("CREATE ROLE prover LOGIN BYPASSRLS PASSWORD 'prover'")
    sql("GRANT pg_read_all_data TO prover")
    sql("GRANT CONNECT ON DATABASE infinicon TO prover")
    try:
        url = cluster.superuser_url.replace(cluster.superuser_url.split("//")[1].split("@")[0], "prover:prover")
        report = verify_erasure(url, f"Nobody ever said {word}.", rewrite=False)
        assert (report.clean, report.proven, len(report.unread)) == (True, False, 1)
        refused = verify_erasure(url, f"Nobody ever said {word}.", rewrite=True)  # it may not: Postgres only warns
        assert (refused.clean, refused.proven) == (True, False)
        sql("GRANT pg_maintain TO prover")
        assert verify_erasure(url, f"Nobody ever said {word}.", rewrite=True).proven
    finally:
        sql("DROP OWNED BY prover")
        sql("DROP ROLE prover")


def test_no_text_is_compressed(sql: Sql) -> None:
    """A new column of text needs STORAGE EXTERNAL, or a later file than uncompressed.sql that says so."""
    kinds = "('text', 'varchar', 'json', 'jsonb', 'bytea', '_text', '_varchar', '_jsonb')"
    found = sql(
        f"""SELECT a.attrelid::regclass::text, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            JOIN pg_type t ON t.oid = a.atttypid
            WHERE c.relnamespace IN ('infinicon'::regnamespace, 'celery'::regnamespace) AND c.relkind IN ('r', 'p')
              AND a.attnum > 0 AND NOT a.attisdropped AND t.typname IN {kinds} AND a.attstorage IN ('x', 'm')"""
    )
    assert found == []


def test_what_proves_nothing_is_refused(cluster: Cluster) -> None:
    with pytest.raises(InvalidRequest):
        verify(cluster, "I am ill.")
    with pytest.raises(MissingDependency):
        verify_erasure(cluster.app_url, "A text that is long enough.", rewrite=False)
