"""--wait: until the server has indexed it."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest

from infinicon.cli import exits
from infinicon.cli.faults import ApiRefused
from infinicon.cli.ingesting import waiting
from infinicon.cli.ingesting.progress import Display
from infinicon.cli.ingesting.waiting import Followed, Standing, StillBusy, until_indexed
from tests.unit.cli.ingesting.fake_server import Canned, FakeServer, client_of, error

NOTHING = Standing(0, 0, 0, 0, 0)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(waiting, "LONGEST_POLL", 0.01)


def standing(
    *, queued: int = 0, running: int = 0, cancelled: int = 0, done: int = 0, failed: int = 0, total: int = 0
) -> Canned:
    jobs = {"queued": queued, "running": running, "completed": 1, "failed": 0, "cancelled": cancelled}
    progress = {"done": done, "failed": failed, "total": total}
    return 200, {}, {"jobs": [], "summary": {"jobs": jobs, "progress": progress}}


def followed(*standings: Canned, before: Standing = NOTHING, **more: Any) -> Standing:
    fake = FakeServer()
    fake.standings.extend(standings)
    stopping = threading.Event()
    if more.pop("stopped", False):
        stopping.set()
    with client_of(fake) as client:
        found = Followed(client, {"tenantId": "t", "namespaceId": "n"}, "my label")
        return until_indexed(found, before, Display(io.StringIO()), stopping, **{"patience": 30.0, **more})


def test_it_ends_when_no_job_is_open() -> None:
    found = followed(
        standing(queued=2, total=4), standing(running=1, done=3, total=4), standing(done=4, total=4), standing(queued=9)
    )

    assert found == Standing(0, 0, 4, 0, 4)


def test_what_had_failed_before_is_no_failure_of_this_run() -> None:
    before = Standing(1, 1, 5, 2, 10)

    assert followed(standing(done=8, failed=3, cancelled=1, total=11), before=before) == Standing(0, 0, 8, 1, 11)


def test_a_server_that_is_away_for_a_moment_is_asked_again() -> None:
    busy = error(503, "unavailable", retryable=True)

    assert followed(standing(queued=1), busy, busy, standing(done=1, total=1)).done == 1


def test_it_gives_up_after_its_patience() -> None:
    with pytest.raises(StillBusy) as fault:
        followed(error(503, "unavailable", retryable=True), patience=0.02)

    assert fault.value.exit_code == exits.TEMPORARY


def test_a_key_that_may_not_ask_is_refused() -> None:
    with pytest.raises(ApiRefused) as fault:
        followed(error(403, "unauthorized"))

    assert fault.value.exit_code == exits.REFUSED


def test_ctrl_c_leaves_jobs_open() -> None:
    assert followed(standing(running=3, done=1, total=4), stopped=True) == Standing(3, 0, 1, 0, 4)
