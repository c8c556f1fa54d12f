"""redact: labels of keys are rewritten; names by which memory is found stay, and the job says how many."""

from __future__ import annotations

from typing import Any

from infinicon.domain import NewKey, Permission
from infinicon.operations import keys
from infinicon.store import names
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.store.operations.entry_worlds import bind
from tests.store.operations.test_redact import SECRET, redacted
from tests.store.operations.traces import add, found_in


def test_labels_of_keys_too_also_of_revoked_ones(pipeline: Pipeline, new_pipeline: Any, sql: Sql) -> None:
    tenant = pipeline.caller.tenant_name
    wanted = [NewKey(frozenset({Permission.INGEST}), None, f"number {number} of {SECRET}") for number in range(2)]
    made = [keys.create_key(pipeline.app, pipeline.keyring, pipeline.caller, tenant, one)[0] for one in wanted]
    keys.revoke_key(pipeline.app, pipeline.caller, tenant, str(made[1].id))
    assert found_in(pipeline, sql, SECRET) == {"keys.label"}
    stands_for = add(pipeline, SECRET)
    redacted(pipeline, stands_for)
    assert found_in(pipeline, sql, SECRET) == set()
    labels = sql("SELECT label FROM keys WHERE tenant = %s AND label LIKE 'number%%'", pipeline.caller.tenant)
    assert {row[0] for row in labels} == {f"number {number} of {stands_for}" for number in range(2)}
    with pipeline.app.transaction(new_pipeline().caller.tenant) as tx:
        names.reword_key(tx, made[0].id, "of another tenant's choice")
    assert sql("SELECT label FROM keys WHERE id = %s", made[0].id) == [(f"number 0 of {stands_for}",)]
    again, _ = keys.create_key(pipeline.app, pipeline.keyring, pipeline.caller, tenant, wanted[0])
    assert again.label == f"number 0 of {stands_for}"


def test_names_that_say_it_stay_and_are_counted(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("The boat is blue.", scope=pipeline.scope(agent="a hunter22"))
    pipeline.put("The boat is red.", scope=pipeline.scope("of hunter22"))
    bind(pipeline, "ref hunter22", pipeline.scope())
    bind(pipeline, "plain", pipeline.scope(session="hunter22"))
    pipeline.drain()
    job = redacted(pipeline, add(pipeline, "hunter22"))
    assert job.result == {"rewritten": 0, "left": {"namespaces": 1, "bindings": 2, "memories": 2}}
    assert "memory_bindings.ref" in found_in(pipeline, sql, "hunter22")
