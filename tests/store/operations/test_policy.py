"""Policies: defaults, changes member by member, and what an audit keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infinicon.domain import Cascade, Permission, Policy, TombstoneRequest
from infinicon.errors import Unauthorized
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
