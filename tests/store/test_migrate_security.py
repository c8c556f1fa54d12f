"""Row-level security and grants: what each role sees where a statement forgets its tenant, and what it can never reach."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql as compose
from sqlalchemy import text

from infinicon.store import tenancy
from infinicon.store.database import Database
from tests.conftest import Cluster
from tests.store.conftest import Sql

TABLES = """
    SELECT c.table_name, c.column_name FROM information_schema.columns c
    JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE t.table_schema = 'infinicon' AND t.table_type = 'BASE TABLE'
      AND (c.column_name = 'tenant' OR (c.table_name = 'tenants' AND c.column_name = 'id'))
    ORDER BY 1
"""


UPDATE = compose.SQL("UPDATE {} SET {} = DEFAULT WHERE {} = %s")
DELETE = compose.SQL("DELETE FROM {} WHERE {} = %s")


def rows(tenant: int, namespace: int, model: int, some: UUID) -> dict[str, dict[str, object]]:
    """A row for every table that provisioning leaves empty."""
    here: dict[str, object] = {"tenant": tenant, "namespace": namespace}
    vector = {"memory": some, "chunk": 0, "span_start": 0, "span_end": 1, "model": model, "digest": b"d"}
    lane = {"tenant": tenant, "lane": "bulk"}
    return {
        "memories": {
            **here,
            "id": some,
            "type": "episode",
            "status": "active",
            "content": "secret",
            "created_by": "{}",
        },
        "links": {**here, "id": some, "link_type": "supports"}
        | {"from_id": some, "from_type": "atom", "to_id": some, "to_type": "episode"},
        "jobs": {**here, **lane, "id": some, "type": "ingest"},
        "batches": {**lane, "id": some, "state": "closed", "episodes": 1},
        "queued_episodes": {**here, **lane, "episode": some, "job": some, "state": "failed", "tokens": 1},
        "consolidation_scopes": {**here, "width": "agent"},
        "consolidation_backlog": {"tenant": tenant, "memory": some, "scope": 1},
        "consolidation_windows": {"tenant": tenant, "scope": 1, "window_at": "epoch", "due_for": "idle"},
        "consolidation_runs": {"tenant": tenant, "job": some, "urgent": False},
        "consolidation_changes": {"tenant": tenant, "job": some, "kind": "created", "memory": some, "other": some}
        | {"was": "active"},
        "entry_rows": {**here, "facet": 1, "counter": 1, "size": 1, "created_at": "epoch", "memory": some},
        "memory_bindings": {**here, "ref": "private ref"},
        "secrets": {"tenant": tenant, "id": some, "ciphertext": b"c", "key_id": "k"},
        "secret_versions": {"tenant": tenant, "version": some},
        "conformance_runs": {"tenant": tenant, "id": some, "workflow": "x"},
        "idempotency": {"tenant": tenant, "key_hmac": b"k", "body_digest": b"b"},
        "policies": here,
        "query_pages": {
            **here,
            "id": some,
            "question": b"q",
            "memories": [some],
            "scores": [1.0],
            "similarities": [None],
        }
        | {"complete": True, "expires_at": "infinity"},
        "tombstones": {**here, "memory": some, "reason": "x", "root": True, "cascade": "none"},
        "events": {**here, "seq": 1, "type": "episode.ingested"},
        "postings": {**here, "lexeme": 1, "row_id": 1, "frequency": 1, "length": 1},
        "staged_vectors": {"tenant": tenant, "batch": some, **vector},
        "space_rows": {**here, **vector, "type": "episode", "lexemes": [1], "vector": "[1,0,0]"},
        "keys": {"tenant": tenant, "id": some, "digest": sha256(some.bytes).digest(), "permissions": ["query"]},
    }


def insertion(table: str, row: dict[str, object]) -> compose.Composed:
    return compose.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        compose.Identifier(table),
        compose.SQL(", ").join(map(compose.Identifier, row)),
        compose.SQL(", ").join([compose.Placeholder()] * len(row)),
    )


@pytest.fixture(scope="module")
def pair(owner: Database, sql: Sql) -> Iterator[tuple[int, int]]:
    """Two tenants with a row in every table."""
    ((model,),) = sql(
        "INSERT INTO embedding_models (name, revision, dimension, current) VALUES ('of this test', '1', 3, false) RETURNING id"
    )
    tenants = []
    for _ in range(2):
        with owner.transaction(None) as tx:
            tenant = tenancy.ensure_tenant(tx, f"tenant-{uuid4()}")
            namespace = tenancy.ensure_namespace(tenant, tx, "private name")
        for table, row in rows(tenant, namespace, model, uuid4()).items():
            sql(insertion(table, row), *row.values())
        tenants.append(tenant)
    yield tenants[0], tenants[1]
    for table in reversed(rows(0, 0, 0, uuid4())):
        sql(compose.SQL("DELETE FROM {} WHERE tenant = ANY(%s)").format(compose.Identifier(table)), tenants)
    sql("DELETE FROM embedding_models WHERE id = %s", model)


def tenants_in(database: Database, tenant: int | None, table: str, column: str) -> set[int]:
    with database.transaction(tenant) as tx:
        return {row[0] for row in tx.execute(text(f'SELECT "{column}" FROM infinicon."{table}"'))}


def test_a_statement_without_a_tenant_sees_its_own_tenants_rows_only(
    app: Database, sql: Sql, pair: tuple[int, int]
) -> None:
    tables = sql(TABLES)
    assert len(tables) >= 14
    mine, other = pair
    for table, column in tables:
        everything = {
            row[0]
            for row in sql(
                compose.SQL("SELECT {} FROM {}").format(compose.Identifier(column), compose.Identifier(table))
            )
        }
        assert {mine, other} <= everything, f"{table} has nothing to hide: the test would prove nothing"
        assert tenants_in(app, mine, table, column) == {mine}, table
        assert tenants_in(app, other, table, column) == {other}, table


def test_without_a_tenant_there_is_nothing(app: Database, sql: Sql, pair: tuple[int, int]) -> None:
    for table, column in sql(TABLES):
        assert tenants_in(app, None, table, column) == set(), table


def test_rows_of_others_are_neither_written_nor_changed(cluster: Cluster, sql: Sql, pair: tuple[int, int]) -> None:
    mine, other = pair
    for table, column in sql(TABLES):
        for statement, columns in ((UPDATE, 2), (DELETE, 1)):
            names = [compose.Identifier(table), *[compose.Identifier(column)] * columns]
            with psycopg.connect(cluster.app_url) as connection:
                connection.execute("SELECT set_config('infinicon.tenant', %s, true)", [str(mine)])
                try:
                    touched = connection.execute(statement.format(*names), [other]).rowcount
                except psycopg.errors.InsufficientPrivilege:
                    continue  # not even its own
                assert touched == 0, (table, statement)


def test_rows_cannot_be_planted_with_others(cluster: Cluster, sql: Sql, pair: tuple[int, int]) -> None:
    mine, other = pair
    ((namespace,),) = sql("SELECT id FROM namespaces WHERE tenant = %s", other)
    ((model,),) = sql("SELECT id FROM embedding_models WHERE name = 'of this test'")
    planted = rows(other, namespace, model, uuid4())
    del planted["keys"]  # nothing is written there at all
    planted["namespaces"] = {"tenant": other, "name": "planted"}
    for table, row in planted.items():
        with psycopg.connect(cluster.app_url) as connection:
            connection.execute("SELECT set_config('infinicon.tenant', %s, true)", [str(mine)])
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute(insertion(table, row), list(row.values()))


def refused(url: str, statement: str) -> bool:
    with psycopg.connect(url) as connection:
        try:
            connection.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            return True
    return False


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT result FROM celery.task_results",
        "SELECT name FROM celery.task_results",
        "SELECT * FROM celery.task_results",
        "DELETE FROM celery.task_results",
        "INSERT INTO celery.task_results (task_id, status) VALUES ('x', 'SUCCESS')",
        "INSERT INTO tenants (name) VALUES ('x')",
        "UPDATE tenants SET name = 'x'",
        "DELETE FROM tenants",
        "UPDATE keys SET permissions = '{admin}'",
        "UPDATE keys SET digest = sha256('mine')",
        "SELECT digest FROM keys",
        "DELETE FROM keys",
        "INSERT INTO keys (tenant, id, digest, permissions) VALUES (1, gen_random_uuid(), sha256('x'), '{admin}')",
        "DELETE FROM events",
        "UPDATE events SET type = 'x'",
        "UPDATE namespaces SET name = 'x'",
        "UPDATE embedding_models SET current = false",
        "UPDATE schema_version SET version_num = 'x'",
        "CREATE TABLE infinicon.mine (x int)",
        "CREATE TABLE public.mine (x int)",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "SET ROLE infinicon_sweeper",
        "TRUNCATE memories",
    ],
)
def test_what_api_and_workers_may_not_do(cluster: Cluster, statement: str) -> None:
    assert refused(cluster.app_url, statement)


def test_what_api_and_workers_may_read_of_celery(cluster: Cluster) -> None:
    assert not refused(cluster.app_url, "SELECT task_id, status FROM celery.task_results")


READABLE = """
    SELECT a.attrelid::regclass::text, array_agg(a.attname::text ORDER BY a.attname)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname IN ('infinicon', 'celery') AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
      AND has_column_privilege(%s, c.oid, a.attnum, 'SELECT')
    GROUP BY 1
