"""Whether somebody counts the time: the scheduler's heartbeat."""

from __future__ import annotations

import pytest

from infinicon.operations import due
from infinicon.operations.status import look
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline


@pytest.mark.parametrize(("age", "tick", "late"), [(14, 2, False), (17, 2, True), (29, 10, False), (32, 10, True)])
def test_a_clock_that_moves_nothing_is_found_out(
    pipeline: Pipeline, sql: Sql, age: int, tick: float, *, late: bool
) -> None:
    sql("UPDATE heartbeats SET beat_at = now() - make_interval(secs => %s)", age)
    scheduler = look(pipeline.app, pipeline.caller, pipeline.caller.tenant_name, tick)[2]

    assert scheduler.age_seconds is not None
    assert age <= scheduler.age_seconds < age + 2
    assert scheduler.late is late


def test_a_tick_is_a_sign_of_life(pipeline: Pipeline, sql: Sql) -> None:
    sql("DELETE FROM heartbeats")
    never = look(pipeline.app, pipeline.caller, pipeline.caller.tenant_name, 10)[2]
    due.claim(pipeline.sweeper, 0)
    scheduler = look(pipeline.app, pipeline.caller, pipeline.caller.tenant_name, 10)[2]

    assert (never.age_seconds, never.late) == (None, True)
    assert scheduler.age_seconds is not None
    assert not scheduler.late
