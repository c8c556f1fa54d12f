"""Plans of the hot statements under row-level security, on tables of some thousand rows, with the planner's own settings.

A plan is asked for as the role that runs the statement, with the parameters that it gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from pgvector import HalfVector
from sqlalchemy import TextClause, text

from infinicon.domain import Lane, Stage
from infinicon.store import (
    atoms,
    batches,
    contexts,
    episodes,
    jobs,
    memories,
    provenance,
    search,
    selection,
    spaces,
    sweeps,
    waiting,
)
from infinicon.store.database import Database
from tests.store.conftest import Sql

TENANTS, EPISODES, DIMENSION = 20, 300, 64

# Each statement fills one table: 20 tenants with two namespaces each and 300 episodes and as many atoms in all of them.
FILL = (
    "INSERT INTO tenants (name) SELECT %s || n FROM generate_series(1, 20) n",
    "INSERT INTO namespaces (tenant, name) SELECT id, n::text FROM tenants, generate_series(1, 2) n WHERE starts_with(tenants.name, %s)",
    """INSERT INTO namespace_counters (tenant, namespace, index_rows, index_lexemes)
       SELECT s.tenant, s.id, 300, 2400 FROM namespaces s JOIN tenants t ON t.id = s.tenant WHERE starts_with(t.name, %s)""",
    """INSERT INTO jobs (tenant, id, namespace, type, lane, total)
       SELECT s.tenant, gen_random_uuid(), s.id, 'ingest', 'bulk', 100
       FROM namespaces s JOIN tenants t ON t.id = s.tenant, generate_series(1, 200) WHERE starts_with(t.name, %s)""",
    """INSERT INTO memories (tenant, id, namespace, type, status, content_type, content, created_by, dedupe_hmac, content_hmac, fingerprint)
       SELECT s.tenant, gen_random_uuid(), s.id, k.type, 'active', 'text/plain', 'word ' || n, '{"id": "x", "kind": "user"}',
              CASE k.type WHEN 'episode' THEN sha256((s.id || '-' || n)::bytea) END, sha256(n::text::bytea),
              CASE k.type WHEN 'atom' THEN sha256((s.id || '-' || n)::bytea) END
       FROM namespaces s JOIN tenants t ON t.id = s.tenant, generate_series(1, 150) n, (VALUES ('episode'), ('atom')) k (type)
       WHERE starts_with(t.name, %s)""",
    """INSERT INTO links (tenant, id, namespace, link_type, from_id, from_type, to_id, to_type)
       SELECT a.tenant, gen_random_uuid(), a.namespace, 'derived_from', a.id, 'atom', e.id, 'episode'
       FROM memories a
       JOIN memories e ON e.tenant = a.tenant AND e.namespace = a.namespace AND e.dedupe_hmac = a.fingerprint
       JOIN tenants t ON t.id = a.tenant WHERE starts_with(t.name, %s)""",
    """INSERT INTO batches (tenant, id, lane, state, episodes)
       SELECT t.id, gen_random_uuid(), 'bulk', CASE WHEN n <= 2 THEN 'open' ELSE 'closed' END, 50
       FROM tenants t, generate_series(1, 40) n WHERE starts_with(t.name, %s)""",
    """WITH m AS (
           SELECT tenant, id, namespace, row_number() OVER (PARTITION BY tenant) AS n FROM memories WHERE type = 'episode'
       ), placed AS (
           SELECT m.*, (SELECT id FROM jobs j WHERE j.tenant = m.tenant ORDER BY id OFFSET m.n %% 20 LIMIT 1) AS job,
                  (SELECT id FROM batches b WHERE b.tenant = m.tenant AND state = 'open' ORDER BY id OFFSET m.n / 4 %% 2 LIMIT 1) AS batch
           FROM m
       )
       INSERT INTO queued_episodes (tenant, episode, namespace, job, lane, tokens, state, batch)
       SELECT p.tenant, p.id, p.namespace, p.job, 'bulk', 10, CASE WHEN p.n %% 4 = 0 THEN 'claimed' ELSE 'waiting' END,
              CASE WHEN p.n %% 4 = 0 THEN p.batch END
       FROM placed p JOIN tenants t ON t.id = p.tenant WHERE starts_with(t.name, %s)""",
)
FILL_SPACE = """
    WITH rows AS (
        INSERT INTO space_rows (tenant, namespace, model, memory, chunk, type, span_start, span_end, digest, lexemes, vector)
        SELECT m.tenant, m.namespace, %s, m.id, 0, m.type, 0, 4, m.content_hmac,
               ARRAY(SELECT DISTINCT (random() * 400)::integer FROM generate_series(1, 8) WHERE m.id IS NOT NULL),
               (SELECT array_agg(random() - 0.5) FROM generate_series(1, 64) WHERE m.id IS NOT NULL)::real[]::vector::halfvec
        FROM memories m JOIN tenants t ON t.id = m.tenant WHERE starts_with(t.name, %s)
        RETURNING tenant, namespace, row_id, lexemes
    )
    INSERT INTO postings (tenant, namespace, lexeme, row_id, frequency, length)
    SELECT tenant, namespace, unnest(lexemes), row_id, 1, cardinality(lexemes) FROM rows
