"""subscribe and the stream of events, with real processes behind them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import uuid4

import httpx
import psutil
import pytest

from infinicon.api import limits
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.event_reader import Reader, connect, reset
from tests.e2e.api.requests import api_process, ingest_indexed, logs_of, note, refusal, send
from tests.e2e.cli.commands import answer
from tests.waiting import wait_until

CANARY = "The heron of canary-9041 flew over the weir."


def subscribe(client: Client, **more: object) -> Wire:
    return client.post("/v0/subscribe", more)


def pages(client: Client, cursor: str | None = None, limit: int = 100, **more: object) -> list[Wire]:
    """All that is there after the cursor."""
    found: list[Wire] = []
    while True:
        page = subscribe(client, limit=limit, **({"cursor": cursor} if cursor else {}), **more)
        found += page["events"]
        cursor = page["nextCursor"]
        if not page["hasMore"]:
            return found


def kinds(events: list[Wire]) -> list[tuple[str, str]]:
    return [(event["type"], event["ref"]["id"]) for event in events]


def new_key(client: Client, *permissions: str, **more: object) -> Any:
    body = {"tenantId": client.scope["tenantId"], "permissions": list(permissions), **more}
    return client.api.post("/v0/keys", body)


@pytest.fixture
def readers() -> Iterator[list[Reader]]:
    """Closed at the end of the test."""
    opened: list[Reader] = []
    yield opened
    for reader in opened:
        reader.close()


def test_an_episode_s_way_is_told_without_its_words(client: Client, http: httpx.Client) -> None:
    job = client.ingest([note(CANARY, dedupeKey="canary-key")], consistency="indexed")["jobId"]

    reply = send(http, "/v0/subscribe", {"scope": client.scope, "consistency": "strong"})

    events = reply.json()["events"]
    assert [event["type"] for event in events][:2] == ["episode.ingested", "atom.extracted"]
    assert {event["type"] for event in events[2:]} == {"memory.indexed"}
    assert len(set(kinds(events))) == len(events)
    assert {event["jobId"] for event in events} == {job}
    assert all(event["scope"] == event["ref"]["scope"] == client.scope for event in events)
    assert [event["occurredAt"] for event in events] == sorted(event["occurredAt"] for event in events)
    assert "canary" not in reply.text
    again = http.get("/v0/events", params=client.scope, headers={"Accept": "application/json"})
    assert again.json() == reply.json()
    assert again.headers["content-type"] == "application/json"


def test_pages_are_disjoint_and_complete_and_types_choose(client: Client) -> None:
    ingest_indexed(client, *[note(f"Fact number {number} stands alone.") for number in range(10)])
    everything = pages(client)

    assert pages(client, limit=3) == everything
    assert len({event["cursor"] for event in everything}) == len(everything)
    indexed = [event for event in everything if event["type"] == "memory.indexed"]
    assert pages(client, limit=2, eventTypes=["memory.indexed"]) == indexed
    page = subscribe(client, eventTypes=["memory.disputed"])
    assert page["events"] == []
    assert subscribe(client, cursor=page["nextCursor"])["events"] == []  # it has moved past all of them


def test_twice_the_same_episode_is_one_event(client: Client) -> None:
    with ThreadPoolExecutor(20) as pool:
        replies = list(pool.map(lambda _: client.ingest([note(dedupeKey="one")]), range(20)))
    assert [reply["results"][0]["status"] for reply in replies].count("created") == 1

    assert len(pages(client, eventTypes=["episode.ingested"])) == 1


def test_a_cursor_that_is_none_is_never_an_empty_answer(client: Client, http: httpx.Client) -> None:
    client.ingest([note()])
    real = subscribe(client)["nextCursor"]
    middle = len(real) // 2
    broken = [
        "zzz",
        "",
        real[:-1],
        real[:middle] + ("A" if real[middle] != "A" else "B") + real[middle + 1 :],
        "é",
        "x" * 5000,
    ]
    for cursor in broken:
        refusal(send(http, "/v0/subscribe", {"scope": client.scope, "cursor": cursor}), 400, "invalid_cursor")
        for accept in ("application/json", "text/event-stream"):
            reply = http.get("/v0/events", params={**client.scope, "cursor": cursor}, headers={"Accept": accept})
            refusal(reply, 400, "invalid_cursor")
    for more in ({"namespaceId": f"test-{uuid4()}"}, {"agentId": "a"}):
        body = {"scope": {**client.scope, **more}, "cursor": real}
        refusal(send(http, "/v0/subscribe", body), 400, "scope_mismatch")
    reply = http.get("/v0/events", params=client.scope, headers={"Last-Event-ID": "zzz"})
    refusal(reply, 400, "invalid_cursor")


def test_who_may_not_is_refused(client: Client, live: Instance) -> None:
    keys = [
        new_key(client, "query", "jobs")["apiKey"],
        new_key(client, "subscribe", namespaces=["elsewhere"])["apiKey"],
    ]
    for key in keys:
        with httpx.Client(base_url=live.url, headers={"Authorization": f"Bearer {key}"}) as other:
            refusal(send(other, "/v0/subscribe", {"scope": client.scope}), 403, "unauthorized")
            refusal(other.get("/v0/events", params=client.scope), 403, "unauthorized")


def test_another_tenant_sees_nothing_and_uses_no_cursor(client: Client, live: Instance) -> None:
    client.ingest([note()])
    cursor = subscribe(client)["nextCursor"]
    tenant = f"tenant-{uuid4()}"
    key = answer(live, "keys", "create", "--tenant", tenant)["apiKey"]
    own = {**client.scope, "tenantId": tenant}
    with httpx.Client(base_url=live.url, headers={"Authorization": f"Bearer {key}"}) as other:
        refusal(send(other, "/v0/subscribe", {"scope": client.scope}), 403, "unauthorized")
        assert send(other, "/v0/subscribe", {"scope": own}).json()["events"] == []
        refusal(send(other, "/v0/subscribe", {"scope": own, "cursor": cursor}), 400, "scope_mismatch")


def test_an_agent_s_stream_has_its_own_events_only(client: Client, live: Instance, readers: list[Reader]) -> None:
    mine, theirs = {**client.scope, "agentId": "mine"}, {**client.scope, "agentId": "theirs"}
    readers += [Reader(live, mine), Reader(live, client.scope)]
    for number, scope in enumerate((theirs, mine, theirs)):
        client.post("/v0/ingest", {"scope": scope, "consistency": "indexed", "episodes": [note(f"Note {number}.")]})

    everything = pages(client)
    own = [event for event in everything if event["scope"].get("agentId") == "mine"]
    assert 0 < len(own) < len(everything)
    assert kinds(readers[1].wait_for(len(everything))) == kinds(everything)
    assert kinds(readers[0].wait_for(len(own))) == kinds(own)
    assert {event["scope"]["agentId"] for event in readers[0].events} == {"mine"}


def test_a_stream_shows_what_is_there_and_what_comes_and_resumes(
    client: Client, live: Instance, readers: list[Reader]
) -> None:
    first = Reader(live, client.scope)  # before the namespace is
    readers.append(first)
    assert first.answer.headers["content-type"] == "text/event-stream"
    assert first.answer.headers["cache-control"] == "no-cache"
    assert first.answer.headers["x-accel-buffering"] == "no"
    ingest_indexed(client, note("The kettle is blue."))
    there = pages(client)
    assert first.wait_for(len(there)) == there
    first.close()
    ingest_indexed(client, note("The pump stands by the west gate."))

    second = Reader(live, client.scope, last=first.last, cursor="of long ago")
    third = Reader(live, client.scope, cursor=there[0]["cursor"], eventTypes="memory.indexed")
    readers += [second, third]

    everything = pages(client)
    assert there + second.wait_for(len(everything) - len(there)) == everything
    indexed = [event for event in everything if event["type"] == "memory.indexed"]
    assert third.wait_for(len(indexed)) == indexed
    assert [frame.event for frame in second.frames if frame.data] == [event["type"] for event in second.events]
    assert [frame.id for frame in second.frames if frame.data] == [event["cursor"] for event in second.events]


def test_who_goes_before_the_first_byte_holds_no_place(client: Client, live: Instance, readers: list[Reader]) -> None:
    for _ in range(300):  # more than a key may have
        reset(connect(live, client.scope))

    readers.append(Reader(live, client.scope))

    assert readers[0].answer.status_code == 200
    client.ingest([note()])
    readers[0].wait_for(1)


def test_sixty_killed_streams_leave_nothing(client: Client, live: Instance, readers: list[Reader]) -> None:
    ingest_indexed(client, note())
    api = api_process(live)
    before = api.num_fds()
    opened = [connect(live, client.scope) for _ in range(60)]
    for connection in opened:
        assert connection.recv(64).startswith(b"HTTP/1.1 200")
    assert api.num_fds() >= before + 60
    assert len(client.query("gate code", 1)) == 1  # beside sixty open streams
    for connection in opened:
        reset(connection)

    wait_until(lambda: api.num_fds() <= before + 5, "their connections are closed", within=10)
    assert len(client.query("gate code", 1)) == 1


def test_one_stream_too_many_of_a_key_is_told_to_come_back(client: Client, live: Instance) -> None:
    key = new_key(client, "subscribe")["apiKey"]
    headers = {"Authorization": f"Bearer {key}"}
    opened = [connect(live, client.scope, key) for _ in range(limits.STREAMS_PER_KEY)]
    for connection in opened:
        assert connection.recv(64).startswith(b"HTTP/1.1 200")

    over = httpx.get(live.url + "/v0/events", params=client.scope, headers=headers, timeout=30)
    page = httpx.get(live.url + "/v0/events", params=client.scope, headers={**headers, "Accept": "application/json"})
    for connection in opened:
        connection.close()

    refusal(over, 429, "overloaded")
    assert over.headers["retry-after"] == "1"
    assert page.status_code == 200


def test_a_revoked_key_reads_no_further(client: Client, live: Instance, readers: list[Reader]) -> None:
    made = new_key(client, "subscribe")
    reader = Reader(live, client.scope, key=made["apiKey"])
    readers.append(reader)
    reader.wait_for_cursor()
    client.api.post(f"/v0/keys/{made['key']['keyId']}/revoke", {"tenantId": client.scope["tenantId"]})

    client.ingest([note()])

    reader.wait_for_end()
    assert (reader.frames[-1].event, reader.events[-1]["code"]) == ("error", "unauthorized")
    assert len(reader.events) == 1


def test_a_restart_says_goodbye_and_loses_nothing(client: Client, live: Instance, readers: list[Reader]) -> None:
    """Twenty streams are open when the API is told to stop; they come back with their cursors."""
    ingest_indexed(client, note("Before the restart."))
    before = pages(client)
    readers += [Reader(live, client.scope) for _ in range(20)]
    for reader in readers:
        reader.wait_for(len(before))
    api = api_process(live)

    api.send_signal(signal.SIGTERM)

    with suppress(psutil.NoSuchProcess):
        api.wait(10)
    for reader in readers:
        reader.wait_for_end()
        assert reader.raw.endswith(b": the server is stopping; come back with your cursor\n\n")
    assert "without completing" not in logs_of(live)
    wait_until(lambda: ready(live), "the API is back")
    ingest_indexed(client, note("After the restart."))
    everything = pages(client)
    back = [Reader(live, client.scope, last=reader.last) for reader in readers]
    readers += back
    for reader in back:
        assert before + reader.wait_for(len(everything) - len(before)) == everything


def ready(live: Instance) -> bool:
    try:
        return httpx.get(live.url + "/readyz").status_code == 200
    except httpx.HTTPError:
        return False
