"""`infinicon events`: what is there, what comes, also across a restart of the API."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psutil

from infinicon.cli.client import Wire
from infinicon.cli.faults import CommandFailed
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import api_process, ingest_indexed, note
from tests.e2e.cli.commands import run
from tests.waiting import wait_until


class Following:
    """`infinicon events --follow` and the lines it has printed."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self.child = child
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.child.stdout is not None
        self.lines.extend(self.child.stdout)

    def events(self, number: int) -> list[Wire]:
        wait_until(lambda: len(self.lines) >= number, f"{number} lines")
        return [json.loads(line) for line in self.lines]


@contextmanager
def following(live: Instance, *arguments: str) -> Iterator[Following]:
    environment = {**os.environ, "INFINICON_DATA_DIR": str(live.data_dir)}
    command = [sys.executable, "-m", "infinicon.cli", "events", "--follow", "--json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        try:
            yield Following(child)
        finally:
            child.kill()


def test_what_is_there_is_shown_and_its_end_is_told(live: Instance, client: Client) -> None:
    (ref,) = ingest_indexed(client, note("Rosa moved to Turin. Her bicycle stayed in Lyon."))
    namespace = client.scope["namespaceId"]

    done = run(live, "events", namespace)
    assert done.returncode == 0
    first = done.stdout.splitlines()[0].split()
    assert first[1:4] == ["episode.ingested", "episode", ref["id"]]
    assert first[4] == "job"
    assert "Turin" not in done.stdout

    as_json = run(live, "events", "-n", namespace, "--json", "--types", "memory.indexed")
    events = [json.loads(line) for line in as_json.stdout.splitlines()]
    assert {event["type"] for event in events} == {"memory.indexed"}
    end = done.stderr.split()[-1]
    assert run(live, "events", namespace, "--from", end, "--json").stdout == ""
    rest = run(live, "events", namespace, "--from", events[0]["cursor"], "--json", "--types", "memory.indexed")
    assert [json.loads(line) for line in rest.stdout.splitlines()] == events[1:]


def test_faults_have_their_exit_codes(live: Instance) -> None:
    name = f"test-{uuid4()}"

    assert run(live, "events", name).stdout == ""
    assert run(live, "events", INFINICON_NAMESPACE="").returncode == 2
    assert run(live, "events", name, "--namespace", "other").returncode == 2
    wrong = run(live, "events", name, "--types", "indexed")
    assert (wrong.returncode, "memory.indexed" in wrong.stderr) == (2, True)
    refused = run(live, "events", name, "--follow", "--from", "zzz")
    assert (refused.returncode, "invalid_cursor" in refused.stderr) == (2, True)
    away = {"INFINICON_URL": "http://127.0.0.1:9", "INFINICON_API_KEY": "inf_x"}
    assert run(None, "events", name, "--follow", **away).returncode == 3


def test_following_goes_on_after_the_server_was_killed(live: Instance, client: Client) -> None:
    ingest_indexed(client, note("Before the kill."))
    with following(live, client.scope["namespaceId"]) as reader:
        before = len(client.post("/v0/subscribe", {})["events"])
        reader.events(before)
        api = api_process(live)
        api.send_signal(signal.SIGKILL)
        wait_until(lambda: gone(api), "the API is dead")
        wait_until(lambda: again(client), "the API is back")
        ingest_indexed(client, note("After the kill."))
        everything = client.post("/v0/subscribe", {})["events"]

        assert reader.events(len(everything)) == everything
        reader.child.send_signal(signal.SIGINT)
        assert reader.child.wait(20) == 130
        assert reader.child.stderr is not None
        assert "Traceback" not in reader.child.stderr.read()


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def again(client: Client) -> bool:
    try:
        client.post("/v0/subscribe", {})
    except CommandFailed:
        return False
    return True


def test_a_reader_that_has_seen_enough_ends_it(live: Instance, client: Client) -> None:
    """As `infinicon events --follow | head -1` does it: the next line finds nobody."""
    ingest_indexed(client, note("The kettle is blue."))
    command = [sys.executable, "-m", "infinicon.cli", "events", client.scope["namespaceId"], "--follow"]
    environment = {**os.environ, "INFINICON_DATA_DIR": str(live.data_dir)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert "episode.ingested" in child.stdout.readline()
        child.stdout.close()
        ingest_indexed(client, note("The pump stands by the west gate."))
        assert "Traceback" not in child.stderr.read()
        assert child.wait(20) != 0
