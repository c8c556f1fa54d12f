"""ingest: durable when answered, one result for each episode, and one episode's fault is that episode's alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client
from tests.e2e.api.requests import JSON, NIL, content_of, ingest_indexed, note, refusal, send

FAULTY: dict[str, tuple[object, str]] = {
    "NUL in the content": (note("ledger\x00page"), "invalid_content"),
    "a lone surrogate": (note("tail \ud83d end"), "invalid_content"),
    "NUL in a name of the content": (note({"\x00": 1}, contentType="application/json"), "invalid_content"),
    "NUL in the metadata": (note(metadata={"a": ["\x00"]}), "invalid_content"),
    "a number as text": (note(5), "invalid_content"),
    "5 MB": (note("x" * 5_000_000), "too_large"),
    "one byte too many": (note("x" * (1024 * 1024 + 1)), "too_large"),
    "an unknown contentType": (note(contentType="application/x-nobody-reads-this"), "unsupported_media_type"),
    "a malformed contentType": (note(contentType="text"), "invalid_request"),
    "no contentType": ({"content": "x"}, "invalid_request"),
    "no content": ({"contentType": "text/plain"}, "invalid_request"),
    "an empty dedupeKey": (note(dedupeKey=""), "invalid_request"),
    "a dedupeKey of 12,000 characters": (note(dedupeKey="a" * 12_000), "invalid_request"),
    "metadata that is no object": (note(metadata=[1]), "invalid_request"),
    "17 KiB of metadata": (note(metadata={"a": "x" * 17_000}), "invalid_request"),
    "an actor of no kind": (note(createdBy={"id": "ann", "kind": "robot"}), "invalid_request"),
    "a naive time": (note(occurredAt="2026-11-30T10:00:00"), "invalid_request"),
    "a time before the year 1 in UTC": (note(occurredAt="0001-01-01T00:00:00+09:00"), "invalid_request"),
    "tags that are no array": (note(tags="blue"), "invalid_request"),
    "null": (None, "invalid_request"),
    "a number": (7, "invalid_request"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_episode_is_rejected_beside_accepted_neighbours(client: Client, http: httpx.Client, name: str) -> None:
    episode, code = FAULTY[name]

    reply = send(http, "/v0/ingest", {"scope": client.scope, "episodes": [note("before"), episode, note("after")]})
    results: list[Wire] = reply.json()["results"]

    assert [result["status"] for result in results] == ["created", "rejected", "created"]
    assert results[1]["error"]["code"] == code
    assert results[1]["ref"]["id"] == NIL
    assert [content_of(client, results[index]["ref"]) for index in (0, 2)] == ["before", "after"]


@pytest.mark.parametrize(
    "content", [None, 0, 1.5, [], ["a", None, {"b": []}], {"text": "👨‍👩‍👧"}, "a string", 2**70, True], ids=repr
)
def test_json_content_comes_back_as_it_went_in(client: Client, content: Any) -> None:
    (result,) = client.ingest([note(content, contentType="application/json")])["results"]

    assert result["status"] == "created"
    assert content_of(client, result["ref"]) == content


@pytest.mark.parametrize(
    "text", ["👨‍👩‍👧 🇯🇵 e\u0301 é", "\\u0000 \\ud83d", " leading and trailing ", "x" * 1024 * 1024, "<|endoftext|>"]
)
def test_text_comes_back_byte_for_byte(client: Client, text: str) -> None:
    (result,) = client.ingest([note(text)])["results"]

    assert result["status"] == "created"
    assert content_of(client, result["ref"]) == text


def test_every_field_comes_back(client: Client) -> None:
    sent = note(
        createdBy={"id": "ann", "kind": "user"},
        dedupeKey="note-1",
        metadata={"mood": None, "n": [1, 2]},
        tags=["blue", "garden"],
        occurredAt="2026-11-30T10:00:00.5+09:00",
        expiresAt="9999-12-31T23:59:59Z",
        colour="unknown fields are tolerated",
    )
    (result,) = client.ingest([sent])["results"]
    stored = client.hydrate([result["ref"]])[result["ref"]["id"]]

    assert {
        name: stored[name] for name in ("contentType", "content", "createdBy", "dedupeKey", "metadata", "tags")
    } == {name: sent[name] for name in ("contentType", "content", "createdBy", "dedupeKey", "metadata", "tags")}
    assert stored["occurredAt"] == "2026-11-30T01:00:00.500000Z"
    assert stored["expiresAt"] == "9999-12-31T23:59:59Z"
    assert stored["createdAt"].endswith("Z")


def test_an_episode_without_an_author_is_its_keys(client: Client) -> None:
    (result,) = client.ingest([note()])["results"]

    assert client.hydrate([result["ref"]])[result["ref"]["id"]]["createdBy"]["kind"] == "system"


@pytest.mark.parametrize("count", [0, 1001])
def test_the_count_is_limited(client: Client, http: httpx.Client, count: int) -> None:
    fault = refusal(
        send(http, "/v0/ingest", {"scope": client.scope, "episodes": [note()] * count}), 400, "invalid_request"
    )

    assert fault["details"]["field"] == "episodes"


@pytest.mark.parametrize(
    ("field", "value"), [("consistency", "strong"), ("lane", "fast"), ("label", ""), ("label", "x" * 257)]
)
def test_a_fault_beside_the_episodes_stores_nothing(client: Client, http: httpx.Client, field: str, value: str) -> None:
    body = {"scope": client.scope, "episodes": [note(dedupeKey="once")], field: value}

    assert refusal(send(http, "/v0/ingest", body), 400, "invalid_request")["details"]["field"] == field
    assert client.ingest([note(dedupeKey="once")])["results"][0]["status"] == "created"


def test_the_same_key_and_content_is_the_same_episode(client: Client) -> None:
    twice = client.ingest([note(dedupeKey="k"), note(dedupeKey="k")])["results"]
    again = client.ingest([note(dedupeKey="k")])["results"]

    assert [result["status"] for result in twice + again] == ["created", "deduplicated", "deduplicated"]
    assert len({result["ref"]["id"] for result in twice + again}) == 1


def test_the_same_key_with_other_content_is_a_conflict(client: Client) -> None:
    (first,) = client.ingest([note("A", dedupeKey="inv-7")])["results"]
    second, neighbour = client.ingest([note("B", dedupeKey="inv-7"), note("C", dedupeKey="inv-8")])["results"]

    assert (second["status"], second["error"]["code"]) == ("rejected", "dedupe_conflict")
    assert not second["error"]["retryable"]
    assert second["ref"] == first["ref"]
    assert neighbour["status"] == "created"
    assert content_of(client, first["ref"]) == "A"


def test_a_key_belongs_to_the_whole_scope(client: Client, http: httpx.Client) -> None:
    scopes: list[Wire] = [
        client.scope,
        {**client.scope, "namespaceId": f"test-{uuid4()}"},
        {**client.scope, "agentId": "a"},
        {**client.scope, "agentId": "b"},
        {**client.scope, "agentId": "a", "sessionId": "s"},
    ]
    replies = [send(http, "/v0/ingest", {"scope": scope, "episodes": [note(dedupeKey="k")]}).json() for scope in scopes]

    assert [reply["results"][0]["status"] for reply in replies] == ["created"] * 5


def test_keys_are_compared_byte_for_byte(client: Client) -> None:
    results = client.ingest([note(dedupeKey="caf\u00e9"), note(dedupeKey="cafe\u0301"), note(dedupeKey="caf\u00e9")])[
        "results"
    ]

    assert [result["status"] for result in results] == ["created", "created", "deduplicated"]


def test_a_hundred_at_once_make_one_episode(client: Client) -> None:
    with ThreadPoolExecutor(100) as pool:
        replies = list(pool.map(lambda _: client.ingest([note(dedupeKey="race")]), range(100)))

    results = [reply["results"][0] for reply in replies]
    assert sorted(result["status"] for result in results) == ["created"] + ["deduplicated"] * 99
    assert len({result["ref"]["id"] for result in results}) == 1


def test_indexed_means_that_the_next_query_sees_it(client: Client) -> None:
    marker = f"zanzibar{uuid4().hex[:8]}"
    (ref,) = ingest_indexed(client, note(f"The {marker} crate holds nineteen lanterns.", dedupeKey="k"))

    (hit, *_) = client.query(marker, 5)

    assert ref in [hit["ref"], *hit.get("sources", [])]
    again = client.ingest([note(f"The {marker} crate holds nineteen lanterns.", dedupeKey="k")], consistency="indexed")
    assert again["results"][0]["status"] == "deduplicated"


def test_indexed_with_nothing_accepted_answers_at_once(client: Client) -> None:
    reply = client.ingest([note(5)], consistency="indexed")

    assert reply["results"][0]["status"] == "rejected"


def test_an_idempotency_key_replays_the_whole_reply(client: Client, http: httpx.Client) -> None:
    body = {"scope": client.scope, "episodes": [note("first"), note(5)]}
    headers = {**JSON, "Idempotency-Key": str(uuid4())}
    first, second = (send(http, "/v0/ingest", body, headers) for _ in range(2))

    assert first.json() == second.json()
    assert first.json()["results"][0]["status"] == "created"
    refusal(send(http, "/v0/ingest", {**body, "episodes": [note()]}, headers), 422, "idempotency_conflict")
    refusal(send(http, "/v0/ingest", body, {**JSON, "Idempotency-Key": "a b"}), 400, "invalid_request")
