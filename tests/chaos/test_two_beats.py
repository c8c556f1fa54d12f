"""Two clocks, one of which is stopped and killed: every window of every scope is opened once, and nothing is left waiting."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg

from infinicon.cli.instance import Client, running
from infinicon.embedded.bootstrap import superuser_url
from tests.processes import the_process
from tests.waiting import wait_until

AGENTS = ("a", "b", "c")
SECONDS = 8
PERIOD = 2
WINDOWS = """
    SELECT scope, window_at, job FROM infinicon.consolidation_windows ORDER BY 1, 2
"""
JOBS = """
    SELECT id, result ->> 'trigger', status, done FROM infinicon.jobs WHERE type = 'consolidate'
"""


@contextmanager
def another(first: psutil.Process, log: Path) -> Iterator[psutil.Popen]:
    """A second clock, as the first one was started."""
    environment = {**first.environ(), "INFINICON_HEARTBEAT_FILE": str(log.with_suffix(".heartbeat"))}
    with log.open("wb") as output:
        child = psutil.Popen(
            [sys.executable, "-m", "infinicon.cli", "beat"], env=environment, stdout=output, stderr=output
        )
        try:
            yield child
        finally:
            child.kill()
            child.wait()


def ask(data: Path, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(superuser_url(data)) as connection:
        return connection.execute(statement.encode()).fetchall()


def completed(data: Path) -> int:
    """How many memories consolidations that are over have looked at; none while one is not."""
    jobs = ask(data, JOBS)
    return sum(done for *_, done in jobs) if all(status == "completed" for _, _, status, _ in jobs) else 0


def test_no_window_is_opened_twice(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data, variables={"INFINICON_CONSOLIDATION_TICK": "0.5"}) as instance, Client(instance, "n") as client:
        client.post("/v0/policy", {"policy": {"consolidationSchedule": PERIOD}})
        first = the_process(instance, "infinicon.cli", "beat")
        with another(first, tmp_path / "second.log"):
            sent = talk(client, first)
            first.kill()  # `up` starts another
            wait_until(lambda: completed(data) == sent, "everything is consolidated")
        windows, jobs = ask(data, WINDOWS), ask(data, JOBS)

        assert Counter(job for _, _, job in windows) == Counter(job for job, *_ in jobs)
        assert {trigger for _, trigger, *_ in jobs} == {"scheduled"}
        assert {window.timestamp() % PERIOD for _, window, _ in windows} == {0}
        assert len({scope for scope, *_ in windows}) == len(AGENTS)
        assert len(windows) <= len(AGENTS) * (SECONDS / PERIOD + 10)
        assert ask(data, "SELECT sum(waiting) FROM infinicon.consolidation_scopes") == [(0,)]
        wait_until(lambda: the_process(instance, "infinicon.cli", "beat").pid != first.pid, "another beat has started")
        status = client.http.get("/v0/status", params={"tenantId": client.scope["tenantId"]}).json()
        assert status["scheduler"]["ok"]


def talk(client: Client, first: psutil.Process) -> int:
    """Ingest for a while, during which the first clock is stopped and goes on; how many episodes."""
    sent = 0
    until = time.monotonic() + SECONDS
    stop, go_on = until - SECONDS * 3 / 4, until - SECONDS / 4
    stopped = False
    while (now := time.monotonic()) < until:
        if not stopped and stop < now < go_on:
            first.send_signal(signal.SIGSTOP)
            stopped = True
        if stopped and now > go_on:
            first.send_signal(signal.SIGCONT)
            stopped = False
            stop = until
        for agent in AGENTS:
            text = f"Note {sent} of {agent} is about shelf {sent * 7}."
            scope = {**client.scope, "agentId": agent}
            client.post("/v0/ingest", {"scope": scope, "episodes": [{"contentType": "text/plain", "content": text}]})
            sent += 1
        time.sleep(0.3)
    return sent
