"""What has had its time is shown by nobody, and then goes like everything that is deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from infinicon.domain import IngestEpisode
from infinicon.operations import expire as expiring
from infinicon.operations.expire import expire
from infinicon.operations.policy import set_policy
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline

ROSA = "Rosa moved to Turin in March of last year."
GATE = "The orchard gate code is on the blue tag."


def run_out(sql: Sql, pipeline: Pipeline, content: str) -> None:
    """Time passes for an episode and for what it alone says."""
    sql(
        "UPDATE memories SET expires_at = now() WHERE tenant = %s AND expires_at IS NOT NULL AND content = %s",
        pipeline.caller.tenant,
        content,
    )


def contents(sql: Sql, pipeline: Pipeline) -> list[str]:
    rows = sql(
        "SELECT content FROM memories WHERE tenant = %s AND content IS NOT NULL ORDER BY id", pipeline.caller.tenant
    )
    return [row[0] for row in rows]


def test_what_has_expired_goes_and_the_rest_stays(
    pipeline: Pipeline, sql: Sql, sweeper: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiring, "SLICE", 1)
    later = datetime.now(UTC) + timedelta(days=1)
    pipeline.ingest(
        IngestEpisode("text/plain", ROSA, expires_at=later), IngestEpisode("text/plain", GATE, expires_at=later)
    )
    pipeline.put("For ever and ever.")
    pipeline.drain()
    run_out(sql, pipeline, ROSA)
    assert not [hit for hit in pipeline.found("Where did Rosa move to?") if "Rosa" in str(hit)]

    expire(sweeper, pipeline.app)
    assert ROSA not in contents(sql, pipeline)
    assert GATE in contents(sql, pipeline)
    assert sql("SELECT DISTINCT key, reason FROM tombstones WHERE tenant = %s", pipeline.caller.tenant) == [
        (None, "expired")
    ]
    gone = sql("SELECT count(*) FROM events WHERE tenant = %s AND type = 'memory.tombstoned'", pipeline.caller.tenant)
    assert gone == [(2,)]
    rows = sql(
        "SELECT count(*) FROM space_rows s JOIN memories m ON m.tenant = s.tenant AND m.id = s.memory"
        " WHERE s.tenant = %s AND m.status = 'tombstoned'",
        pipeline.caller.tenant,
    )
    assert rows == [(0,)]


def test_what_expires_on_its_way_leaves_the_pipeline(pipeline: Pipeline, sql: Sql, sweeper: Database) -> None:
    reply = pipeline.ingest(IngestEpisode("text/plain", ROSA, expires_at=datetime.now(UTC) + timedelta(days=1)))
    run_out(sql, pipeline, ROSA)

    expire(sweeper, pipeline.app)
    pipeline.drain()
    assert contents(sql, pipeline) == []
    assert pipeline.job(reply.job_id).status == "completed"


def test_a_namespace_may_give_its_episodes_an_end(pipeline: Pipeline, sql: Sql) -> None:
    set_policy(pipeline.app, pipeline.caller, pipeline.scope(), {"default_expiry_seconds": 3600})
    own = datetime(2100, 1, 1, tzinfo=UTC)
    pipeline.ingest(IngestEpisode("text/plain", ROSA), IngestEpisode("text/plain", GATE, expires_at=own))
    pipeline.put("Elsewhere.", scope=pipeline.scope("other"))

    rows = sql("SELECT content, expires_at FROM memories WHERE tenant = %s", pipeline.caller.tenant)
    ends: dict[str, datetime | None] = dict(rows)
    assert ends["Elsewhere."] is None
    assert ends[GATE] == own
    end = ends[ROSA]
    assert end is not None
    assert timedelta(minutes=50) < end - datetime.now(UTC) <= timedelta(hours=1)
