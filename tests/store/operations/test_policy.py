"""Policies: defaults, changes member by member, and what an audit keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infinicon.domain import Cascade, Permission, Policy, TombstoneRequest
from infinicon.errors import InvalidRequest, Unauthorized
from infinicon.operations.expire import expire
from infinicon.operations.policy import get_policy, set_policy
from infinicon.operations.tombstone import tombstone
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline

SECRET = "The vault code is quokka seven."


def test_members_change_one_by_one(pipeline: Pipeline) -> None:
    assert get_policy(pipeline.app, pipeline.caller, pipeline.scope()) == Policy()
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"audit_seconds": 60})
    set_policy(
        pipeline.app, pipeline.caller, pipeline.scope(), {"event_retention_seconds": 7, "job_retention_seconds": 8}
    )
    changed = set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"job_retention_seconds": None})

    assert changed == Policy(audit_seconds=60, event_retention_seconds=7)
    assert get_policy(pipeline.app, pipeline.caller, pipeline.scope()) == changed
    assert get_policy(pipeline.app, pipeline.caller, pipeline.scope("other")) == Policy()


def test_only_an_admin_has_a_say(pipeline: Pipeline) -> None:
    caller = replace(pipeline.caller, permissions=frozenset(Permission) - {Permission.ADMIN})
    with pytest.raises(Unauthorized):
        get_policy(pipeline.app, caller, pipeline.scope())
    with pytest.raises(Unauthorized):
        set_policy(pipeline.app, caller, pipeline.scope(), {"audit_seconds": 1})


def test_an_audit_keeps_what_was_deleted_until_it_is_over(pipeline: Pipeline, sql: Sql, sweeper: Database) -> None:
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"audit_seconds": 3600})
    ref = pipeline.put(SECRET).results[0].ref
    pipeline.drain()
    tombstone(
        pipeline.app,
        pipeline.keyring,
        pipeline.caller,
        TombstoneRequest(pipeline.scope(), [ref], "x", Cascade.TOMBSTONE_DERIVED),
    )

    kept = sql(
        "SELECT kept ->> 'content', kept_until > now() FROM tombstones WHERE tenant = %s", pipeline.caller.tenant
    )
    assert kept == [(SECRET, True)] * 2
    assert sql("SELECT count(*) FROM memories WHERE tenant = %s AND content IS NOT NULL", pipeline.caller.tenant) == [
        (0,)
    ]
    sql("UPDATE tombstones SET kept_until = now() WHERE tenant = %s", pipeline.caller.tenant)
    expire(sweeper, pipeline.app)
    assert sql("SELECT DISTINCT kept, kept_until FROM tombstones WHERE tenant = %s", pipeline.caller.tenant) == [
        (None, None)
    ]


def test_a_shorter_audit_holds_for_what_is_kept_already(pipeline: Pipeline, sql: Sql) -> None:
    def keep(seconds: int) -> Policy:
        return set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"audit_seconds": seconds})

    def kept() -> list[tuple[object, ...]]:
        return sql(
            "SELECT DISTINCT kept ->> 'content', round(extract(epoch FROM kept_until - created_at)) FROM tombstones WHERE tenant = %s",
            pipeline.caller.tenant,
        )

    keep(3600)
    for namespace in ("notes", "elsewhere"):
        set_policy(pipeline.app, pipeline.caller, pipeline.scope(namespace), {"audit_seconds": 3600})
        ref = pipeline.put(SECRET, scope=pipeline.scope(namespace)).results[0].ref
        pipeline.drain()
        request = TombstoneRequest(pipeline.scope(namespace), [ref], "x", Cascade.TOMBSTONE_DERIVED)
        tombstone(pipeline.app, pipeline.keyring, pipeline.caller, request)
    keep(7200)
    assert kept() == [(SECRET, 3600)]
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"job_retention_seconds": 5})
    assert kept() == [(SECRET, 3600)]
    keep(60)
    assert sorted(kept()) == [(SECRET, 60), (SECRET, 3600)]
    keep(0)
    assert set(kept()) == {(None, None), (SECRET, 3600)}


@pytest.mark.parametrize("part", [{"agent": "a"}, {"session": "s"}, {"filters": {}}])
def test_a_policy_is_a_whole_namespaces(pipeline: Pipeline, part: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        set_policy(pipeline.app, pipeline.caller, pipeline.scope(**part), {"audit_seconds": 1})
    assert str(refusal.value.details["field"]).startswith("scope.")
    assert get_policy(pipeline.app, pipeline.caller, pipeline.scope()) == Policy()
