"""`infinicon up` as a person and an operator meet it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys

import httpx
import pytest

from infinicon.cli.instance import Client, Instance
from infinicon.tasks.names import CONSOLIDATE, STAGES

CANARY = "canary-7f3a91"


def test_dev_json_is_its_owners_alone(live: Instance) -> None:
    assert stat.S_IMODE((live.data_dir / "dev.json").stat().st_mode) == 0o600


def test_a_second_one_on_the_same_directory_is_refused(live: Instance) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "infinicon.cli", "up", "--data-dir", str(live.data_dir), "--port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert second.returncode == 1
    assert "already running" in second.stderr
    assert second.stdout == ""
    assert httpx.get(live.url + "/readyz").status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json"])
def test_health_and_document_need_no_key(live: Instance, path: str) -> None:
    assert httpx.get(live.url + path).status_code == 200


def test_flower_shows_tasks_behind_a_password_and_changes_nothing(live: Instance, client: Client) -> None:
    client.ingest(
        [{"contentType": "text/plain", "content": f"The word is {CANARY}.", "dedupeKey": CANARY}], consistency="indexed"
    )

    tasks = live.flower("/api/tasks")
    operator = (live.flower_user, live.flower_password)
    worker = next(task["worker"] for task in tasks.values() if task["worker"])
    refused = httpx.post(f"{live.flower_url}/api/worker/shutdown/{worker}", auth=operator)

    assert httpx.get(live.flower_url + "/api/tasks").status_code == 401
    seen = {task["name"] for task in tasks.values()} - {CONSOLIDATE}  # other tests may have asked for it
    assert seen == set(STAGES.values()), "routine tasks would drown the stages"
    assert CANARY not in json.dumps(tasks)
    assert refused.status_code in {403, 405}


def test_no_log_holds_what_users_wrote(live: Instance, client: Client) -> None:
    client.ingest([{"contentType": "text/plain", "content": f"{CANARY} \0", "dedupeKey": CANARY}])
    client.ingest(
        [{"contentType": "text/plain", "content": CANARY, "metadata": {CANARY: CANARY}}], consistency="indexed"
    )
    client.query(CANARY, 3)
    client.http.post("/v0/query", json={"scope": {**client.scope, "namespaceId": CANARY}, "query": 7})

    logs = [path for path in live.data_dir.rglob("*") if path.is_file() and "log" in path.name + path.parent.name]

    assert len(logs) > 5
    assert [path.name for path in logs if CANARY in path.read_text(encoding="utf-8", errors="replace")] == []
