"""A long back-fill: fed as it is worked off, followed to its end, and loud where something fails."""

from __future__ import annotations

from typing import Any, cast

import pytest

from bench import backfill
from bench.backfill import BackFill, fill, wait_for
from bench.figure import MeasurementFailed
from infinicon.cli.instance import Client


class Server:
    """Takes episodes, and finishes one job at each look at the oldest."""

    def __init__(self, ends: str = "completed", taken: str = "created") -> None:
        self.jobs: dict[str, int] = {}
        self.open: list[str] = []
        self.most_open = 0
        self._ends = ends
        self._taken = taken

    def ingest(self, episodes: list[Any], **_: object) -> dict[str, Any]:
        job = f"job-{len(self.jobs)}"
        self.jobs[job] = len(episodes)
        self.open.append(job)
        self.most_open = max(self.most_open, sum(self.jobs[name] for name in self.open))
        results = [{"ref": {"id": f"{job}/{at}"}, "status": self._taken} for at in range(len(episodes))]
        return {"jobId": job, "results": results}

    def job(self, job: str) -> dict[str, Any]:
        if self.open[:1] == [job]:
            self.open.pop(0)
            return {"status": self._ends, "progress": {"total": self.jobs[job], "done": self.jobs[job]}}
        return {"status": "running", "progress": {"total": self.jobs[job], "embed": self.jobs[job]}}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "POLL_SECONDS", 0.0)


def episodes(count: int) -> list[dict[str, Any]]:
    return [{"content": str(number)} for number in range(count)]


def test_everything_goes_in_and_is_done() -> None:
    server = Server()

    ids = fill(cast(Client, server), episodes(1234))

    assert len(set(ids)) == 1234
    assert list(server.jobs.values()) == [500, 500, 234]


def test_no_more_waits_than_is_asked_for() -> None:
    server = Server()
    work = BackFill(cast(Client, server), episodes(5000), ahead=1000)

    seen = list(work.run())

    assert server.most_open <= 1000
    assert seen == sorted(seen)
    assert seen[-1] == 5000


def test_a_stop_ends_the_sending_and_what_was_sent_is_followed() -> None:
    server = Server()
    work = BackFill(cast(Client, server), episodes(5000), ahead=1000)
    seen = []

    for done in work.run():
        seen.append(done)
        work.stop.set()

    assert seen[-1] == len(work.ids) == 1000
    assert work.started.is_set()


def test_nothing_to_send_is_done_at_once() -> None:
    assert fill(cast(Client, Server()), []) == []


@pytest.mark.parametrize("server", [Server(ends="failed"), Server(taken="rejected")])
def test_what_fails_is_no_measurement(server: Server) -> None:
    with pytest.raises(MeasurementFailed):
        fill(cast(Client, server), episodes(10))


def test_jobs_are_waited_for_and_have_to_complete() -> None:
    good, bad = Server(), Server(ends="cancelled")
    for server in (good, bad):
        server.ingest(episodes(3))

    wait_for(cast(Client, good), ["job-0"])
    with pytest.raises(MeasurementFailed, match="cancelled"):
        wait_for(cast(Client, bad), ["job-0"])
