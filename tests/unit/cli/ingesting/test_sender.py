"""Requests on their way, over real HTTP to a server that misbehaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from infinicon.cli import exits
from infinicon.cli.client import Client
from infinicon.cli.connection import Connection
from infinicon.cli.faults import ApiRefused, CommandFailed
from infinicon.cli.ingesting import sender as module
from infinicon.cli.ingesting.batches import Request
from infinicon.cli.ingesting.places import Place
from infinicon.cli.ingesting.sender import GaveUp, Manner, Sender
from infinicon.cli.ingesting.shaping import Prepared
from tests.unit.cli.ingesting.fake_server import FakeServer, client_of, error

SCOPE = {"tenantId": "t", "namespaceId": "n"}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.01)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer()


@pytest.fixture
def client(fake: FakeServer) -> Iterator[Client]:
    with client_of(fake) as open_client:
        yield open_client


def request(*contents: Any, scope: str = "{}") -> Request:
    return Request(
        scope,
        [
            Prepared(Place("a", number), scope, json.dumps({"content": content, "dedupeKey": f"{content}"}).encode())
            for number, content in enumerate(contents, 1)
        ],
    )


class Run:
    """A sender with what it reports."""

    def __init__(self, client: Client, **manner: Any) -> None:
        self.rejected: list[tuple[int, str, str]] = []
        self.sender = Sender(
            client,
            Manner(SCOPE, {"label": "l", "lane": "bulk"}, **{"in_flight": 2, **manner}),
            lambda place, code, reason: self.rejected.append((place.line, code, reason)),
        )
        self.sender.start()

    def send(self, *requests: Request) -> Sender:
        for part in requests:
            self.sender.put(part)
        self.sender.close()
        return self.end()

    def end(self) -> Sender:
        for thread in self.sender._threads:
            thread.join(30)
        assert self.sender.is_done()
        return self.sender


def test_a_request_as_the_contract_has_it(fake: FakeServer, client: Client) -> None:
    done = Run(client).send(request("x", "Türme", scope='{"agentId":"a"}'))

    assert fake.bodies == [
        {
            "label": "l",
            "lane": "bulk",
            "scope": {**SCOPE, "agentId": "a"},
            "episodes": [{"content": "x", "dedupeKey": "x"}, {"content": "Türme", "dedupeKey": "Türme"}],
        }
    ]
    assert (done.tally.created, done.tally.requests, done.failure) == (2, 1, None)


def test_several_are_in_flight_and_no_more_than_that(fake: FakeServer, client: Client) -> None:
    fake.gate.clear()
    run = Run(client, in_flight=3)
    sending = threading.Thread(target=run.send, args=[request(n) for n in range(9)])
    sending.start()
    for _ in range(3):
        assert fake.arrived.acquire(timeout=30)
    fake.gate.set()
    sending.join()

    assert sorted(fake.texts) == list(range(9))
    assert fake.most_at_once == 3


def test_the_queue_is_bounded(fake: FakeServer, client: Client) -> None:
    fake.gate.clear()
    run = Run(client, in_flight=2)
    for number in range(4):
        run.sender.put(request(number))

    assert run.sender.put(request(4), may_block=False) in (
        True,
        False,
    )  # the threads may not have taken all of theirs yet
    for _ in range(2):
        assert fake.arrived.acquire(timeout=30)
    while run.sender.put(request("more"), may_block=False):
        pass
    assert run.sender._waiting.qsize() == 2
    fake.gate.set()
    run.sender.close()
    run.end()


@pytest.mark.parametrize(
    "busy",
    [
        error(429, "overloaded", retryable=True, retry_after="0"),
        error(503, "unavailable", retryable=True),
        error(500, "internal", retryable=True),
        (502, {}, b"<html>"),
        (504, {"Retry-After": "soon"}, b""),
    ],
    ids=lambda canned: str(canned[0]),
)
def test_a_busy_server_is_asked_again(fake: FakeServer, client: Client, busy: Any) -> None:
    fake.plan.extend([busy, busy])
    run = Run(client)
    done = run.send(request("x"))

    assert (done.tally.created, done.tally.retries, done.tally.trouble, done.failure) == (1, 2, "", None)
    assert run.rejected == []


def test_retry_after_is_obeyed(fake: FakeServer, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.plan.append(error(429, "overloaded", retryable=True, retry_after="7"))
    run = Run(client, in_flight=1)
    waits: list[float] = []

    def wait(seconds: float | None = None) -> bool:
        waits.append(seconds or 0.0)
        return False

    monkeypatch.setattr(run.sender.stopping, "wait", wait)
    run.send(request("x"))

    assert waits == [7.0]


def test_waits_grow_and_differ() -> None:
    waits = [module._back_off(attempt) for attempt in (1, 4, 500)]

    assert 0.0005 <= waits[0] <= 0.001
    assert 0.004 <= waits[1] <= 0.008
    assert 0.005 <= waits[2] <= 0.01
    assert len({module._back_off(1) for _ in range(20)}) > 1


@pytest.mark.parametrize("answer", [error(429, "overloaded", retry_after="1000"), error(503, "unavailable")])
def test_it_gives_up_when_nothing_has_succeeded_for_too_long(fake: FakeServer, client: Client, answer: Any) -> None:
    fake.plan.extend([answer] * 1000)
    done = Run(client, patience=0.05).send(request("x"))

    assert isinstance(done.failure, GaveUp)
    assert done.failure.exit_code == exits.TEMPORARY
    assert "same command" in done.failure.remedy
    assert str(answer[0]) in done.failure.message


def test_a_server_that_went_away_is_waited_for_and_given_up() -> None:
    with Client(Connection("http://127.0.0.1:1", "k")) as nobody:
        done = Run(nobody, patience=0.05).send(request("x"))

    assert isinstance(done.failure, GaveUp)
    assert "does not answer" in done.failure.message
    assert done.tally.retries > 0


def test_a_connection_that_breaks_is_tried_again(
    client: Client, fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    post, faults = client.http.post, [httpx.ConnectError(""), httpx.ReadTimeout(""), httpx.RemoteProtocolError("")]

    def failing(*args: Any, **kwargs: Any) -> httpx.Response:
        if faults:
            raise faults.pop()
        return post(*args, **kwargs)

    monkeypatch.setattr(client.http, "post", failing)

    assert Run(client).send(request("x")).tally.created == 1
    assert fake.texts == ["x"]


@pytest.mark.parametrize(
    ("status", "code"), [(401, exits.REFUSED), (403, exits.REFUSED), (404, exits.FAILED), (415, exits.FAILED)]
)
def test_a_refusal_of_everything_ends_it(fake: FakeServer, client: Client, status: int, code: int) -> None:
    fake.plan.append(error(status, "unauthorized"))
    done = Run(client, in_flight=1).send(request("x"), request("y"), request("z"))

    assert isinstance(done.failure, ApiRefused)
    assert done.failure.exit_code == code
    assert fake.texts == []


@pytest.mark.parametrize("field", ["scope.namespaceId", "label", "lane"])
def test_a_fault_beside_the_episodes_ends_it(fake: FakeServer, client: Client, field: str) -> None:
    fake.plan.append(error(400, "invalid_request", field=field))
    done = Run(client, in_flight=1).send(request("x", "y"), request("z"))

    assert isinstance(done.failure, ApiRefused)
    assert fake.texts == []


def test_a_request_that_is_too_large_is_halved_in_order(fake: FakeServer, client: Client) -> None:
    fake.most_episodes = 2
    done = Run(client).send(request(*range(7)))

    assert fake.texts == list(range(7))
    assert (done.tally.created, done.failure) == (7, None)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_the_episode_at_fault_is_found(
    fake: FakeServer, client: Client, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    ingest = fake.ingest
    refusal = error(status, "too_large", field="body")
    monkeypatch.setattr(fake, "ingest", lambda raw: refusal if b"poison" in raw else ingest(raw))
    run = Run(client)
    done = run.send(request("a", "b", "poison", "c", "d"))

    assert fake.texts == ["a", "b", "c", "d"]
    assert run.rejected == [(3, "too_large", "it is too_large")]
    assert (done.tally.created, dict(done.tally.rejected), done.failure) == (4, {"too_large": 1}, None)


def test_what_makes_the_server_fail_while_others_go_through_is_found(
    fake: FakeServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest, failed = fake.ingest, threading.Event()

    def failing(raw: bytes) -> Any:
        if b"poison" in raw:
            failed.set()
            return error(500, "internal", retryable=True)
        failed.wait(30)  # something has to succeed after the first fault
        return ingest(raw)

    monkeypatch.setattr(fake, "ingest", failing)
    run = Run(client)
    run.send(request("a", "poison", "b", "c"), *[request(n) for n in range(5)])

    assert run.rejected == [(2, "internal", "it is internal")]
    assert run.sender.tally.created == 8


def test_rejected_episodes_are_named_and_their_neighbours_are_stored(fake: FakeServer, client: Client) -> None:
    run = Run(client)
    done = run.send(request("a", "refuse me", "b"))

    assert run.rejected == [(2, "invalid_content", "it cannot be stored")]
    assert (done.tally.created, done.tally.answered, done.failure) == (2, 3, None)


def test_what_is_there_is_counted_apart(fake: FakeServer, client: Client) -> None:
    Run(client).send(request("a"))
    warned = {"results": [{"status": "deduplicated", "warnings": [{"code": "tombstoned"}]}], "jobId": "j"}
    fake.plan.append((200, {}, warned))
    done = Run(client, in_flight=1).send(request("gone"), request("a", "b"))

    assert (done.tally.created, done.tally.deduplicated, done.tally.tombstoned) == (1, 2, 1)


@pytest.mark.parametrize("body", [b"<html>", {}, {"results": []}, {"results": [{}]}, [1], {"results": 5}])
def test_an_answer_that_is_not_ours_ends_it(fake: FakeServer, client: Client, body: Any) -> None:
    fake.plan.append((200, {}, body))
    done = Run(client, in_flight=1).send(request("x"), request("y"))

    assert isinstance(done.failure, CommandFailed)
    assert done.failure.exit_code == exits.FAILED
    assert fake.texts == []


def test_stopping_finishes_what_is_in_flight_and_sends_nothing_more(fake: FakeServer, client: Client) -> None:
    fake.gate.clear()
    run = Run(client, in_flight=1)
    run.sender.put(request("in flight"))
    assert fake.arrived.acquire(timeout=30)
    run.sender.put(request("waits"))
    run.sender.stopping.set()
    fake.gate.set()
    done = run.end()

    assert fake.texts == ["in flight"]
    assert (done.tally.created, done.failure) == (1, None)
    assert run.sender.put(request("late"))


def test_stopping_ends_a_wait(fake: FakeServer, client: Client) -> None:
    fake.plan.extend([error(429, "overloaded", retry_after="500")] * 9)
    run = Run(client, in_flight=1)
    run.sender.put(request("x"))
    assert fake.arrived.acquire(timeout=30)
    run.sender.stopping.set()

    assert run.end().failure is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_does_not_look_like_success(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Request) -> None:
        raise ZeroDivisionError

    run = Run(client, in_flight=1)
    monkeypatch.setattr(run.sender, "_deliver", broken)
    done = run.send(request("x"))

    assert isinstance(done.failure, CommandFailed)
    assert "lost" in done.failure.message
