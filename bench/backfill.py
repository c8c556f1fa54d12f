"""Long work for a running Infinicon: the bulk lane, fed at the pace at which it is worked off."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from threading import Event

from bench.figure import MeasurementFailed
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client
from infinicon.cli.transcript import FINAL, Progress

EPISODES_A_REQUEST = 500
AHEAD = 2000
"""Accepted episodes that may wait: two windows of bulk batches, so that no worker ever waits for us."""
POLL_SECONDS = 0.5


@dataclass(slots=True)
class BackFill:
    """Sends episodes until there are none, or until `stop` is set, and follows them until all that was sent is done."""

    client: Client
    episodes: Iterable[Wire]
    ahead: int = AHEAD
    stop: Event = field(default_factory=Event)
    started: Event = field(default_factory=Event)
    """Set once a worker has the first of it."""
    ids: list[str] = field(default_factory=list)
    """Ids of the episodes, in the order in which they were sent."""

    def run(self) -> Iterator[int]:
        """How many are done, twice a second, until all are.

        Raises:
            MeasurementFailed: an episode was not taken, or its job did not complete.
        """
        coming = iter(self.episodes)
        open_jobs: dict[str, Wire] = {}
        finished, sent, more = 0, 0, True
        while True:
            while more and not self.stop.is_set() and sent - finished - _done(open_jobs) < self.ahead:
                part = list(islice(coming, EPISODES_A_REQUEST))
                more = len(part) == EPISODES_A_REQUEST
                if part:
                    open_jobs[self._send(part)] = {}
                    sent += len(part)
            for job_id in list(open_jobs):
                open_jobs[job_id] = job = self.client.job(job_id)
                if job["status"] in FINAL:
                    finished += _completed(job)
                    del open_jobs[job_id]
            if finished or any(_begun(job) for job in open_jobs.values()):
                self.started.set()
            yield finished + _done(open_jobs)
            if not open_jobs and (not more or self.stop.is_set()):
                return
            time.sleep(POLL_SECONDS)

    def _send(self, part: list[Wire]) -> str:
        reply = self.client.ingest(part, lane="bulk", label="bench")
        if any(result["status"] != "created" for result in reply["results"]):
            raise MeasurementFailed("an episode was not taken")
        self.ids += [result["ref"]["id"] for result in reply["results"]]
        return str(reply["jobId"])


def fill(client: Client, episodes: Iterable[Wire]) -> list[str]:
    """Ingest, and wait until everything is found. Ids of the episodes, in order."""
    work = BackFill(client, episodes)
    for _ in work.run():
        pass
    return work.ids


def wait_for(client: Client, job_ids: Iterable[str]) -> None:
    """Return when all of them are completed. Raises MeasurementFailed where one ends otherwise."""
    for job_id in job_ids:
        while (job := client.job(job_id))["status"] not in FINAL:
            time.sleep(POLL_SECONDS)
        _completed(job)


def _completed(job: Wire) -> int:
    if job["status"] != "completed":
        raise MeasurementFailed(f"a job ended as {job['status']}")
    return Progress.of([job]).done


def _done(jobs: dict[str, Wire]) -> int:
    return Progress.of([job for job in jobs.values() if job]).done


def _begun(job: Wire) -> bool:
    progress = Progress.of([job]) if job else Progress()
    return progress.extract + progress.embed + progress.index + progress.done > 0
