"""The Apollo 13 transcript (samples/README.md) as episodes, and their way in: what the demo and the benchmarks send."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from pathlib import Path

from infinicon.cli.instance import Client, Wire

SAMPLE = Path(__file__).parents[3] / "samples" / "apollo13.jsonl.gz"
NAMESPACE = "apollo13"
EPISODES_A_REQUEST = 1000
REQUESTS_AT_ONCE = 2
POLL_SECONDS = 1.0

FINAL = frozenset({"completed", "failed", "cancelled"})


def read(path: Path) -> list[Wire]:
    """The utterances as ingest takes them. `path` is JSON lines, gzipped or not, with the fields of samples/README.md."""
    raw = path.read_bytes()
    lines = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8").split("\n")
    return [_episode(json.loads(line)) for line in lines if line.strip()]


def _episode(spoken: Wire) -> Wire:
    return {
        "contentType": "text/plain",
        "content": spoken["text"],
        "dedupeKey": f"apollo13-{spoken['n']}",
        "createdBy": {"id": spoken["speaker"], "kind": "user"},
        "metadata": {"speaker": spoken["speaker"], "get": spoken["get"], "n": spoken["n"]},
        "occurredAt": spoken["at"],
    }


@dataclass(slots=True)
class Progress:
    """Episodes of several jobs together, by where they are."""

    total: int = 0
    waiting: int = 0
    extract: int = 0
    embed: int = 0
    index: int = 0
    done: int = 0
    failed: int = 0

    def add(self, job: Wire) -> None:
        for part in fields(self):
            setattr(self, part.name, getattr(self, part.name) + int(job["progress"].get(part.name, 0)))


@dataclass(slots=True)
class Sent:
    """What came of sending: counts of results by status, and the jobs."""

    results: dict[str, int] = field(default_factory=dict)
    job_ids: list[str] = field(default_factory=list)


def send(client: Client, episodes: Sequence[Wire], accepted: Callable[[int], None] = lambda _: None) -> Sent:
    """POST them all in the bulk lane, a few requests in flight. `accepted` hears the size of each request that was answered."""
    parts = [episodes[start : start + EPISODES_A_REQUEST] for start in range(0, len(episodes), EPISODES_A_REQUEST)]
    sent = Sent()

    def post(part: Sequence[Wire]) -> Wire:
        return client.ingest(part, lane="bulk", label=NAMESPACE)

    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        for part, reply in zip(parts, pool.map(post, parts), strict=True):
            for result in reply["results"]:
                sent.results[result["status"]] = sent.results.get(result["status"], 0) + 1
            sent.job_ids.append(reply["jobId"])
            accepted(len(part))
    return sent


def follow(client: Client, job_ids: Sequence[str]) -> Iterator[tuple[Progress, list[Wire]]]:
    """Progress and jobs, again and again until every job is over. A job that is over is not asked for again."""
    known: dict[str, Wire] = {}
    while True:
        for job_id in job_ids:
            if known.get(job_id, {}).get("status") not in FINAL:
                known[job_id] = client.job(job_id)
        progress = Progress()
        jobs = [known[job_id] for job_id in job_ids]
        for job in jobs:
            progress.add(job)
        yield progress, jobs
        if all(job["status"] in FINAL for job in jobs):
            return
        time.sleep(POLL_SECONDS)
