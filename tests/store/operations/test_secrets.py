"""Secrets of a tenant: added, listed, removed, and never given back; two tenants know nothing of each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from infinicon.domain import Permission
from infinicon.errors import InvalidRequest, MissingDependency, NotFound, Unauthorized
from infinicon.keyring import Keyring
from infinicon.operations import redaction, secrets
from infinicon.store.database import Database
from infinicon.store.secrets import Sealed
from tests.conftest import Cluster
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline
from tests.waiting import wait_until

VALUE = "correct horse battery"


def add(pipeline: Pipeline, value: str = VALUE) -> str:
    made = secrets.add_secret(pipeline.app, pipeline.keyring, pipeline.caller, pipeline.caller.tenant_name, value)
    return str(made.id)


def listed(pipeline: Pipeline) -> list[str]:
    return [str(one.id) for one in secrets.list_secrets(pipeline.app, pipeline.caller, pipeline.caller.tenant_name)]


def content(pipeline: Pipeline, sql: Sql) -> list[str]:
    return [
        row[0]
        for row in sql("SELECT content FROM memories WHERE tenant = %s AND type = 'episode'", pipeline.caller.tenant)
    ]


def test_it_is_kept_encrypted_and_listed_by_id(pipeline: Pipeline, sql: Sql) -> None:
    first, second = add(pipeline), add(pipeline, "another secret")
    assert add(pipeline) == first
    assert listed(pipeline) == [first, second]
    rows = sql("SELECT ciphertext, key_id FROM secrets WHERE tenant = %s", pipeline.caller.tenant)
    assert all(b"horse" not in bytes(ciphertext) for ciphertext, _ in rows)
    assert {key_id for _, key_id in rows} == {pipeline.keyring.id}

    gone = secrets.remove_secret(pipeline.app, pipeline.caller, pipeline.caller.tenant_name, first)
    assert str(gone.id) == first
    assert listed(pipeline) == [second]


def test_a_ciphertext_opens_in_its_own_row_only(pipeline: Pipeline, sql: Sql) -> None:
    add(pipeline)
    add(pipeline, "another secret")
    sql(
        """UPDATE secrets s SET ciphertext = (SELECT ciphertext FROM secrets o WHERE o.tenant = s.tenant ORDER BY created_at, id LIMIT 1)
           WHERE tenant = %s""",
        pipeline.caller.tenant,
    )
    sql("UPDATE secret_versions SET version = gen_random_uuid() WHERE tenant = %s", pipeline.caller.tenant)
    with pytest.raises(MissingDependency):
        pipeline.put("anything")


def test_under_another_master_key_nothing_is_stored(pipeline: Pipeline, sql: Sql) -> None:
    add(pipeline)
    sql("UPDATE secret_versions SET version = gen_random_uuid() WHERE tenant = %s", pipeline.caller.tenant)
    pipeline.keyring = Keyring("z" * 32)
    with pytest.raises(MissingDependency, match="INFINICON_MASTER_KEY"):
        pipeline.put("anything")
    assert content(pipeline, sql) == []


def test_only_an_admin_of_the_whole_tenant_has_a_say(pipeline: Pipeline) -> None:
    secret, tenant = add(pipeline), pipeline.caller.tenant_name
    powerless = replace(pipeline.caller, permissions=frozenset(Permission) - {Permission.ADMIN})
    for caller in (
        powerless,
        replace(pipeline.caller, namespaces=frozenset({1})),
        replace(pipeline.caller, tenant_name="x"),
    ):
        calls: list[Callable[[], object]] = [
            partial(secrets.list_secrets, pipeline.app, caller, tenant),
            partial(secrets.add_secret, pipeline.app, pipeline.keyring, caller, tenant, "another secret"),
            partial(secrets.remove_secret, pipeline.app, caller, tenant, secret),
        ]
        for call in calls:
            with pytest.raises(Unauthorized):
                call()
    assert listed(pipeline) == [secret]


@pytest.mark.parametrize("unknown", ["", "nonsense", "019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d"])
def test_an_unknown_id_is_not_found(pipeline: Pipeline, unknown: str) -> None:
    with pytest.raises(NotFound):
        secrets.remove_secret(pipeline.app, pipeline.caller, pipeline.caller.tenant_name, unknown)


def test_there_is_an_end_to_how_many(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "MOST", 1)
    add(pipeline)
    with pytest.raises(InvalidRequest):
        add(pipeline, "another secret")


def test_one_tenant_s_secret_is_text_to_another(new_pipeline: Callable[[], Pipeline], sql: Sql) -> None:
    one, other = new_pipeline(), new_pipeline()
    secret = add(one)
    for pipeline in (one, other):
        pipeline.put(f"It is {VALUE}.")
    assert content(one, sql) == [f"It is [REDACTED:{secret}]."]
    assert content(other, sql) == [f"It is {VALUE}."]
    assert listed(other) == []
    with pytest.raises(NotFound):
        secrets.remove_secret(other.app, other.caller, other.caller.tenant_name, secret)


def test_what_another_process_adds_and_removes_counts_from_the_next_write_on(
    pipeline: Pipeline, cluster: Cluster, sql: Sql
) -> None:
    """The redactor is remembered by a version that every transaction reads, and so what is remembered is never old."""
    elsewhere = Database(cluster.app_url, pool_size=1)
    try:
        pipeline.put(f"1 {VALUE}")
        made = secrets.add_secret(elsewhere, pipeline.keyring, pipeline.caller, pipeline.caller.tenant_name, VALUE)
        pipeline.put(f"2 {VALUE}")
        secrets.remove_secret(elsewhere, pipeline.caller, pipeline.caller.tenant_name, str(made.id))
        pipeline.put(f"3 {VALUE}")
    finally:
        elsewhere.close()
    assert sorted(content(pipeline, sql)) == [f"1 {VALUE}", f"2 [REDACTED:{made.id}]", f"3 {VALUE}"]


def test_whoever_adds_a_secret_waits_for_writers_that_do_not_know_it(pipeline: Pipeline, sql: Sql) -> None:
    """Else what such a writer commits afterwards would hold a secret that is known, and no redact that was asked for would find it."""
    tenant = pipeline.caller.tenant
    with pipeline.app.transaction(tenant) as tx:
        assert redaction.current(tx, tenant, pipeline.keyring).idle
        adder = threading.Thread(target=add, args=(pipeline,))
        adder.start()
        waiting = (
            """SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND query LIKE '%%''secrets ''%%'"""
        )
        wait_until(lambda: sql(waiting) == [(1,)], "the other one waits")
        assert sql("SELECT count(*) FROM secrets WHERE tenant = %s", tenant) == [(0,)]
    adder.join(10)
    assert sql("SELECT count(*) FROM secrets WHERE tenant = %s", tenant) == [(1,)]


def test_decryption_happens_once_for_a_version(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    add(pipeline)
    opened: list[str] = []
    inner = redaction.opened

    def counted(keyring: Keyring, tenant: int, secret: Sealed) -> str:
        opened.append(inner(keyring, tenant, secret))
        return opened[-1]

    monkeypatch.setattr(redaction, "opened", counted)
    for _ in range(3):
        pipeline.put("anything")
    assert len(opened) == 1
    add(pipeline, "another secret")
    opened.clear()
    pipeline.put("anything")
    assert len(opened) == 2
