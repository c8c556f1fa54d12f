"""Memories that were there before there were entries are listed after the migration."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from alembic import command

from infinicon.store.migrate import HEAD, migrate
from tests.conftest import Cluster
from tests.store.fresh import fresh_database, run_statements

BEFORE = """
    SET search_path = infinicon, public;
    INSERT INTO tenants (name) VALUES ('a'), ('b');
    INSERT INTO namespaces (tenant, name) VALUES (1, 'n'), (2, 'n');
    INSERT INTO memories (tenant, id, namespace, type, status, agent_id, content, tags, created_by, content_o200k_base)
    SELECT t, gen_random_uuid(), t, type, status, agent, 'x', tags, '{"id": "x", "kind": "user"}', size
    FROM (VALUES (1), (2)) tenants (t),
         (VALUES ('atom', 'active', 'ada', '{a,b}'::text[], 7), ('atom', 'superseded', NULL, '{}', 7), ('atom', 'active', NULL, '{}', NULL),
                 ('episode', 'active', NULL, '{}', 3), ('consolidation', 'active', NULL, '{}', 9)) m (type, status, agent, tags, size);
"""
ROWS = "SELECT tenant, counter, size, count(*) FROM infinicon.entry_rows GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
HELD = "SELECT tenant, namespace, facet, counter, size, created_at, memory FROM infinicon.entry_rows"
DERIVED = "SELECT tenant, namespace, facet, counter, size, created_at, memory FROM infinicon.derived_entry_rows"
FORCED = "SELECT relforcerowsecurity FROM pg_class WHERE oid IN ('infinicon.memories'::regclass, 'infinicon.entry_rows'::regclass)"


def test_what_was_there_before_is_listed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade = command.upgrade

    def to_the_release_before(config: Any, _revision: str) -> None:
        upgrade(config, "0003")

    with fresh_database(cluster.superuser_url, owned=True, attributes="CREATEROLE") as fresh:
        roles = f"GRANT infinicon_app, infinicon_sweeper, infinicon_results TO {fresh.user} WITH ADMIN OPTION"
        run_statements(fresh.superuser_url, f"CREATE EXTENSION vector; {roles}")
        with monkeypatch.context() as patched:
            patched.setattr(command, "upgrade", to_the_release_before)
            migrate(fresh.url)
        run_statements(fresh.superuser_url, BEFORE)

        migrate(fresh.url)

        with psycopg.connect(fresh.superuser_url) as connection:
            found = connection.execute(ROWS).fetchall()
            held, derived = (sorted(connection.execute(asked).fetchall()) for asked in (HELD, DERIVED))
            (version,) = connection.execute("SELECT version_num FROM infinicon.schema_version").fetchone() or ("",)
            forced = connection.execute(FORCED).fetchall()
    # The first has six rows: of all and of Ada, each with no tag, a and b.
    assert found == [(t, *row) for t in (1, 2) for row in ((0, 0, 8), (1, -1, 1), (1, 7, 6), (1, 9, 1))]
    assert held == derived
    assert (version, forced) == (HEAD, [(True,), (True,)])