"""


def test_what_the_sweeper_may_read_is_ids_states_and_times(sql: Sql) -> None:
    readable: dict[str, list[str]] = dict(sql(READABLE, "infinicon_sweeper"))
    whole = {"batches", "policies", "queued_episodes", "schema_version"}

    assert {name: columns for name, columns in readable.items() if name not in whole} == {
        "consolidation_scopes": [
            *("due_at", "failures", "id", "job", "last_indexed_at", "last_run_at", "namespace", "oldest_at", "tenant"),
            *("waiting", "window_at"),
        ],
        "consolidation_windows": ["opened_at", "scope", "tenant", "window_at"],
        "heartbeats": ["beat_at", "name"],
        "consolidation_runs": [
            *("attempt", "created_at", "faults", "job", "lease", "lease_until", "not_before", "published_at"),
            *("publishes", "state", "tenant", "urgent"),
        ],
        "jobs": ["cancelled", "done", "failed", "id", "namespace", "status", "tenant", "total", "type", "updated_at"],
        "tombstones": ["kept_until", "memory", "tenant"],
        "memories": ["expires_at", "id", "namespace", "status", "tenant"],
        "staged_vectors": ["batch", "tenant"],
        "idempotency": ["created_at", "key_hmac", "tenant"],
        "query_pages": ["expires_at", "id", "tenant"],
        "events": ["namespace", "occurred_at", "seq", "tenant"],
        "namespace_counters": ["events_floor", "namespace", "tenant"],
        "celery.task_results": ["done_at", "task_id", "updated_at"],
    }
    for table in ("batches", "queued_episodes"):
        assert set(readable[table]).isdisjoint(
            {"content", "search_text", "metadata", "name", "dedupe_key", "agent_id", "session_id"}
        )


@pytest.mark.parametrize("column", ["content", "search_text", "metadata", "tags", "dedupe_key", "agent_id", "*"])
def test_the_sweeper_cannot_read_what_was_written(cluster: Cluster, column: str) -> None:
    assert refused(cluster.sweeper_url, f"SELECT {column} FROM memories")


@pytest.mark.parametrize("column", ["memory", "job", "agent_id", "session_id", "type"])
def test_the_sweeper_cannot_read_what_events_are_about(cluster: Cluster, column: str) -> None:
    assert refused(cluster.sweeper_url, f"SELECT {column} FROM events")


@pytest.mark.parametrize("table", ["tenants", "namespaces", "keys", "links", "space_rows", "postings"])
def test_the_sweeper_has_no_business_in(cluster: Cluster, table: str) -> None:
    assert refused(cluster.sweeper_url, f"SELECT count(*) FROM {table}")


def test_the_result_role_sees_results_and_nothing_else(cluster: Cluster, sql: Sql) -> None:
    assert set(dict(sql(READABLE, "infinicon_results"))) == {"celery.task_results"}
    for table, _ in sql(TABLES):
        assert refused(cluster.results_url, f"SELECT count(*) FROM infinicon.{table}")
    assert not refused(cluster.results_url, "SELECT result FROM celery.task_results")


def test_the_owner_reads_no_tenants_memories(owner: Database, pair: tuple[int, int]) -> None:
    """Forced row-level security holds for the owner of the tables too: provisioning needs names and keys, not content."""
    for table in set(rows(0, 0, 0, uuid4())) - {"keys"}:
        assert tenants_in(owner, None, table, "tenant") == set(), table


def test_two_functions_run_with_their_owners_rights(sql: Sql) -> None:
    functions = sql(
        """SELECT n.nspname || '.' || p.proname, p.proconfig,
                  has_function_privilege('infinicon_app', p.oid, 'EXECUTE'),
                  has_function_privilege('infinicon_sweeper', p.oid, 'EXECUTE'),
                  has_function_privilege('infinicon_results', p.oid, 'EXECUTE')
           FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
           WHERE p.prosecdef AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"""
    )
    path = ["search_path=infinicon, pg_temp"]  # nobody can put a table of his own in front
    assert functions == [
        ("infinicon.authenticate", path, True, False, False),
        ("infinicon.reword_key", path, True, False, False),
    ]


@pytest.mark.parametrize("role", ["app_url", "sweeper_url", "results_url"])
def test_public_may_nothing(cluster: Cluster, sql: Sql, role: str) -> None:
    granted = sql(
        """SELECT table_schema, table_name FROM information_schema.role_table_grants
           WHERE grantee = 'PUBLIC' AND table_schema IN ('infinicon', 'celery')"""
    )
    assert granted == []
    assert refused(getattr(cluster, role), "SELECT * FROM pg_authid")
