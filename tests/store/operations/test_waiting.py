"""What callers wait for: what is on its way, what will not come, and whether anything older than a moment is pending."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from infinicon.domain import Scope
from infinicon.errors import MissingDependency, PluginFailed, Unauthorized
from infinicon.operations import ready, waiting
from infinicon.operations.ready import check
from infinicon.ports import Extraction, SourceEpisode
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline


class Failing:
    name, version = "failing", "1"

    def supports(self, content_type: str) -> bool:
        return True

    def extract(self, episode: SourceEpisode) -> Extraction:
        raise PluginFailed("it raised")


def ids(pipeline: Pipeline, *texts: str, scope: Scope | None = None) -> list[UUID]:
    return [result.ref.id for result in pipeline.put(*texts, scope=scope).results]


def test_unindexed_until_the_last_stage_has_committed(pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]) -> None:
    tenant = pipeline.caller.tenant
    first, second = ids(pipeline, "One fact.", "Another fact.")

    def unindexed() -> set[UUID]:
        return waiting.unindexed(pipeline.app, tenant, [first, second])

    assert unindexed() == {first, second}
    assert waiting.unindexed(pipeline.app, tenant, [second]) == {second}
    assert waiting.unindexed(pipeline.app, new_pipeline().caller.tenant, [first, second]) == set()
    (ref,) = pipeline.claim()
    ref = pipeline.embed(pipeline.extract(ref))
    assert unindexed() == {first, second}
    pipeline.index(ref)
    assert unindexed() == set()
    assert waiting.failed(pipeline.app, tenant, [first, second]) == {}


def test_what_will_not_come_by_itself_has_a_reason(pipeline: Pipeline, sql: Sql) -> None:
    tenant = pipeline.caller.tenant
    pipeline.extractor = Failing()
    (failed,) = ids(pipeline, "One fact.")
    pipeline.drain()
    (cancelled,) = ids(pipeline, "Another fact.")
    sql("UPDATE queued_episodes SET state = 'cancelled' WHERE episode = %s", cancelled)

    faults = waiting.failed(pipeline.app, tenant, [failed, cancelled])
    assert {episode: fault.code for episode, fault in faults.items()} == {
        failed: "plugin_failed",
        cancelled: "cancelled",
    }
    assert waiting.unindexed(pipeline.app, tenant, [failed, cancelled]) == set()
    assert not pending(pipeline, pipeline.scope())


def pending(pipeline: Pipeline, scope: Scope) -> bool:
    return waiting.pending(pipeline.app, pipeline.caller, scope, waiting.now(pipeline.app))


def test_pending_in_a_scope_and_before_a_moment(pipeline: Pipeline) -> None:
    before = waiting.now(pipeline.app)
    ids(pipeline, "Of a.", scope=pipeline.scope(agent="a", session="s"))

    assert not waiting.pending(pipeline.app, pipeline.caller, pipeline.scope(), before)
    for scope, expected in (
        (pipeline.scope(), True),
        (pipeline.scope(agent="a"), True),
        (pipeline.scope(session="s"), True),
        (pipeline.scope(agent="b"), False),
        (pipeline.scope(agent="a", session="t"), False),
        (pipeline.scope("other"), False),
    ):
        assert pending(pipeline, scope) is expected, scope
    (ref,) = pipeline.claim()
    assert pending(pipeline, pipeline.scope())
    pipeline.run(ref)
    assert not pending(pipeline, pipeline.scope())
    with pytest.raises(Unauthorized):
        pending(pipeline, Scope("another tenant", "notes"))


def test_what_is_sent_again_is_pending_from_then_on(pipeline: Pipeline, sql: Sql) -> None:
    ids(pipeline, "An old fact that waits.")
    sql("UPDATE queued_episodes SET queued_at = now() + interval '1 hour'")

    assert not pending(pipeline, pipeline.scope())


def test_ready_where_the_schema_is_this_releases(app: Database) -> None:
    check(app)


def test_not_ready_before_the_schema_is_this_releases(app: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "HEAD", "9999")

    with pytest.raises(MissingDependency, match="infinicon migrate"):
        check(app)


def test_ready_while_the_next_release_takes_over(app: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Migrations come first, and processes are restarted one after another: those that still run must not leave the balancer at once."""
    monkeypatch.setattr(ready, "HEAD", "0001")

    check(app)
