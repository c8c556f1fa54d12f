"""The schema: made once, the same when made again, and under roles that can do no more than they must."""

from __future__ import annotations

import psycopg
import pytest

from infinicon.store.migrate import migrate
from tests.conftest import Cluster

TABLES_WITHOUT_FORCED_RLS = """
    SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'infinicon' AND c.relkind = 'r' AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
    ORDER BY relname
"""
KEYS_NOT_LED_BY_TENANT = """
    SELECT c.relname FROM pg_index i
    JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE n.nspname = 'infinicon' AND i.indisprimary AND a.attname <> 'tenant'
    ORDER BY 1
"""


def ask(url: str, statement: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [str(row[0]) for row in connection.execute(statement.encode())]


def test_migrating_again_changes_nothing(cluster: Cluster) -> None:
    before = ask(cluster.superuser_url, "SELECT version_num FROM infinicon.schema_version")

    migrate(cluster.owner_url)

    assert ask(cluster.superuser_url, "SELECT version_num FROM infinicon.schema_version") == before


def test_every_table_of_a_tenant_is_behind_row_level_security(cluster: Cluster) -> None:
    assert ask(cluster.superuser_url, TABLES_WITHOUT_FORCED_RLS) == [
        "embedding_models",
        "heartbeats",
        "schema_version",
        "token_counters",
    ]


def test_every_primary_key_starts_with_the_tenant(cluster: Cluster) -> None:
    assert ask(cluster.superuser_url, KEYS_NOT_LED_BY_TENANT) == [
        "embedding_models",
        "heartbeats",
        "schema_version",
        "tenants",
        "token_counters",
    ]


@pytest.mark.parametrize("role", ["app_url", "sweeper_url", "results_url", "owner_url"])
def test_no_role_is_above_the_policies(cluster: Cluster, role: str) -> None:
    statement = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"

    assert ask(getattr(cluster, role), statement) == ["False"]


@pytest.mark.parametrize("role", ["sweeper_url", "results_url"])
def test_sweeper_and_results_never_see_content(cluster: Cluster, role: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(getattr(cluster, role), "SELECT content FROM infinicon.memories")


def test_app_sees_nothing_before_it_enters_a_tenant(cluster: Cluster) -> None:
    assert ask(cluster.app_url, "SELECT count(*) FROM infinicon.namespaces") == ["0"]


SAMPLED = """
    SELECT c.relname || '.' || a.attname
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'infinicon' AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attname IN ('content', 'search_text', 'speaker', 'title', 'metadata', 'tags', 'filters', 'dedupe_key', 'created_by', 'label',
                        'error', 'reason', 'kept', 'spec', 'result', 'content_type', 'ref')
      AND coalesce(a.attstattarget, -1) <> 0
    ORDER BY 1
"""


def test_of_what_people_write_no_sample_is_kept(cluster: Cluster) -> None:
    """ANALYZE would keep values in pg_statistic, where neither a tombstone nor a redaction reaches them. A reason of a change is a word
    of a plug-in."""
    assert ask(cluster.superuser_url, SAMPLED) == ["conformance_runs.error", "consolidation_changes.reason"]
