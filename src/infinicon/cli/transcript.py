"""The Apollo 13 transcript (samples/README.md) as episodes, and their way in: what the demo and the benchmarks send."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from pathlib import Path

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client

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


@dataclass(frozen=True, slots=True)
class Progress:
    """Episodes of several jobs together, by where they are."""

    total: int = 0
    waiting: int = 0
    extract: int = 0
    embed: int = 0
    index: int = 0
    done: int = 0
    failed: int = 0

    @classmethod
    def of(cls, jobs: Sequence[Wire]) -> Progress:
        return cls(*(sum(int(job["progress"].get(part.name, 0)) for job in jobs) for part in fields(cls)))


@dataclass(slots=True)
class Sent:
    """What came of sending, while it goes on: counts of results by status, and the jobs."""

    results: dict[str, int] = field(default_factory=dict)
    job_ids: list[str] = field(default_factory=list)


def send(
    client: Client, episodes: Sequence[Wire], sent: Sent, accepted: Callable[[int], None] = lambda _: None
) -> None:
    """POST them all in the bulk lane, a few requests in flight, noting what came of each in `sent`.

    `accepted` hears the size of each request that was answered.
    """
    parts = [episodes[start : start + EPISODES_A_REQUEST] for start in range(0, len(episodes), EPISODES_A_REQUEST)]

    def post(part: Sequence[Wire]) -> Wire:
        return client.ingest(part, lane="bulk", label=NAMESPACE)

    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        for part, reply in zip(parts, pool.map(post, parts), strict=True):
            for result in reply["results"]:
                sent.results[result["status"]] = sent.results.get(result["status"], 0) + 1
            sent.job_ids.append(reply["jobId"])
            accepted(len(part))


def send_and_follow(
    client: Client, episodes: Sequence[Wire], sent: Sent, accepted: Callable[[int], None] = lambda _: None
) -> Iterator[tuple[Progress, list[Wire]]]:
    """Send, and meanwhile and afterwards yield progress and jobs, until every job is over."""
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send, client, episodes, sent, accepted)
        known: dict[str, Wire] = {}
        while True:
            complete = sending.done()
            job_ids = tuple(sent.job_ids)
            for job_id in job_ids:
                # A job that is over is not asked for again.
                if known.get(job_id, {}).get("status") not in FINAL:
                    known[job_id] = client.job(job_id)
            jobs = [known[job_id] for job_id in job_ids]
            yield Progress.of(jobs), jobs
            if complete and all(job["status"] in FINAL for job in jobs):
                break
            time.sleep(POLL_SECONDS)
        sending.result()
