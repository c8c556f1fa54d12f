"""A running Infinicon as another process sees it: `infinicon up` as a child, its dev.json, and a client for its API.

The demo, the benchmarks and the end-to-end tests stand on this, so that all of them start what a person starts.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from types import FrameType, MappingProxyType
from typing import Any

import httpx

from infinicon.cli import client
from infinicon.cli.client import Wire
from infinicon.cli.connection import Connection
from infinicon.cli.faults import ApiRefused
from infinicon.cli.place import Dev
from infinicon.settings import child_environment

READY = "infinicon is ready: "
START_SECONDS = 180.0
STOP_SECONDS = 15.0


class InstanceFailed(Exception):
    """`infinicon up` did not start, or did not stop; the message says where its log is."""


@dataclass(frozen=True, slots=True)
class Instance(Dev):
    """Where it answers and how to get in: the content of dev.json, the data directory and the process id of `up`."""

    data_dir: Path
    pid: int

    @classmethod
    def read(cls, data_dir: Path, pid: int) -> Instance:
        stored = json.loads((data_dir / "dev.json").read_text(encoding="utf-8"))
        return cls(
            url=stored["url"],
            api_key=stored["apiKey"],
            tenant_id=stored["tenantId"],
            flower_url=stored["flowerUrl"],
            flower_user=stored["flowerUser"],
            flower_password=stored["flowerPassword"],
            data_dir=data_dir,
            pid=pid,
        )

    def flower(self, path: str) -> Any:
        """Flower's answer to GET `path`, as the operator."""
        answer = httpx.get(self.flower_url + path, auth=(self.flower_user, self.flower_password), timeout=30)
        answer.raise_for_status()
        return answer.json()


class Client:
    """Memory API v0 for one namespace of an instance. Safe to call from several threads."""

    def __init__(self, instance: Instance, namespace: str, *, timeout: float = 120.0) -> None:
        self.scope: Wire = {"tenantId": instance.tenant_id, "namespaceId": namespace}
        self.api = client.Client(Connection(instance.url, instance.api_key), timeout=timeout)

    @property
    def http(self) -> httpx.Client:
        """For requests that need more than a body."""
        return self.api.http

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.api.http.close()

    def post(self, path: str, body: Mapping[str, object]) -> Wire:
        """The answer to `body` with the scope added. Raises ApiRefused, NoServer."""
        return self.api.post(path, {"scope": self.scope, **body})

    def ingest(self, episodes: Sequence[Wire], **fields: object) -> Wire:
        return self.post("/v0/ingest", {"episodes": episodes, **fields})

    def query(self, text: str, limit: int) -> list[Wire]:
        found: list[Wire] = self.post("/v0/query", {"query": text, "limit": limit})["refs"]
        return found

    def hydrate(self, refs: Sequence[Wire]) -> dict[str, Wire]:
        """Objects by id.

        Raises:
            ApiRefused: also where any of them is missing.
        """
        reply = self.post("/v0/hydrate", {"refs": refs})
        if reply["missing"]:
            raise ApiRefused("/v0/hydrate", 200, "missing")
        return {found["id"]: found for found in reply["objects"]}

    def job(self, job_id: str) -> Wire:
        return self.post("/v0/get-job", {"jobId": job_id})


def start(
    data_dir: Path, port: int = 0, variables: Mapping[str, str] = MappingProxyType({})
) -> tuple[subprocess.Popen[str], Instance]:
    """Start `infinicon up` and wait for its ready line. Its standard error goes to DIR/up.log.

    `variables` are added to its environment, by their whole names.

    Raises:
        InstanceFailed: it ended, or was not ready in time.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir / "up.log"
    command = [sys.executable, "-m", "infinicon.cli", "up", "--data-dir", str(data_dir), "--port", str(port)]
    with log.open("a", encoding="utf-8") as errors:
        # A session of its own: Ctrl-C on the terminal reaches only us, and we stop it in order.
        child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=child_environment(variables),
            start_new_session=True,
        )
    try:
        _wait_until_ready(child, log)
        return child, Instance.read(data_dir, child.pid)
    except BaseException:
        stop(child, patience=STOP_SECONDS)
        raise


def _wait_until_ready(child: subprocess.Popen[str], log: Path) -> None:
    assert child.stdout is not None
    lines: Queue[str] = Queue()
    # The reader goes on after the ready line, so that the child never blocks on a full pipe.
    threading.Thread(target=_read_lines, args=(child.stdout, lines), daemon=True).start()
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(Empty):
            if lines.get(timeout=0.2).startswith(READY):
                return
        if child.poll() is not None:
            raise InstanceFailed(
                f"`infinicon up` ended with code {child.returncode} before it was ready; its log: {log}"
            )
    raise InstanceFailed(f"`infinicon up` was not ready within {START_SECONDS:.0f} s; its log: {log}")


def _read_lines(stream: Any, lines: Queue[str]) -> None:
    with stream:
        for line in stream:
            lines.put(line)


def stop(child: subprocess.Popen[str], *, patience: float = STOP_SECONDS + 5) -> float:
    """SIGTERM, then wait. Seconds it took.

    Raises:
        InstanceFailed: it had to be killed, or ended with a code other than 0.
    """
    began = time.monotonic()
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    try:
        code = child.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        raise InstanceFailed(f"`infinicon up` did not stop within {patience:.0f} s") from None
    if code != 0:
        raise InstanceFailed(f"`infinicon up` ended with code {code}")
    return time.monotonic() - began


@contextlib.contextmanager
def running(data_dir: Path, port: int = 0, variables: Mapping[str, str] = MappingProxyType({})) -> Iterator[Instance]:
    """An Instance for the length of the block, on a free port unless one is given."""
    child, instance = start(data_dir, port, variables)
    try:
        yield instance
    finally:
        stop(child)


def let_signals_unwind() -> None:
    """SIGTERM and SIGHUP end this process as Ctrl-C does, so that a `running` block stops what it started."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
