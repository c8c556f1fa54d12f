"""The whole run against a server that keeps keys: what goes in, what is said of it, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infinicon.cli import exits
from infinicon.cli.client import Client
from infinicon.cli.faults import ApiRefused, CommandFailed
from infinicon.cli.ingesting import run, sender, waiting
from infinicon.cli.ingesting.formats import Reader
from infinicon.cli.ingesting.progress import Pace
from infinicon.cli.ingesting.run import Interrupted, Options, label_of
from infinicon.cli.ingesting.shaping import Defaults
from infinicon.cli.ingesting.sources import Source, expand
from tests.unit.cli.ingesting.fake_server import Canned, FakeServer, client_of, error


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (run, sender):
        monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(sender, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.001)


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer()


@pytest.fixture
def client(fake: FakeServer) -> Iterator[Client]:
    with client_of(fake) as open_client:
        yield open_client


class Outcome:
    def __init__(self, out: str, err: str, fault: CommandFailed | None) -> None:
        self.wire: Any = json.loads(out) if out.startswith("{") else None
        self.out, self.err, self.fault = out, err, fault


Ingest = Callable[..., Outcome]


@pytest.fixture
def ingest(client: Client, capsys: pytest.CaptureFixture[str]) -> Ingest:
    def do(*paths: Path | str, reader: Reader | None = None, source: str | None = None, **options: Any) -> Outcome:
        sources = expand([str(path) for path in paths], source)
        chosen = {"namespace": "home", "label": label_of(sources), "as_json": True, "batch": 2, **options}
        fault = None
        try:
            run.ingest(client, sources, reader or Reader(), Options(**chosen))
        except CommandFailed as raised:
            fault = raised
        out, err = capsys.readouterr()
        return Outcome(out, err, fault)

    return do


def lines(path: Path, *contents: Any) -> Path:
    path.write_text("".join(json.dumps({"content": content}) + "\n" for content in contents))
    return path


def test_everything_goes_in(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    done = ingest(lines(tmp_path / "a.jsonl", *range(5)), lines(tmp_path / "b.jsonl", "x"), batch=3)

    assert done.fault is None
    assert sorted(map(str, fake.texts)) == ["0", "1", "2", "3", "4", "x"]
    assert fake.authorizations == {"Bearer inf_test"}
    assert {body["label"] for body in fake.bodies} == {"ingest a.jsonl and 1 more"}
    assert not any("lane" in body for body in fake.bodies)  # the server knows what is small
    assert fake.bodies[0]["scope"] == {"tenantId": "t", "namespaceId": "home"}
    assert done.wire == {
        "status": "completed",
        "namespaceId": "home",
        "label": "ingest a.jsonl and 1 more",
        "sources": 2,
        "episodesRead": 6,
        "created": 6,
        "deduplicated": 0,
        "tombstoned": 0,
        "rejected": 0,
        "rejectedByCode": {},
        "broken": 0,
        "leftOut": 0,
        "requests": 2,
        "retries": 0,
        "jobs": 2,
        "seconds": done.wire["seconds"],
    }


def test_the_same_again_adds_nothing(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", "x", "x", "y")
    ingest(path)
    again = ingest(path)

    assert (again.wire["created"], again.wire["deduplicated"]) == (0, 3)
    assert len(fake.kept) == 3


def test_a_file_that_grew_adds_what_is_new(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    ingest(lines(tmp_path / "a.jsonl", "x", "y"))
    grown = ingest(lines(tmp_path / "a.jsonl", "x", "y", "z"))

    assert (grown.wire["created"], grown.wire["deduplicated"]) == (1, 2)


def test_a_name_keeps_keys_when_the_file_is_moved(ingest: Ingest, tmp_path: Path) -> None:
    ingest(lines(tmp_path / "a.jsonl", "x"), source="mine")
    moved = ingest(lines(tmp_path / "b.jsonl", "x"), source="mine")

    assert moved.wire["deduplicated"] == 1


def test_scopes_of_lines_have_requests_of_their_own(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        "".join(
            json.dumps({"content": n, "scope": {"sessionId": session}}) + "\n" for n, session in enumerate("ababab")
        )
    )
    ingest(path, reader=Reader(defaults=Defaults(agent="helper")), batch=10)

    found = {body["scope"]["sessionId"]: [e["content"] for e in body["episodes"]] for body in fake.bodies}
    assert found == {"a": [0, 2, 4], "b": [1, 3, 5]}
    assert {body["scope"]["agentId"] for body in fake.bodies} == {"helper"}


def test_nothing_is_fine(ingest: Ingest, tmp_path: Path) -> None:
    empty = tmp_path / "a.jsonl"
    empty.touch()
    done = ingest(empty, as_json=False)

    assert done.fault is None
    assert done.out.startswith("0 episodes in 0 requests")


def test_a_broken_line_ends_it_behind_what_stands_before(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"content": 1}\n{"content": 2}\n{"content": 3}\n{"SECRET\n{"content": 5}\n')
    done = ingest(path)

    assert isinstance(done.fault, CommandFailed)
    assert (done.fault.exit_code, done.fault.message) == (exits.FAILED, "a.jsonl, line 4: not JSON at column 2")
    assert "--on-error skip" in done.fault.remedy
    assert sorted(fake.texts) == [1, 2, 3]
    assert (done.wire["status"], done.wire["broken"], done.wire["created"]) == ("stopped", 1, 3)
    assert "SECRET" not in done.out + done.err + done.fault.message


def test_broken_lines_can_be_left_out(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"content": 1}\n{"SECRET\n{"role": "user", "content": ""}\n{"content": 5}\n')
    done = ingest(path, skip=True)

    assert done.fault is not None
    assert done.fault.exit_code == exits.FAILED
    assert sorted(fake.texts) == [1, 5]
    assert (done.wire["status"], done.wire["broken"], done.wire["leftOut"]) == ("failed", 1, 1)
    assert "a.jsonl, line 2: not JSON at column 2; left out" in done.err
    assert "SECRET" not in done.err


def test_a_rejected_episode_is_named_without_its_content(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    done = ingest(lines(tmp_path / "a.jsonl", "x", "refuse me", "y"))

    assert done.fault is not None
    assert done.fault.exit_code == exits.FAILED
    assert "infinicon: a.jsonl, line 2: rejected, invalid_content: it cannot be stored" in done.err
    assert "refuse me" not in done.err
    assert (done.wire["rejectedByCode"], done.wire["created"]) == ({"invalid_content": 1}, 2)


def test_a_refused_key_ends_it_at_once(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    fake.plan.append(error(401, "unauthorized"))
    done = ingest(lines(tmp_path / "a.jsonl", *range(100)), in_flight=1)

    assert isinstance(done.fault, ApiRefused)
    assert done.fault.exit_code == exits.REFUSED
    assert (done.wire["status"], done.wire["created"], fake.texts) == ("stopped", 0, [])


def test_a_server_that_stays_away_is_given_up_and_what_is_in_is_said(
    fake: FakeServer, ingest: Ingest, tmp_path: Path
) -> None:
    path = lines(tmp_path / "a.jsonl", *range(10))
    fake.plan.extend([error(503, "unavailable", retryable=True)] * 100)
    done = ingest(path, patience=0.05, in_flight=1)

    assert done.fault is not None
    assert done.fault.exit_code == exits.TEMPORARY
    fake.plan.clear()
    assert ingest(path).wire["created"] == 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_finishes_what_is_on_its_way(
    fake: FakeServer, ingest: Ingest, tmp_path: Path, number: signal.Signals
) -> None:
    former = {each: signal.signal(each, signal.default_int_handler) for each in (signal.SIGINT, signal.SIGTERM)}
    fake.gate.clear()

    def interrupt() -> None:
        assert fake.arrived.acquire(timeout=30)
        os.kill(os.getpid(), number)
        threading.Timer(0.1, fake.gate.set).start()

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    try:
        path = lines(tmp_path / "a.jsonl", *range(100))
        done = ingest(path, in_flight=1)
        interrupting.join()
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)

    assert isinstance(done.fault, Interrupted)
    assert done.fault.exit_code == exits.INTERRUPTED
    assert "once more to end at once" in done.err
    assert (done.wire["status"], done.wire["created"], fake.texts) == ("interrupted", 2, [0, 1])
    again = ingest(path)
    assert (again.wire["deduplicated"], again.wire["created"]) == (2, 98)


def test_what_ignores_ctrl_c_goes_on_ignoring_it(ingest: Ingest, fake: FakeServer, tmp_path: Path) -> None:
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    fake.gate.clear()

    def interrupt() -> None:
        assert fake.arrived.acquire(timeout=30)
        os.kill(os.getpid(), signal.SIGINT)
        fake.gate.set()

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    try:
        done = ingest(lines(tmp_path / "a.jsonl", *range(10)))
    finally:
        interrupting.join()
        signal.signal(signal.SIGINT, former)

    assert (done.fault, done.wire["created"]) == (None, 10)


def test_a_line_of_a_slow_pipe_does_not_wait_for_others(
    fake: FakeServer, ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "IDLE_SECONDS", 0.01)
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def feed() -> None:
        with path.open("w") as pipe:
            for number in range(3):
                pipe.write(json.dumps({"content": number}) + "\n")
                pipe.flush()
                assert fake.arrived.acquire(timeout=30)

    feeding = threading.Thread(target=feed)
    feeding.start()
    done = ingest(path, batch=1000)
    feeding.join()

    assert (done.fault, done.wire["created"], done.wire["requests"]) == (None, 3, 3)


def standing(open_jobs: int, done: int, failed: int = 0, cancelled: int = 0) -> Canned:
    jobs = {"queued": open_jobs, "running": 0, "completed": 0, "failed": 0, "cancelled": cancelled}
    return 200, {}, {"summary": {"jobs": jobs, "progress": {"done": done, "failed": failed, "total": 10}}}


def test_waiting_for_the_index(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    fake.standings.extend([standing(0, 8, failed=2), standing(3, 8, failed=2), standing(0, 8, failed=2)])
    done = ingest(lines(tmp_path / "a.jsonl", 1), wait=True)

    assert done.fault is None
    assert done.wire["indexed"] == {"done": 8, "failed": 0, "total": 10}


@pytest.mark.parametrize(("failed", "cancelled"), [(1, 0), (0, 1)])
def test_what_is_not_indexed_is_a_failure(
    fake: FakeServer, ingest: Ingest, tmp_path: Path, failed: int, cancelled: int
) -> None:
    fake.standings.extend([standing(0, 0), standing(0, 1, failed=failed, cancelled=cancelled)])
    done = ingest(lines(tmp_path / "a.jsonl", 1), wait=True, as_json=False)

    assert done.fault is not None
    assert done.fault.exit_code == exits.FAILED
    assert f"indexed: 1 of 10, {failed} failed" in done.out


def test_what_was_rejected_is_no_reason_not_to_wait(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    fake.standings.extend([standing(0, 0), standing(0, 1)])
    done = ingest(lines(tmp_path / "a.jsonl", 1, "refuse me"), wait=True)

    assert done.fault is not None
    assert "1 rejected" in done.fault.message
    assert done.wire["indexed"] == {"done": 1, "failed": 0, "total": 10}


def test_ctrl_c_while_it_is_indexed(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    fake.standings.extend([standing(0, 0), standing(1, 1)])
    get = fake.get
    asked = 0

    def counted(path: str) -> Canned:
        nonlocal asked
        asked += 1
        if asked == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return get(path)

    fake.get = counted  # type: ignore[method-assign] # one server of one test
    try:
        done = ingest(lines(tmp_path / "a.jsonl", 1), wait=True)
    finally:
        signal.signal(signal.SIGINT, former)

    assert isinstance(done.fault, Interrupted)
    assert (done.wire["status"], done.wire["created"]) == ("interrupted", 1)


def test_the_summary_for_people(fake: FakeServer, ingest: Ingest, tmp_path: Path) -> None:
    done = ingest(lines(tmp_path / "my notes.jsonl", 1, 2, 3), as_json=False)

    assert "3 episodes in 2 requests" in done.out
    assert "3 created, 0 deduplicated, 0 rejected" in done.out
    assert "infinicon jobs --label 'ingest my notes.jsonl' --namespace home" in done.out
    assert done.err == ""
    assert ingest(tmp_path / "my notes.jsonl", as_json=False, quiet=True).out == ""


def test_progress_says_where_it_is(client: Client, tmp_path: Path) -> None:
    sources = expand([str(lines(tmp_path / name, 1)) for name in ("a.jsonl", "b.jsonl")])
    shown = run._Run(client, sources, Reader(), Options("home", "l"))
    shown._meter.read = shown._meter.total = 100
    shown._meter.total, shown._meter.number, shown._meter.name = 400, 1, "a.jsonl"
    shown._sender.tally.created = 1234
    shown._sender.tally.trouble = "the server answers 429 overloaded"
    pace, read = Pace(), Pace()
    for second in (0.0, 10.0):
        pace.add(second, 50 * second)
        read.add(second, 10 * second)

    assert shown._line(pace, read) == (
        "1 of 2, a.jsonl · 25% · 1,234 episodes · 50 a second · 0:30 left · waiting: the server answers 429 overloaded"
    )


@pytest.mark.parametrize(("number", "label"), [(1, "ingest " + "x" * 249), (3, "ingest " + "x" * 238 + " and 2 more")])
def test_a_label_is_no_longer_than_a_server_takes(number: int, label: str) -> None:
    assert label_of([Source("x" * 300, None, None)] * number) == label