"""
TABLES = "memories, links, jobs, batches, queued_episodes, space_rows, postings, namespace_counters, namespaces, celery.task_results"


@dataclass(frozen=True)
class World:
    """What the statements ask about: one tenant of many."""

    tenant: int
    namespace: int
    model: int
    job: UUID
    batch: UUID
    episodes: list[UUID]
    atoms: list[UUID]
    rows: list[int]
    hmacs: list[bytes]
    digests: list[bytes]
    fingerprints: list[bytes]


@pytest.fixture(scope="module")
def world(sql: Sql) -> Iterator[World]:
    prefix = f"plan-{uuid4()}-"
    ((model,),) = sql(
        "INSERT INTO embedding_models (name, revision, dimension, current) VALUES (%s, '1', 64, false) RETURNING id",
        prefix,
    )
    for statement in FILL:
        sql(statement, prefix)
    sql(FILL_SPACE, model, prefix)
    sql(f"VACUUM ANALYZE {TABLES}")
    ((tenant, namespace),) = sql(
        "SELECT t.id, min(s.id) FROM tenants t JOIN namespaces s ON s.tenant = t.id WHERE t.name = %s GROUP BY 1",
        prefix + "7",
    )

    def some(statement: str) -> list[Any]:
        return [row[0] for row in sql(statement, tenant)]

    yield World(
        tenant,
        namespace,
        model,
        some("SELECT id FROM jobs WHERE tenant = %s LIMIT 1")[0],
        some("SELECT id FROM batches WHERE tenant = %s AND state = 'open' LIMIT 1")[0],
        some("SELECT id FROM memories WHERE tenant = %s AND type = 'episode' LIMIT 50"),
        some("SELECT id FROM memories WHERE tenant = %s AND type = 'atom' LIMIT 50"),
        some("SELECT row_id FROM space_rows WHERE tenant = %s LIMIT 50"),
        some("SELECT dedupe_hmac FROM memories WHERE tenant = %s AND dedupe_hmac IS NOT NULL LIMIT 50"),
        some("SELECT digest FROM space_rows WHERE tenant = %s LIMIT 50"),
        some("SELECT fingerprint FROM memories WHERE tenant = %s AND fingerprint IS NOT NULL LIMIT 50"),
    )
    sql("TRUNCATE queued_episodes, batches, jobs, staged_vectors CASCADE")
    for table in ("postings", "space_rows", "links", "memories"):
        sql(f"DELETE FROM {table} USING tenants t WHERE t.id = {table}.tenant AND starts_with(t.name, %s)", prefix)


def scan(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every scan of a table in a plan: its kind and its index, or "Seq Scan" and its table."""
    if "Index Name" in plan:
        yield plan["Node Type"], plan["Index Name"]
    elif plan["Node Type"] == "Seq Scan":
        yield plan["Node Type"], plan["Relation Name"]
    for part in plan.get("Plans", ()):
        yield from scan(part)


