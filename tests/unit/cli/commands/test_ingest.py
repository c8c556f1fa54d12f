"""`infinicon ingest` as a process: options, exit codes, signals, memory."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from infinicon.cli import exits
from tests.unit.cli.ingesting.fake_server import FakeServer, error, serving
from tests.waiting import wait_until

# Under nohup, Ctrl-C would be ignored by what we start, and rightly so.
RESTORE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from infinicon.cli.main import main; main()"


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer()


@pytest.fixture
def url(fake: FakeServer) -> Iterator[str]:
    with serving(fake) as address:
        yield address


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INFINICON_")}
    return {**kept, "INFINICON_API_KEY": "k", **variables}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", RESTORE, "ingest", *arguments]


def run(*arguments: str, given: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(*arguments), input=given, capture_output=True, env=environment(**variables), check=False, timeout=60
    )


@contextlib.contextmanager
def started(*arguments: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        command(*arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**variables),
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def line(content: Any) -> bytes:
    return json.dumps({"content": content}).encode() + b"\n"


def test_everything_that_can_be_said(fake: FakeServer, url: str) -> None:
    turn = json.dumps({"d": "dev:1", "i": 0, "s": "USER", "t": "Book a table."}).encode()
    done = run(
        "-",
        *("--map", "content=t,createdBy=s,dedupeKey=d+i,metadata.dialogue=d"),
        *("--agent", "helper", "--session", "s1", "--label", "spring", "--lane", "interactive"),
        *("--in-flight", "1", "--batch", "1", "--json"),
        given=turn,
        INFINICON_URL=url,
        INFINICON_NAMESPACE="home",
    )

    assert done.returncode == exits.FINE, done.stderr
    assert fake.bodies == [
        {
            "label": "spring",
            "lane": "interactive",
            "scope": {"tenantId": "t", "namespaceId": "home", "agentId": "helper", "sessionId": "s1"},
            "episodes": [
                {
                    "content": "Book a table.",
                    "contentType": "text/plain",
                    "createdBy": {"id": "USER", "kind": "user"},
                    "dedupeKey": "dev:1-0",
                    "metadata": {"dialogue": "dev:1"},
                }
            ],
        }
    ]
    assert json.loads(done.stdout)["label"] == "spring"
    assert done.stderr == b""


def test_text_from_standard_input_with_an_author(fake: FakeServer, url: str) -> None:
    done = run(
        "-", "--url", url, "--namespace", "home", "--format", "text", "--author", "rosa", "--source", "diary", "--quiet",
        given=b"I moved to Turin.\n",
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (exits.FINE, b"", b"")
    assert fake.episodes[0]["metadata"] == {"speaker": "rosa", "file": "diary"}


def test_a_dry_run_needs_no_server() -> None:
    done = run("-", "--dry-run", given=line("x"))

    assert done.returncode == exits.FINE
    assert b"1 episode in 1 request" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "given", "code", "says"),
    [
        (["missing.jsonl", "-n", "home"], b"", exits.USAGE, b"missing.jsonl: No such file"),
        (["-"], b"", exits.USAGE, b"INFINICON_NAMESPACE"),
        (["-", "-n", "home", "--url", "http://127.0.0.1:1"], line("x"), exits.NO_SERVER, b"does not answer"),
        (["-", "-n", "home", "--format", "ndjson"], b"{", exits.FAILED, b"stdin, line 1: not JSON"),
        (["-", "-n", "home"], line("refuse me"), exits.FAILED, b"stdin, line 1: rejected, invalid_content"),
    ],
)
def test_how_it_ends(fake: FakeServer, url: str, arguments: list[str], given: bytes, code: int, says: bytes) -> None:
    done = run(*arguments, given=given, INFINICON_URL=url)

    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert b"Traceback" not in done.stderr


def test_a_refused_key(fake: FakeServer, url: str) -> None:
    fake.plan.append(error(403, "unauthorized"))
    done = run("-", "-n", "home", given=line("x"), INFINICON_URL=url)

    assert done.returncode == exits.REFUSED
    assert b"permission" in done.stderr


def test_ctrl_c_while_standard_input_is_silent(fake: FakeServer, url: str) -> None:
    with started("-", "-n", "home", "--json", INFINICON_URL=url) as child:
        assert child.stdin is not None
        child.stdin.write(line("x"))
        child.stdin.flush()
        wait_until(lambda: fake.texts, "the line arrived")
        child.send_signal(signal.SIGINT)
        assert child.stdout is not None
        wire = json.loads(child.stdout.read())

        assert child.wait(30) == exits.INTERRUPTED
        assert child.stderr is not None
        errors = child.stderr.read()
    assert (wire["status"], wire["created"]) == ("interrupted", 1)
    assert b"goes on from here" in errors
    assert b"Traceback" not in errors


def test_ctrl_c_twice_ends_at_once(fake: FakeServer, url: str) -> None:
    fake.gate.clear()
    with started("-", "-n", "home", "--batch", "1", INFINICON_URL=url) as child:
        assert child.stdin is not None
        child.stdin.write(line("x"))
        child.stdin.flush()
        assert fake.arrived.acquire(timeout=30)
        child.send_signal(signal.SIGINT)
        assert child.stderr is not None
        assert b"once more" in child.stderr.readline()
        child.send_signal(signal.SIGINT)

        assert child.wait(30) == exits.INTERRUPTED
        assert fake.texts == []


def test_it_goes_on_where_it_was_killed(fake: FakeServer, url: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(map(line, range(2000))))
    arguments = (str(path), "-n", "home", "--batch", "10", "--json")
    with started(*arguments, INFINICON_URL=url) as child:
        wait_until(lambda: len(fake.kept) > 100, "something went in", every=0.002)
        child.kill()
        assert child.wait(30) == -signal.SIGKILL
    killed = len(fake.kept)
    wire = json.loads(run(*arguments, INFINICON_URL=url).stdout)

    assert killed < 2000
    assert sorted(json.loads(content) for content in fake.kept.values()) == list(range(2000))
    assert (wire["created"], wire["deduplicated"]) == (2000 - killed, killed)


def feed(pipe: IO[bytes], number: int) -> None:
    for n in range(number):
        pipe.write(
            b'{"content": "This is line %d of very many, and each of them is different.", "metadata": {"n": %d}}\n'
            % (n, n)
        )
    pipe.close()


# VmHWM, and not ru_maxrss, which a process inherits from the one that started it.
PEAK = f"""
import atexit, sys
def show():
    lines = open("/proc/self/status").read().split("\\n")
    sys.stderr.write(next(line for line in lines if line.startswith("VmHWM")).split()[1])
atexit.register(show)
{RESTORE}
"""


def peak_kib(fake: FakeServer, url: str, number: int) -> int:
    """Of the process that sends so many lines."""
    before = len(fake.kept)
    arguments = ["-", "--namespace", "home", "--source", f"{number}", "--quiet", "--url", url]
    with subprocess.Popen(
        [sys.executable, "-c", PEAK, "ingest", *arguments],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as child:
        assert child.stdin is not None
        assert child.stderr is not None
        feed(child.stdin, number)
        said = child.stderr.read()
    assert child.returncode == exits.FINE, said
    assert len(fake.kept) - before == number
    return int(said)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux says what the peak was")
def test_memory_does_not_grow_with_the_input(fake: FakeServer, url: str) -> None:
    """Thirty thousand lines are 7 MiB as the server gets them, and several times as much as objects."""
    fake.keep_bodies = False

    few, many = peak_kib(fake, url, 3_000), peak_kib(fake, url, 30_000)

    assert many - few < 8 * 1024, (few, many)
