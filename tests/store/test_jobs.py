"""What lists and sums up jobs, on a back-fill of thousands of jobs beside many others: its plans, and the pages it touches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import TextClause, text

from infinicon.domain import JobFilter, JobStatus, Progress, Scope, ScopeKey
from infinicon.store import jobs, tenancy
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.test_database_plans import indexes, scans

# Of 20,000 jobs every fifth is of the back-fill; one in a hundred failed, and the last 4,000 wait with ten episodes each.
FILL = (
    """INSERT INTO jobs (tenant, id, namespace, type, lane, label, total, done, failed, status)
       SELECT s.tenant, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, s.id, 'ingest', 'bulk',
              CASE n %% 5 WHEN 0 THEN 'back-fill' END, 10, CASE WHEN n > 16000 THEN 0 WHEN n %% 100 = 0 THEN 9 ELSE 10 END,
              CASE WHEN n <= 16000 AND n %% 100 = 0 THEN 1 ELSE 0 END,
              CASE WHEN n > 16000 THEN 'queued' WHEN n %% 100 = 0 THEN 'failed' ELSE 'completed' END
       FROM namespaces s, generate_series(1, 20000) n WHERE s.tenant = %s""",
    """INSERT INTO queued_episodes (tenant, episode, namespace, job, lane, tokens)
       SELECT tenant, gen_random_uuid(), namespace, id, 'bulk', 10 FROM jobs, generate_series(1, 10)
       WHERE tenant = %s AND status = 'queued'""",
    """INSERT INTO batches (tenant, id, lane, episodes, lease, lease_until, stage)
       SELECT id, gen_random_uuid(), 'bulk', 700, gen_random_uuid(), now() + interval '1 day', 'embed'
       FROM tenants, generate_series(1, 6) WHERE id = %s""",
    """INSERT INTO batches (tenant, id, lane, state, episodes)
       SELECT id, gen_random_uuid(), 'bulk', 'closed', 700 FROM tenants, generate_series(1, 2000) WHERE id = %s""",
    """WITH placed AS (
           SELECT q.tenant, q.episode,
                  (SELECT id FROM batches b WHERE b.tenant = q.tenant AND b.state = 'open' ORDER BY id OFFSET q.n %% 6 LIMIT 1) AS batch
           FROM (SELECT tenant, episode, row_number() OVER (ORDER BY job, episode) AS n FROM queued_episodes WHERE tenant = %s) q
           WHERE q.n <= 4200)
       UPDATE queued_episodes q SET state = 'claimed', batch = p.batch
       FROM placed p WHERE q.tenant = p.tenant AND q.episode = p.episode""",
)


@pytest.fixture(scope="module")
def many(app: Database, owner: Database, sql: Sql) -> Iterator[ScopeKey]:
    with owner.transaction(None) as tx:
        tenant = tenancy.ensure_tenant(tx, f"tenant-{uuid4()}")
    with app.transaction(tenant) as tx:
        namespace = tenancy.ensure_namespace(tenant, tx, "test")
    for statement in FILL:
        sql(statement, tenant)
    sql("VACUUM ANALYZE jobs, queued_episodes, batches")
    yield ScopeKey(tenant, namespace, Scope("test-tenant", "test"))
    for table in ("queued_episodes", "batches", "jobs"):
        sql(f"DELETE FROM {table} WHERE tenant = %s", tenant)


def asked(scope: ScopeKey, statement: TextClause, **wanted: Any) -> dict[str, Any]:
    status = wanted.get("status")
    kept = ["queued", "running"] if status == "running" else [status]
    everything = {
        "tenant": scope.tenant,
        "namespace": scope.namespace,
        "agent_id": None,
        "session_id": None,
        "label": None,
        "type": None,
        "status": None,
        "kept": kept,
        "before": None,
        "limit": 51,
        **wanted,
    }
    return {name: everything[name] for name in statement.compile().params}


def pages_touched(app: Database, scope: ScopeKey, statement: TextClause, **wanted: Any) -> int:
    """Blocks of 8 KiB that the statement looks at."""
    with app.transaction(scope.tenant) as tx:
        explain = text("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement.text)
        (plan,) = tx.execute(explain, asked(scope, statement, **wanted)).scalar_one()
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


def job_index(found: list[tuple[str, str]]) -> set[str]:
    return {name for name in indexes([scan for scan in found if scan[1] != "task_results"]) if name.startswith("jobs_")}


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ({}, "jobs_newest_idx"),
        ({"before": UUID("01900000-0000-7000-8000-000000001000")}, "jobs_newest_idx"),
        ({"label": "back-fill"}, "jobs_label_idx"),
        ({"status": "failed"}, "jobs_status_idx"),
        ({"status": "cancelled"}, "jobs_status_idx"),
        ({"status": "running"}, "jobs_status_idx"),
    ],
    ids=["newest", "further back", "label", "failed", "cancelled", "running"],
)
def test_a_page_reads_the_index_of_its_filter(
    app: Database, many: ScopeKey, wanted: dict[str, Any], index: str
) -> None:
    assert job_index(scans(app, many.tenant, jobs.PAGE, asked(many, jobs.PAGE, **wanted))) == {index}


@pytest.mark.parametrize("wanted", [{}, {"label": "back-fill"}, {"status": "failed"}, {"status": "queued"}])
def test_a_page_costs_what_is_in_batches_and_itself(app: Database, many: ScopeKey, wanted: dict[str, Any]) -> None:
    """Not what waits: 36,000 episodes do."""
    assert pages_touched(app, many, jobs.PAGE, **wanted) < 800


def test_a_label_is_rolled_up_by_its_index(app: Database, many: ScopeKey) -> None:
    found = scans(app, many.tenant, jobs.ROLL_UP, asked(many, jobs.ROLL_UP, label="back-fill"))

    assert job_index(found) == {"jobs_label_idx"}
    assert pages_touched(app, many, jobs.ROLL_UP, label="back-fill") < 2000


def test_the_numbers_of_a_back_fill(app: Database, many: ScopeKey) -> None:
    with app.transaction(many.tenant) as tx:
        summary = jobs.roll_up(many, tx, JobFilter(label="back-fill"))
        everything = jobs.roll_up(many, tx, JobFilter())
        running = jobs.page(many, tx, JobFilter(JobStatus.RUNNING), None, 1000)

    assert summary.jobs == {
        JobStatus.QUEUED: 716,
        JobStatus.RUNNING: 84,
        JobStatus.COMPLETED: 3040,
        JobStatus.FAILED: 160,
        JobStatus.CANCELLED: 0,
    }
    assert summary.progress == Progress(31840, 160, 40000, 7160, 0, 840, 0)
    assert everything.progress == Progress(159840, 160, 200000, 35800, 0, 4200, 0)
    assert len(running) == everything.jobs[JobStatus.RUNNING] == 420
    assert [job.id for job in running] == sorted((job.id for job in running), reverse=True)
