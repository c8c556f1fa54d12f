"""What `infinicon secrets` writes for Postgres is what Postgres takes."""

from __future__ import annotations

from pathlib import Path

import psycopg
from sqlalchemy.engine import make_url

from infinicon.cli.secret_files import run
from infinicon.store.migrate import HEAD, migrate
from tests.conftest import Cluster
from tests.store.fresh import drop_user, run_statements, url_with

OWNER, DATABASE = "made_by_script", "made_by_script"


def test_the_script_makes_an_owner_who_can_migrate(cluster: Cluster, tmp_path: Path) -> None:
    run(tmp_path, database="unused", broker="unused", as_json=False)
    password = make_url((tmp_path / "owner_database_url").read_text().strip()).password or ""
    script = (tmp_path / "postgres_init.sql").read_text()
    renamed = script.replace("infinicon_owner", OWNER).replace("DATABASE infinicon", f"DATABASE {DATABASE}")
    before, after = renamed.split("\\connect infinicon\n")
    statements = [part.strip() for part in before.split("\n") if part.strip() and not part.startswith("--")]
    try:
        for statement in statements:
            run_statements(cluster.superuser_url, statement)
        run_statements(url_with(cluster.superuser_url, database=DATABASE), after)
        # In a server of its own it makes the roles itself; here they are there, and somebody else's.
        run_statements(
            cluster.superuser_url,
            f"GRANT infinicon_app, infinicon_sweeper, infinicon_results TO {OWNER} WITH ADMIN OPTION",
        )
        owner = url_with(cluster.superuser_url, user=OWNER, password=password, database=DATABASE)

        migrate(owner)

        with psycopg.connect(owner) as connection:
            assert connection.execute("SELECT version_num FROM infinicon.schema_version").fetchone() == (HEAD,)
    finally:
        run_statements(cluster.superuser_url, f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        drop_user(cluster.superuser_url, OWNER)
