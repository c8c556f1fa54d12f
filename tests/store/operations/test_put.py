"""What put stores, and what deleting an entry takes away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from infinicon.domain import (
    TombstoneStatus,
)
from infinicon.errors import IdempotencyConflict, InvalidRequest, NotFound
from infinicon.operations.policy import set_policy
from infinicon.operations.secrets import add_secret
from tests.store.conftest import Sql
from tests.store.operations.conftest import COUNTERS, Pipeline
from tests.store.operations.entry_worlds import answered, bind, contents, delete, listed, put_entry


def test_a_put_is_an_episode_with_one_verbatim_atom(pipeline: Pipeline, sql: Sql) -> None:
    text = "  Two claims. And a second one, \n\n with blanks.  "
    entry = put_entry(pipeline, text, tags=["a", "b"])
    pipeline.drain()

    rows = sql(
        "SELECT type, status, content, tags, put FROM memories WHERE tenant = %s ORDER BY type", pipeline.caller.tenant
    )
    assert rows == [("atom", "active", text, ["a", "b"], True), ("episode", "active", text, ["a", "b"], True)]
    ((memory,),) = sql(
        "SELECT count(*) FROM space_rows WHERE tenant = %s AND memory = %s", pipeline.caller.tenant, entry.id
    )
    assert memory == 1
    ((whole, start, end),) = sql(
        "SELECT whole, span_start, span_end FROM links WHERE tenant = %s AND from_id = %s",
        pipeline.caller.tenant,
        entry.id,
    )
    assert (whole, start, end) == (True, 0, len(text))
    ((done, total),) = sql("SELECT done, total FROM jobs WHERE tenant = %s", pipeline.caller.tenant)
    assert (done, total) == (1, 1)


def test_a_put_that_is_tried_again_in_the_pipeline_makes_nothing_twice(pipeline: Pipeline, sql: Sql) -> None:
    put_entry(pipeline, "The heron flew. The boiler is broken.")
    (batch,) = pipeline.claim()
    embedding = pipeline.extract(batch)
    pipeline.run(pipeline.embed(embedding))

    assert sql(
        "SELECT type, count(*) FROM memories WHERE tenant = %s GROUP BY 1 ORDER BY 1", pipeline.caller.tenant
    ) == [
        ("atom", 1),
        ("episode", 1),
    ]
    assert contents(listed(pipeline)) == ["The heron flew. The boiler is broken."]


def test_two_puts_of_one_text_are_two_entries_and_one_ingest_another(pipeline: Pipeline) -> None:
    first, second = put_entry(pipeline, "Again."), put_entry(pipeline, "Again.")
    pipeline.put("Again.")
    pipeline.drain()

    assert first.id != second.id
    assert contents(listed(pipeline)) == ["Again."] * 3
    assert delete(pipeline, second.id) is TombstoneStatus.TOMBSTONED
    pipeline.drain()
    assert contents(listed(pipeline)) == ["Again."] * 2


def test_an_idempotency_key_makes_one_entry(pipeline: Pipeline) -> None:
    first = put_entry(pipeline, "Once.", idempotency_key="k", body_digest=b"d")

    assert put_entry(pipeline, "Once.", idempotency_key="k", body_digest=b"d") == first
    assert contents(listed(pipeline)) == ["Once."]


def test_one_whose_time_is_over_is_stored_with_a_warning(pipeline: Pipeline) -> None:
    now = datetime.now(UTC)
    late = answered(pipeline, "Too late.", expires_at=now - timedelta(seconds=1))

    assert [warning.code for warning in late.warnings] == ["already_expired"]
    assert answered(pipeline, "In time.", expires_at=now + timedelta(hours=1)).warnings == ()
    assert answered(pipeline, "For ever.").warnings == ()
    assert contents(listed(pipeline)) == ["For ever.", "In time."]


def test_deleting_a_put_takes_its_episode_and_what_that_led_to(pipeline: Pipeline, sql: Sql) -> None:
    entry = put_entry(pipeline, "The canary sang.")
    other = put_entry(pipeline, "The heron flew.")
    pipeline.drain()

    assert delete(pipeline, entry.id) is TombstoneStatus.TOMBSTONED
    assert delete(pipeline, entry.id) is TombstoneStatus.ALREADY_TOMBSTONED
    assert list(listed(pipeline).entries) == [other]
    assert pipeline.found("canary") == ["The heron flew."]
    rows = sql(
        "SELECT type, status, content FROM memories WHERE tenant = %s AND content IS NULL ORDER BY type",
        pipeline.caller.tenant,
    )
    assert rows == [("atom", "tombstoned", None), ("episode", "tombstoned", None)]
    left = "SELECT count(*) FROM entry_rows WHERE tenant = %s AND memory = %s"
    assert sql(left, pipeline.caller.tenant, entry.id) == [(0,)]


def test_deleting_a_put_that_is_still_in_the_pipeline(pipeline: Pipeline) -> None:
    entry = put_entry(pipeline, "The canary sang.")
    (batch,) = pipeline.claim()
    embedding = pipeline.extract(batch)
    assert delete(pipeline, entry.id) is TombstoneStatus.TOMBSTONED
    pipeline.run(embedding)

    assert contents(listed(pipeline)) == pipeline.found("canary") == []


def test_deleting_an_extracted_entry_takes_it_and_leaves_its_episode(pipeline: Pipeline, sql: Sql) -> None:
    episode = pipeline.put("The canary sang. The heron flew.").results[0].ref.id
    pipeline.drain()
    (canary,) = [entry for entry in listed(pipeline).entries if "canary" in entry.content]
    assert delete(pipeline, episode) is TombstoneStatus.NOT_FOUND

    assert delete(pipeline, canary.id) is TombstoneStatus.TOMBSTONED
    assert contents(listed(pipeline)) == ["The heron flew."]
    assert sql("SELECT status FROM memories WHERE id = %s", episode) == [("active",)]


def test_deleting_an_entry_takes_the_consolidations_that_cite_it(pipeline: Pipeline, sql: Sql) -> None:
    entry = put_entry(pipeline, "The canary sang.")
    pipeline.drain()
    sql(
        """WITH made AS (
               INSERT INTO memories (tenant, id, namespace, type, status, content, created_by)
               SELECT tenant, gen_random_uuid(), namespace, 'consolidation', 'active', 'A summary.', created_by
               FROM memories WHERE id = %s RETURNING tenant, id, namespace
           )
           INSERT INTO links (tenant, id, namespace, link_type, from_id, from_type, to_id, to_type)
           SELECT tenant, gen_random_uuid(), namespace, 'derived_from', id, 'consolidation', %s, 'atom' FROM made""",
        entry.id,
        entry.id,
    )
    assert contents(listed(pipeline)) == ["A summary.", "The canary sang."]

    assert delete(pipeline, entry.id) is TombstoneStatus.TOMBSTONED
    assert contents(listed(pipeline)) == []


def test_known_secrets_are_replaced_in_content_and_tags_and_are_no_ref(pipeline: Pipeline) -> None:
    secret = add_secret(pipeline.app, pipeline.keyring, pipeline.caller, pipeline.caller.tenant_name, "hunter2-hunter2")
    entry = put_entry(pipeline, "It is hunter2-hunter2.", tags=["hunter2-hunter2", "b"])

    marker = f"[REDACTED:{secret.id}]"
    assert (entry.content, entry.tags) == (f"It is {marker}.", [marker, "b"])
    assert list(listed(pipeline).entries) == [entry]
    assert listed(pipeline).tokens_used == COUNTERS.count("o200k_base", entry.content)
    assert list(listed(pipeline, tag=marker).entries) == [entry]
    with pytest.raises(InvalidRequest):
        put_entry(pipeline, "More.", "hunter2-hunter2")
    with pytest.raises(InvalidRequest):
        bind(pipeline, "hunter2-hunter2", pipeline.scope())


def test_an_idempotency_key_stands_for_one_body_and_one_entry(pipeline: Pipeline) -> None:
    entry = put_entry(pipeline, "Once.", idempotency_key="k", body_digest=b"d")

    with pytest.raises(IdempotencyConflict):
        put_entry(pipeline, "Twice.", idempotency_key="k", body_digest=b"e")
    delete(pipeline, entry.id)
    with pytest.raises(NotFound):
        put_entry(pipeline, "Once.", idempotency_key="k", body_digest=b"d")


def test_a_namespaces_expiry_counts_for_puts_as_well(pipeline: Pipeline) -> None:
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"default_expiry_seconds": 3600})
    entry = put_entry(pipeline, "For an hour.")

    assert entry.expires_at is not None
    assert list(listed(pipeline).entries) == [entry]