def scans(
    database: Database, tenant: int | None, statement: TextClause, parameters: Mapping[str, Any]
) -> list[tuple[str, str]]:
    with database.transaction(tenant) as tx:
        (plan,) = tx.execute(text("EXPLAIN (FORMAT JSON) " + statement.text), parameters).scalar_one()
    return list(scan(plan["Plan"]))


def indexes(found: list[tuple[str, str]]) -> set[str]:
    assert [table for kind, table in found if kind == "Seq Scan" and table != "namespaces"] == []
    return {name for _, name in found}


def test_claim(sweeper: Database, world: World) -> None:
    found = scans(
        sweeper,
        None,
        sweeps.CLAIM,
        {"tenant": world.tenant, "lane": Lane.BULK, "episodes": 64, "tokens": 10_000, "batch": uuid4()},
    )

    assert "queued_episodes_waiting_idx" in indexes(found)


def test_waiting_tenants(sweeper: Database, world: World) -> None:
    found = scans(sweeper, None, sweeps.WAITING_TENANTS, {"lane": Lane.BULK})

    assert indexes(found) == {"queued_episodes_waiting_idx"}


def test_open_batches(sweeper: Database, world: World) -> None:
    assert "batches_open_idx" in indexes(scans(sweeper, None, sweeps.OPEN_BATCHES, {"lane": Lane.BULK}))


def scoped(world: World) -> dict[str, Any]:
    return {"tenant": world.tenant, "namespace": world.namespace, "agent_id": None, "session_id": None}


def test_dedupe_lookup(app: Database, world: World) -> None:
    found = scans(app, world.tenant, episodes.FIND_BY_DEDUPE, {**scoped(world), "hmacs": world.hmacs[:1]})

    assert indexes(found) == {"memories_dedupe_key", "queued_episodes_pkey"}


@pytest.mark.parametrize("narrowed", [{}, {"agent_id": "a"}, {"agent_id": "a", "session_id": "s"}])
def test_nearest_reads_the_covering_index_alone(app: Database, world: World, narrowed: dict[str, str]) -> None:
    vector = HalfVector(np.ones(DIMENSION, np.float16) / 8)
    parameters = {**scoped(world), **narrowed, "model": world.model, "vector": vector, "limit": 200}

    assert scans(app, world.tenant, search.NEAREST, parameters) == [("Index Only Scan", "space_rows_scan_idx")]


def test_nearest_of_wide_vectors(app: Database, world: World) -> None:
    vector = HalfVector(np.ones(1536, np.float16))
    found = scans(
        app, world.tenant, search.NEAREST_WIDE, {**scoped(world), "model": world.model, "vector": vector, "limit": 200}
    )

    assert indexes(found) == {"space_rows_wide_idx"}


def test_matching_reads_postings_alone(app: Database, world: World) -> None:
    parameters = {**scoped(world), "lexemes": [1, 2, 3, 4, 5], "k1": 1.2, "b": 0.4, "limit": 200, "rows": None}
    found = scans(app, world.tenant, search.MATCHING, parameters)

    assert ("Index Only Scan", "postings_pkey") in found
    assert "postings_pkey" in indexes([scan for scan in found if scan[1] != "namespace_counters"])


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (search.SIMILARITIES, {"space_rows_pkey"}),
        (selection.CANDIDATES, {"space_rows_pkey", "memories_pkey", "links_edge_key", "links_retracted_idx"}),
        (selection.LISTED, {"memories_pkey", "links_edge_key", "links_retracted_idx"}),
        (search.SOURCES, {"links_edge_key"}),
        (search.TOLD, {"links_edge_key"}),
        (memories.LOAD, {"memories_pkey"}),
        (memories.SOURCES, {"links_edge_key", "memories_pkey"}),
        (memories.LINKS, {"links_pkey", "memories_pkey"}),
        (provenance.CHAIN, {"links_edge_key", "links_pkey", "memories_pkey"}),
        (contexts.DESCRIBE, {"memories_pkey"}),
        (contexts.SAY, {"memories_pkey"}),
        (contexts.SOURCES, {"links_edge_key"}),
        (spaces.KNOWN_VECTORS, {"space_rows_digest_idx"}),
        (atoms.FIND_ATOMS, {"memories_fingerprint_key"}),
        (waiting.UNINDEXED, {"queued_episodes_pkey"}),
    ],
    ids=[
        "similarities",
        "candidates",
        "listed",
        "sources",
        "told",
        "hydrate",
        "provenance",
        "links",
        "provenance chain",
        "what a context costs",
        "what a context says",
        "sources of a context",
        "known vectors",
        "known atoms",
        "unindexed",
    ],
)
def test_what_is_looked_up_by_id(app: Database, world: World, statement: TextClause, expected: set[str]) -> None:
    everything = {
        **scoped(world),
        "model": world.model,
        "vector": HalfVector(np.ones(DIMENSION, np.float16)),
        "rows": world.rows[:5],
        "memories": world.episodes[:5],
        "statuses": ["active"],
        "filters": None,
        "types": None,
        "created_after": None,
        "created_before": None,
        "described": True,
        "metadata": '{"a": 1}',
        "tags": ["x"],
        "stale": False,
        "whole": False,
        "atoms": world.atoms,
        "episodes": world.episodes,
        "limit": 8,
        "ids": world.episodes[:5],
        "digests": world.digests,
        "namespaces": [world.namespace] * len(world.fingerprints),
        "fingerprints": world.fingerprints,
    }
    wanted = {name: everything[name] for name in statement.compile().params}

    assert indexes(scans(app, world.tenant, statement, wanted)) == expected


