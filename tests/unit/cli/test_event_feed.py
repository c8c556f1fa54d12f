from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from infinicon.cli import event_feed as subject
from infinicon.cli.client import Client, Wire
from infinicon.cli.connection import Connection
from infinicon.cli.event_feed import Frame, Wanted, chosen, follow, frames, read
from infinicon.cli.faults import ApiRefused, NoServer, WrongUsage

WANTED = Wanted("home", None, None, (), None, as_json=False)
Handler = Callable[[httpx.Request], httpx.Response]


def event(number: int, **more: object) -> Wire:
    return {
        "type": "memory.indexed",
        "scope": {"tenantId": "t", "namespaceId": "home"},
        "cursor": f"c{number}",
        "occurredAt": "2026-11-30T10:00:00.120000Z",
        "ref": {"id": f"id-{number}", "type": "atom", "scope": {}},
        **more,
    }


def frame(number: int) -> bytes:
    return f"id: c{number}\nevent: memory.indexed\ndata: {json.dumps(event(number))}\n\n".encode()


def client_of(handler: Handler) -> Client:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"tenantId": "t"}) if request.url.path == "/v0/key" else handler(request)

    client = Client(Connection("http://x", "inf_test"))
    client.http.close()
    client.http = httpx.Client(base_url="http://x", transport=httpx.MockTransport(answer))
    return client


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []
    monkeypatch.setattr("infinicon.cli.event_feed.time.sleep", waits.append)
    return waits


def test_frames_come_in_whatever_pieces() -> None:
    whole = b": hello\nretry: 2000\n\n" + frame(1) + b": still here\nid: c2\n\n" + frame(3)

    for size in (1, 2, 7, 1000):
        pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        found = list(frames(pieces))
        assert [(one.id, one.event, bool(one.data)) for one in found] == [
            (None, "", False),
            ("c1", "memory.indexed", True),
            ("c2", "", False),
            ("c3", "memory.indexed", True),
        ]
        assert json.loads(found[3].data) == event(3)


def test_only_a_line_feed_ends_a_line() -> None:
    text = "a\u2028b\u0085c"

    assert list(frames([f"data: {text}\r\n\r\n".encode()])) == [Frame("", text, None)]


def test_types_are_known_before_they_are_asked_for() -> None:
    assert chosen(["memory.indexed, atom.extracted", "episode.ingested"]) == [
        "memory.indexed",
        "atom.extracted",
        "episode.ingested",
    ]
    for wrong in (["indexed"], [""], ["memory.indexed,"]):
        with pytest.raises(WrongUsage):
            chosen(wrong)


def test_pages_are_read_to_the_end_of_the_feed(capsys: pytest.CaptureFixture[str]) -> None:
    bodies: list[Wire] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        page = len(bodies)
        reply = {"events": [event(page)] if page != 2 else [], "nextCursor": f"n{page}", "hasMore": page < 3}
        return httpx.Response(200, json=reply)

    wanted = Wanted("home", "a", "s", ["memory.indexed"], "begin", as_json=False)
    read(client_of(answer), wanted)

    assert [body["cursor"] for body in bodies] == ["begin", "n1", "n2"]
    assert bodies[0]["scope"] == {"tenantId": "t", "namespaceId": "home", "agentId": "a", "sessionId": "s"}
    assert bodies[0]["eventTypes"] == ["memory.indexed"]
    shown = capsys.readouterr()
    assert [line.split() for line in shown.out.splitlines()] == [
        ["2026-11-30T10:00:00.120000Z", "memory.indexed", "atom", f"id-{number}"] for number in (1, 3)
    ]
    assert "--from n3" in shown.err


def test_an_event_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    subject.show(event(1, jobId="j"), as_json=False)
    subject.show({**event(2), "ref": None}, as_json=False)
    subject.show(event(3), as_json=True)

    first, second, third = capsys.readouterr().out.splitlines()
    assert first == "2026-11-30T10:00:00.120000Z  memory.indexed           atom id-1  job j"
    assert second == "2026-11-30T10:00:00.120000Z  memory.indexed"
    assert json.loads(third) == event(3)


class Script:
    """A server that says one thing after another, and then that the key is not valid."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = [*answers, httpx.Response(401, json=fault("unauthorized", retryable=False))]
        self.asked: list[str | None] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.headers.get("last-event-id"))
        assert request.headers["accept"] == "text/event-stream"
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def fault(code: str, *, retryable: bool) -> Wire:
    return {"code": code, "message": "a fault", "retryable": retryable}


class Broken(httpx.SyncByteStream):
    """A stream that is cut off."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self.pieces
        raise httpx.ReadError("reset")


def followed(script: Script, wanted: Wanted = WANTED) -> Any:
    with pytest.raises(ApiRefused) as caught:
        follow(lambda: client_of(script), wanted)
    return caught.value


def test_it_goes_on_where_it_broke_off(capsys: pytest.CaptureFixture[str], no_wait: list[float]) -> None:
    script = Script(
        httpx.Response(200, stream=Broken(frame(1), frame(2), b"id: c3\nevent: memo")),
        httpx.ConnectError("refused"),
        httpx.Response(503, json=fault("unavailable", retryable=True)),
        httpx.Response(502, text="<html>"),
        httpx.Response(200, content=frame(3) + b": still here\nid: c9\n\n"),
    )

    assert followed(script).status == 401
    assert script.asked == [None, "c2", "c2", "c2", "c2", "c9"]
    assert [line.split()[3] for line in capsys.readouterr().out.splitlines()] == ["id-1", "id-2", "id-3"]
    assert no_wait == [0.5, 1.0, 2.0, 4.0, 0.5]


def test_an_address_that_moves_is_looked_up_again(no_wait: list[float]) -> None:
    """A restarted `up` may have another port; and while it is away there is no dev.json."""
    script = Script(httpx.Response(200, content=frame(1)))
    known: list[Client | Exception] = [client_of(script), NoServer("no running infinicon"), client_of(script)]

    def connect() -> Client:
        found = known.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    with pytest.raises(ApiRefused):
        follow(connect, WANTED)
    assert (known, script.asked) == ([], [None, "c1"])


@pytest.mark.parametrize(
    ("answer", "raised"),
    [
        (httpx.ConnectError("refused"), NoServer),
        (httpx.Response(503, json=fault("unavailable", retryable=True)), ApiRefused),
        (httpx.Response(400, json=fault("invalid_cursor", retryable=False)), ApiRefused),
    ],
    ids=str,
)
def test_who_is_not_there_at_first_is_not_waited_for(
    answer: httpx.Response | Exception, raised: type[Exception]
) -> None:
    script = Script(answer)

    with pytest.raises(raised):
        follow(lambda: client_of(script), WANTED)
    assert len(script.asked) == 1


def test_a_stream_that_the_server_ends_for_good_is_not_asked_again() -> None:
    last = b"event: error\ndata: " + json.dumps(fault("invalid_cursor", retryable=False)).encode() + b"\n\n"
    script = Script(httpx.Response(200, content=frame(1) + last))

    refused = followed(script)
    assert (refused.code, len(script.asked)) == ("invalid_cursor", 1)
