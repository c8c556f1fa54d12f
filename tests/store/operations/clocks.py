"""A namespace whose consolidations start by themselves, and a clock that a test moves: rows grow older, nobody waits."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from infinicon.domain import Scope
from infinicon.operations import due
from infinicon.operations.policy import set_policy
from infinicon.store.schedules import Due
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline

LYON = "Rosa lives in Lyon."
HOUR = 3600


def policy(pipeline: Pipeline, namespace: str = "notes", **members: Any) -> None:
    changes = {f"consolidation_{name}": value for name, value in members.items()}
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(namespace), changes)


def put(pipeline: Pipeline, *texts: str, scope: Scope | None = None) -> None:
    pipeline.put(*texts, scope=scope)
    pipeline.drain()


def facts(number: int, about: str = "the cellar") -> list[str]:
    return [f"Fact {at} is about {about}." for at in range(number)]


def state(sql: Sql, pipeline: Pipeline) -> list[tuple[datetime | None, str | None, int]]:
    """When each scope is due, for what, and how much waits in it."""
    rows = sql(
        "SELECT window_at, due_for, waiting FROM consolidation_scopes WHERE tenant = %s AND waiting > 0 ORDER BY id",
        pipeline.caller.tenant,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def scope_of(sql: Sql, pipeline: Pipeline) -> dict[str, Any]:
    """The one scope of the tenant."""
    names = ("oldest_at", "last_indexed_at", "last_run_at", "window_at", "due_at", "due_for", "job", "failures", "id")
    ((*values,),) = sql(
        "SELECT oldest_at, last_indexed_at, last_run_at, window_at, due_at, due_for, job, failures, id"
        " FROM consolidation_scopes WHERE tenant = %s",
        pipeline.caller.tenant,
    )
    return dict(zip(names, values, strict=True))


def ago(sql: Sql, pipeline: Pipeline, seconds: float) -> None:
    """All that the scopes remember happened so much earlier: time has passed, and nobody has looked."""
    sql(
        "UPDATE consolidation_scopes SET oldest_at = oldest_at - d, last_indexed_at = last_indexed_at - d,"
        " last_run_at = last_run_at - d, window_at = NULL FROM make_interval(secs => %s) AS d WHERE tenant = %s",
        *(seconds, pipeline.caller.tenant),
    )
    sql(
        "UPDATE consolidation_backlog SET added_at = added_at - make_interval(secs => %s) WHERE tenant = %s",
        *(seconds, pipeline.caller.tenant),
    )


def tick(pipeline: Pipeline) -> list[UUID]:
    """Beat's tick; the jobs of this tenant."""
    mine = [found for found in due.claim(pipeline.sweeper, 1_000) if found.tenant == pipeline.caller.tenant]
    return [job for found in mine if (job := due.begin(pipeline.app, found))]


def started(sql: Sql, pipeline: Pipeline) -> list[tuple[str, str]]:
    """Trigger and status of each consolidation of the tenant, the oldest first."""
    rows = sql(
        "SELECT result ->> 'trigger', status FROM jobs WHERE tenant = %s AND type = 'consolidate' ORDER BY id",
        pipeline.caller.tenant,
    )
    return [(row[0], row[1]) for row in rows]


def result(pipeline: Pipeline, job: UUID) -> dict[str, Any]:
    found: Any = pipeline.job(job).result
    return dict(found)


def late(sql: Sql, pipeline: Pipeline) -> None:
    """Whoever claimed has not been heard of for a minute."""
    sql(
        "UPDATE consolidation_scopes SET due_at = now() WHERE tenant = %s AND due_at IS NOT NULL",
        pipeline.caller.tenant,
    )


def claimed(pipeline: Pipeline) -> Due:
    (mine,) = [found for found in due.claim(pipeline.sweeper, 1_000) if found.tenant == pipeline.caller.tenant]
    return mine