@pytest.mark.parametrize(
    "statement",
    [
        atoms.PENDING,
        spaces.UNEMBEDDED,
        spaces.ACTIVATE_ATOMS,
        spaces.ACTIVATE_EPISODES,
        spaces.FINISH,
        batches.HOLD,
        batches.DROP_CANCELLED,
        batches.MARK_RUNNING,
    ],
    ids=[
        "pending",
        "unembedded",
        "activate atoms",
        "activate episodes",
        "finish",
        "hold",
        "drop cancelled",
        "mark running",
    ],
)
def test_what_a_stage_asks_of_its_batch(app: Database, world: World, statement: TextClause) -> None:
    wanted = {"tenant": world.tenant, "batch": world.batch, "lease": uuid4()}
    found = scans(app, world.tenant, statement, {name: wanted[name] for name in statement.compile().params})

    assert indexes(found) & {"queued_episodes_batch_idx", "batches_pkey"}


def test_leasing(app: Database, world: World) -> None:
    parameters = {
        "tenant": world.tenant,
        "batch": world.batch,
        "stage": Stage.EXTRACT,
        "attempt": 1,
        "lease": uuid4(),
        "seconds": 30,
    }

    assert indexes(scans(app, world.tenant, batches.LEASE, parameters)) == {"batches_pkey"}


def test_get_job(app: Database, world: World) -> None:
    found = scans(app, world.tenant, jobs.FOLD, {**scoped(world), "job": world.job})
    ours = [scan for scan in found if scan[1] != "task_results"]  # empty here

    assert "queued_episodes_job_idx" in indexes(ours)
    assert indexes(ours) & {"jobs_pkey", "jobs_newest_idx"}


def test_pending_in_a_scope(app: Database, world: World) -> None:
    found = scans(app, world.tenant, waiting.PENDING, {**scoped(world), "before": "2100-01-01T00:00:00Z"})

    assert indexes(found) & {"queued_episodes_pending_idx"}


def test_deletions_that_are_not_over(app: Database, world: World) -> None:
    found = scans(app, world.tenant, waiting.DELETING, scoped(world))

    assert indexes(found) & {"jobs_purge_idx"}


def test_jobs_that_are_kept_no_longer(sweeper: Database, world: World) -> None:
    """Of jobs that are over only those are read that are due."""
    found = {name for _, name in scans(sweeper, None, sweeps.FORGET_JOBS, {"seconds": 3600})}
    assert "jobs_over_idx" in found
    assert "jobs" not in found
    found = {name for _, name in scans(sweeper, None, sweeps.FORGET_JOBS_BY_POLICY, {})}
    assert found & {"jobs_over_namespace_idx", "jobs_over_idx"}  # policies are few, and read whole
