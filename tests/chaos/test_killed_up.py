"""kill -9 of `infinicon up` in mid-ingest: the next start finishes what was accepted, without another ingest."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from infinicon.cli import transcript
from infinicon.cli.instance import Client, running, start
from tests.waiting import wait_until

EPISODES = 3000


def test_everything_accepted_is_found_after_a_kill(tmp_path: Path) -> None:
    episodes = transcript.read(transcript.SAMPLE)[:EPISODES]
    data = tmp_path / "data"
    child, instance = start(data)
    with Client(instance, "apollo13") as client:
        jobs = [client.ingest(episodes[at : at + 500], lane="bulk")["jobId"] for at in range(0, EPISODES, 500)]
        wait_until(lambda: sum(client.job(job)["progress"]["done"] for job in jobs) > 0, "something is indexed")
        assert sum(client.job(job)["progress"]["done"] for job in jobs) < EPISODES, (
            "it was over too soon to show anything"
        )
    os.kill(child.pid, signal.SIGKILL)
    child.wait()

    with running(data) as again, Client(again, "apollo13") as client:
        wait_until(
            lambda: all(client.job(job)["status"] == "completed" for job in jobs), "all is done", within=240, every=1
        )

        assert sum(client.job(job)["progress"]["done"] for job in jobs) == EPISODES
        repeated = client.ingest(episodes[:500], consistency="indexed")
        assert {result["status"] for result in repeated["results"]} == {"deduplicated"}
        hits = client.query(episodes[-1]["content"], 20)
        found = client.hydrate([hit["ref"] for hit in hits])
        assert any(item["content"] in episodes[-1]["content"] for item in found.values())
