"""What docs/operations.md says of moving the data of `infinicon up`, done to the letter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg

from infinicon.cli.instance import Client, Instance
from infinicon.embedded.postgres import SUPERUSER, socket_url
from infinicon.operations.keys import authenticate
from infinicon.store.database import Database
from tests.e2e.external.deployment import Deployment
from tests.e2e.external.postgres import postgres, superuser_url
from tests.e2e.external.servers import HOST, free_port

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
SECTION = re.compile(r"^## Take the data of `up` along$(.*?)^## ", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)

TABLES = "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname IN ('infinicon', 'celery') ORDER BY 1"
ROLE_SETTINGS = """
    SELECT r.rolname, array_agg(item ORDER BY item)
    FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole JOIN pg_database d ON d.oid = s.setdatabase
    CROSS JOIN unnest(s.setconfig) AS item WHERE d.datname = 'infinicon' GROUP BY 1 ORDER BY 1
"""


def written() -> list[str]:
    section = SECTION.search(PAGE.read_text(encoding="utf-8"))
    assert section is not None
    return BLOCK.findall(section[1])


def shell(script: str, folder: Path, **variables: str) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def content(url: str) -> tuple[dict[str, int], list[tuple[object, ...]]]:
    """How many rows each table has, and what the roles have set."""
    with psycopg.connect(url) as connection:
        tables = [name for (name,) in connection.execute(TABLES)]
        counts = {}
        for name in tables:
            row = connection.execute(f"SELECT count(*) FROM {name}".encode()).fetchone()
            assert row is not None
            counts[name] = row[0]
        return counts, connection.execute(ROLE_SETTINGS).fetchall()


def test_the_data_come_along(live: Instance, client: Client, tmp_path: Path) -> None:
    client.ingest([{"contentType": "text/plain", "content": "Rosa moved to Turin."}], consistency="indexed")
    kept = json.loads((live.data_dir / "secrets.json").read_text())
    before_url = socket_url((live.data_dir / "run").resolve(), SUPERUSER, kept["superuser_password"])
    dump, restore = written()

    shell(dump.replace("DATA=.infinicon", f"DATA={live.data_dir}"), tmp_path)
    before = content(before_url)
    port = free_port()
    shell(f"infinicon secrets secrets --database {HOST}:{port}", tmp_path)
    assert (tmp_path / "secrets" / "master_key").read_text().strip() == kept["master_key"]

    (tmp_path / "server").mkdir()
    with postgres(tmp_path / "server", port, (tmp_path / "secrets" / "postgres_init.sql").read_text()):
        deployment = Deployment(tmp_path, tmp_path / "secrets")
        deployment.run("migrate")
        programs = next(line for line in dump.splitlines() if line.startswith("BIN="))
        shell(
            f"{programs}\n{restore}",
            tmp_path,
            SUPERUSER_URL=superuser_url(port, "infinicon"),
            **{
                name: value for name, value in deployment.environment("migrate").items() if name.startswith("INFINICON")
            },
        )

        after = content(superuser_url(port, "infinicon"))
        # Beat goes on under `up`, and its tasks forget and move rows that are nobody's memory.
        moved = {name for name, count in before[0].items() if after[0][name] != count}
        assert moved <= {"celery.task_results", "infinicon.idempotency"}
        assert after[1] == before[1]
        app = Database((tmp_path / "secrets" / "database_url").read_text().strip(), pool_size=1)
        try:
            assert authenticate(app, live.api_key).tenant_name == live.tenant_id
        finally:
            app.close()
