"""Whose entries they are: nobody else sees them, and nobody else's change what is seen."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from infinicon.domain import (
    NIL_ID,
    Caller,
    Permission,
    TombstoneStatus,
)
from infinicon.errors import Unauthorized
from infinicon.operations import bindings as binding
from infinicon.store import tenancy
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.entry_worlds import bind, contents, delete, get, listed, put_entry, relevant


def test_unknown_foreign_and_malformed_refs_and_ids_are_nothing(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]
) -> None:
    entry = put_entry(pipeline, "Ours.")
    pipeline.drain()
    stranger = new_pipeline()

    for ref in ("Notes", "../notes", "notes ", "nothing", None):
        assert contents(listed(pipeline, ref)) == []
        assert get(pipeline, entry.id, ref) is None
        assert delete(pipeline, entry.id, ref) is TombstoneStatus.NOT_FOUND
    for wrong in ("", "x", "a\x00b", str(entry.id).upper(), str(NIL_ID), str(uuid4())):
        assert get(pipeline, wrong) is None
        assert delete(pipeline, wrong) is TombstoneStatus.NOT_FOUND
    assert contents(listed(stranger)) == contents(listed(stranger, token_budget=100)) == []
    assert contents(relevant(stranger, "Ours.")) == []
    assert get(stranger, entry.id) is None
    assert delete(stranger, entry.id) is TombstoneStatus.NOT_FOUND
    theirs = put_entry(stranger, "Theirs.")
    assert get(stranger, entry.id) is get(pipeline, theirs.id) is None
    assert delete(stranger, entry.id) is TombstoneStatus.NOT_FOUND
    assert contents(listed(pipeline)) == ["Ours."]


def test_namespaces_outside_the_keys_are_nothing_and_take_nothing(pipeline: Pipeline) -> None:
    entry = put_entry(pipeline, "Ours.")
    with pipeline.app.transaction(pipeline.caller.tenant) as tx:
        other = tenancy.ensure_namespace(pipeline.caller.tenant, tx, "other")
    bind(pipeline, "bound", pipeline.scope())
    everything = pipeline.caller
    pipeline.caller = Caller(
        everything.tenant, everything.tenant_name, uuid4(), frozenset(Permission), frozenset({other})
    )

    for ref in ("notes", "bound"):
        assert contents(listed(pipeline, ref)) == []
        assert get(pipeline, entry.id, ref) is None
        assert delete(pipeline, entry.id, ref) is TombstoneStatus.NOT_FOUND
        with pytest.raises(Unauthorized):
            put_entry(pipeline, "Mine.", ref)
    with pytest.raises(Unauthorized):
        bind(pipeline, "bound", pipeline.scope("other"))
    assert put_entry(pipeline, "Mine.", "other") in listed(pipeline, "other").entries


@pytest.mark.parametrize("permission", list(Permission))
def test_each_verb_asks_for_its_own_permission(pipeline: Pipeline, permission: Permission) -> None:
    entry = put_entry(pipeline, "Ours.")
    whole = pipeline.caller
    pipeline.caller = Caller(whole.tenant, whole.tenant_name, uuid4(), frozenset({permission}))
    verbs: dict[Permission, list[Callable[[], object]]] = {
        Permission.HYDRATE: [lambda: listed(pipeline), lambda: listed(pipeline, None), lambda: get(pipeline, entry.id)],
        Permission.INGEST: [lambda: put_entry(pipeline, "More.")],
        Permission.TOMBSTONE: [lambda: delete(pipeline, entry.id), lambda: delete(pipeline, "x", None)],
        Permission.ADMIN: [
            lambda: bind(pipeline, "a", pipeline.scope()),
            lambda: binding.unbind(pipeline.app, pipeline.caller, "a"),
            lambda: binding.list_bindings(pipeline.app, pipeline.caller, "", 10),
        ],
    }
    for needed, calls in verbs.items():
        for call in calls:
            if permission in {needed, Permission.ADMIN}:
                call()
            else:
                with pytest.raises(Unauthorized):
                    call()


def test_neighbours_of_another_tenant_change_nothing(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline], sql: Sql
) -> None:
    for number in range(20):
        put_entry(pipeline, f"The heron of bay {number} flew.")
    pipeline.drain()
    before = [relevant(pipeline, "heron of bay 7", token_budget=60), listed(pipeline, token_budget=60)]
    stranger = new_pipeline()
    put_entry(stranger, "The heron of bay 7 flew.")
    stranger.drain()
    crowd(sql, stranger.caller.tenant, 10_000)

    assert [relevant(pipeline, "heron of bay 7", token_budget=60), listed(pipeline, token_budget=60)] == before
    assert len(listed(stranger).entries) == 1_000
    sql("DELETE FROM space_rows WHERE tenant = %s", stranger.caller.tenant)
    sql("DELETE FROM entry_rows WHERE tenant = %s", stranger.caller.tenant)


def crowd(sql: Sql, tenant: int, number: int) -> None:
    """Copies of a tenant's only entry and of its vector."""
    sql(
        """WITH made AS (
               INSERT INTO memories (tenant, id, namespace, type, status, content_type, content, created_by, content_o200k_base)
               SELECT tenant, gen_random_uuid(), namespace, 'atom', 'active', 'text/plain', content, created_by, content_o200k_base
               FROM memories, generate_series(1, %s) WHERE tenant = %s AND type = 'atom'
               RETURNING id
           )
           INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, span_start, span_end, digest, lexemes, vector)
           SELECT s.tenant, s.namespace, s.model, made.id, 0, s.type, s.span_start, s.span_end, s.digest, s.lexemes, s.vector
           FROM made, space_rows s WHERE s.tenant = %s""",
        number,
        tenant,
        tenant,
    )
