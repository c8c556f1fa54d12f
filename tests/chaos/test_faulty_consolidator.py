"""A plug-in that dies, hangs, lies or raises, in a real worker; and a worker that is killed over a good one. Memory stays as it was, the
job fails with its reason or goes on, the scope is free, and nobody who ingests notices."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance, running
from infinicon.embedded.bootstrap import superuser_url
from tests.processes import processes, the_process
from tests.waiting import wait_until

PLUGIN = '''
"""Does what a file says, each time that it is asked."""

import os
import time

from infinicon.ports import Digest, Plan


class Faulty:
    name, version, deterministic = "faulty", "1", True

    def __init__(self, where):
        self.where = where

    def consolidate(self, request):
        wanted = open(os.path.join(self.where, "wanted")).read().strip()
        open(os.path.join(self.where, "asked"), "a").write(wanted + "\\n")
        keys = [one.key for one in request.memories]
        if wanted == "die":
            os._exit(9)
        if wanted == "hang":
            time.sleep(3600)
        if wanted == "raise":
            raise RuntimeError(request.memories[0].content)
        if wanted == "lie":
            return Plan([Digest("T", "Nobody ever said this.", ["m900", "m901"])])
        return Plan([Digest("All", " ".join(one.content for one in request.memories), keys)])


def load(settings):
    return Faulty(os.environ["FAULTY_CONSOLIDATOR"])
'''
MEMORY = """
    SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM infinicon.{table} t
"""
TABLES = ("memories", "links", "space_rows", "postings", "tombstones", "consolidation_changes")
CEILING, LEASE = 2, 2
PREVIEW = {"trigger": "manual", "mode": "preview"}


def plug_in(place: Path) -> dict[str, str]:
    """An installed package with a consolidator, and the variables by which `up` uses it."""
    metadata = place / "faulty_consolidator-1.dist-info"
    metadata.mkdir(parents=True)
    (place / "faulty_consolidator.py").write_text(PLUGIN, encoding="utf-8")
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: faulty-consolidator\nVersion: 1\n", encoding="utf-8"
    )
    (metadata / "entry_points.txt").write_text(
        "[infinicon.consolidators]\nfaulty = faulty_consolidator:load\n", encoding="utf-8"
    )
    return {
        "PYTHONPATH": ":".join([str(place), *(path for path in sys.path if path)]),
        "FAULTY_CONSOLIDATOR": str(place),
        "INFINICON_CONSOLIDATOR": "faulty",
        "INFINICON_CONSOLIDATION_CEILING": str(CEILING),
        "INFINICON_CONSOLIDATION_ATTEMPTS": "2",
        "INFINICON_LEASE_SECONDS": str(LEASE),
        "INFINICON_RECONCILE_EVERY": "0.5",
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plug-in")


@pytest.fixture(scope="module")
def instance(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with running(tmp_path_factory.mktemp("data"), variables=plug_in(place)) as found:
        yield found


def memory(instance: Instance) -> list[Any]:
    with psycopg.connect(superuser_url(instance.data_dir)) as connection:
        return [connection.execute(MEMORY.format(table=table).encode()).fetchone() for table in TABLES]


def settled(client: Client, job: str) -> Wire:
    wait_until(lambda: client.job(job)["status"] in {"completed", "failed"}, "the consolidation is over", within=60)
    return client.job(job)


def wanted(place: Path, what: str) -> None:
    (place / "wanted").write_text(what, encoding="utf-8")


def asked(place: Path, what: str) -> int:
    log = place / "asked"
    return log.read_text(encoding="utf-8").split().count(what) if log.exists() else 0


def facts(client: Client, *texts: str) -> None:
    episodes = [{"contentType": "text/plain", "content": text} for text in texts]
    reply = client.ingest(episodes, consistency="indexed")
    assert {result["status"] for result in reply["results"]} == {"created"}


@pytest.mark.parametrize(
    ("fault", "code"),
    [("die", "stage_timeout"), ("hang", "stage_timeout"), ("raise", "plugin_failed"), ("lie", "plugin_failed")],
)
def test_memory_stays_and_the_job_says_why(instance: Instance, place: Path, fault: str, code: str) -> None:
    with Client(instance, f"faulty {fault}") as client:
        facts(client, "Rosa lives in Lyon.", "Rosa has a blue bicycle.")
        wanted(place, fault)
        before = memory(instance)
        started = client.post("/v0/consolidate", {"trigger": "manual"})["jobId"]
        wait_until(lambda: asked(place, fault) > 0, "the plug-in is asked", within=60)
        job = settled(client, started)

        assert (job["status"], job["error"]["code"]) == ("failed", code)
        assert "Rosa" not in str(job)
        assert memory(instance) == before
        assert asked(place, fault) == (2 if code == "stage_timeout" else 1)
        # The scope is free, and a good plan works.
        wanted(place, "good")
        again = settled(client, client.post("/v0/consolidate", {"trigger": "manual"})["jobId"])
        assert (again["status"], again["result"]["consolidations"]) == ("completed", 1)


def test_a_preview_leaves_the_api_alive_and_its_places_free(instance: Instance, place: Path) -> None:
    with Client(instance, "looked at") as client:
        facts(client, "Rosa lives in Lyon.", "Rosa has a blue bicycle.")
        before, api = memory(instance), processes(instance, "api")
        for fault, code in (("die", "plugin_failed"), ("raise", "plugin_failed"), *[("hang", "unavailable")] * 3):
            wanted(place, fault)
            answer = client.http.post("/v0/consolidate", json={"scope": client.scope, **PREVIEW})
            assert answer.json()["code"] == code
        wanted(place, "good")
        shown = client.post("/v0/consolidate", PREVIEW)["plan"]

        assert len(shown["digests"]) == 1
        assert memory(instance) == before
        assert processes(instance, "api") == api
        assert not processes(instance, "infinicon.api.proposing")


def test_a_long_consolidation_holds_nobody_up(instance: Instance, place: Path) -> None:
    with Client(instance, "long") as client:
        facts(client, "Rosa lives in Lyon.", "Rosa has a blue bicycle.")
        wanted(place, "hang")
        before = asked(place, "hang")
        job = client.post("/v0/consolidate", {"trigger": "manual"})["jobId"]
        wait_until(lambda: asked(place, "hang") > before, "the plug-in is asked", within=60)
        facts(client, "Rosa moved to Turin.")

        assert client.query("Rosa moved to Turin.", 1)[0]["score"] > 0.9
        assert client.post(f"/v0/jobs/{job}/cancel", {})["status"] == "cancelled"


def test_a_worker_that_is_killed_leaves_a_scope_that_is_free(instance: Instance, place: Path) -> None:
    with Client(instance, "killed") as client:
        facts(client, "Rosa lives in Lyon.", "Rosa has a blue bicycle.")
        wanted(place, "hang")
        before = asked(place, "hang")
        job = client.post("/v0/consolidate", {"trigger": "manual"})["jobId"]
        wait_until(lambda: asked(place, "hang") > before, "the plug-in is asked", within=60)
        wanted(place, "good")
        the_process(instance, "worker", "consolidate").send_signal(signal.SIGKILL)
        done = settled(client, job)

        assert (done["status"], done["result"]["consolidations"]) == ("completed", 1)
        with psycopg.connect(superuser_url(instance.data_dir)) as connection:
            locks = connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
        assert locks == (0,)
