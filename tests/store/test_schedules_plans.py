"""A tick costs what is due, and not what there is: an index is asked, by a role that sees ids and times only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from infinicon.store import schedules
from infinicon.store.database import Database
from tests.conftest import Cluster
from tests.store.conftest import Sql

SCOPES = 100_000
POLICIES = "INSERT INTO policies (tenant, namespace, consolidation_every_seconds) VALUES (%s, %s, 86400000)"
FILL = """
    INSERT INTO consolidation_scopes (tenant, namespace, width, session_id, waiting, oldest_at)
    SELECT %s, %s, 'session', n::text, 1, now() FROM generate_series(1, 100000) n
"""
EXPLAIN = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + schedules.CLAIM.text.replace(":limit", "%(limit)s").replace(
    ":seconds", "%(seconds)s"
)
CLAIM = {"limit": 500, "seconds": schedules.CLAIMED_SECONDS}


@pytest.fixture(scope="module")
def many(owner: Database, app: Database, sql: Sql) -> Iterator[int]:
    """A tenant with a hundred thousand scopes, in each of which something waits for its window."""
    with owner.transaction(None) as tx:
        ((tenant,),) = tx.exec_driver_sql(
            "INSERT INTO tenants (name) VALUES (%s) RETURNING id", (f"t-{uuid4()}",)
        ).all()
    ((namespace,),) = sql("INSERT INTO namespaces (tenant, name) VALUES (%s, 'n') RETURNING id", tenant)
    sql("DELETE FROM consolidation_scopes")  # other tests are over, and what they left would be due as well
    sql(POLICIES, tenant, namespace)
    sql(FILL, tenant, namespace)
    sql("VACUUM ANALYZE consolidation_scopes")
    yield tenant
    sql("DELETE FROM consolidation_scopes WHERE tenant = %s", tenant)
    sql("VACUUM consolidation_scopes")


def claim(cluster: Cluster) -> dict[str, Any]:
    """The plan of a claim that has run as the sweeper, and was taken back."""
    with psycopg.connect(cluster.sweeper_url) as connection:
        connection.execute("SET search_path = infinicon, public")
        row = connection.execute(EXPLAIN.encode(), CLAIM).fetchone()
        connection.rollback()
    assert row is not None
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def pages(plan: dict[str, Any]) -> int:
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_where_nothing_is_due_a_tick_reads_a_handful_of_pages(cluster: Cluster, sql: Sql, many: int) -> None:
    ((waiting,),) = sql("SELECT count(*) FROM consolidation_scopes WHERE tenant = %s AND due_at > now()", many)
    plan = claim(cluster)

    assert waiting == SCOPES
    assert {node.get("Index Name") for node in nodes(plan)} & {"consolidation_scopes_due_idx"}
    assert "Seq Scan" not in {node["Node Type"] for node in nodes(plan)}
    assert pages(plan) <= 8


def test_where_three_are_due_a_tick_reads_those(cluster: Cluster, sql: Sql, many: int) -> None:
    sql(
        "UPDATE consolidation_scopes SET window_at = now(), due_at = now(), due_for = 'scheduled'"
        " WHERE tenant = %s AND session_id IN ('1', '50000', '99999')",
        many,
    )
    plan = claim(cluster)
    sql("UPDATE consolidation_scopes SET window_at = NULL WHERE tenant = %s AND window_at <= now()", many)

    assert plan["Actual Rows"] == 3
    assert pages(plan) <= 150
