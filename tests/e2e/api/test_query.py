"""query: ranked refs of one scope."""

from __future__ import annotations

import math

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client
from tests.e2e.api.requests import ingest_indexed, note, refusal, send


def episodes_of(hits: list[Wire]) -> list[str]:
    """Ids of the episodes that hits are or come from."""
    return [ref["id"] for hit in hits for ref in (hit["ref"], *hit.get("sources", [])) if ref["type"] == "episode"]


def test_the_best_comes_first_and_nothing_carries_content(client: Client) -> None:
    gate, *_ = ingest_indexed(
        client,
        note("The orchard gate code is on the blue tag."),
        note("Rosa moved to Turin in the spring."),
        note("The boiler moved to the cellar."),
    )
    hits = client.query("Where is the code for the gate?", 10)

    assert episodes_of(hits[:1]) == [gate["id"]]
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(math.isfinite(score) for score in scores)
    assert all(hit.keys() <= {"ref", "score", "reason", "sources", "warnings"} for hit in hits)
    assert all(hit["reason"] for hit in hits)


def test_the_limit_is_kept(client: Client) -> None:
    ingest_indexed(client, *[note(f"Lantern number {number} hangs in the barn.") for number in range(12)])

    assert len(client.query("lantern", 1)) == 1
    assert len(client.query("lantern", 10)) == 10
    assert len({hit["ref"]["id"] for hit in client.query("lantern", 1000)}) == len(client.query("lantern", 1000)) >= 12
    assert len(client.post("/v0/query", {"query": "lantern"})["refs"]) == 10


@pytest.mark.parametrize("limit", [0, -1, 1001, 1.5, True, "5", None])
def test_other_limits_are_refused(client: Client, http: httpx.Client, limit: object) -> None:
    fault = refusal(
        send(http, "/v0/query", {"scope": client.scope, "query": "x", "limit": limit}), 400, "invalid_request"
    )

    assert fault["details"]["field"] == "limit"


@pytest.mark.parametrize("query", ["", "  \n", "x" * 8193, "a\x00b", "\ud800", 5, None])
def test_queries_that_are_refused(client: Client, http: httpx.Client, query: object) -> None:
    fault = refusal(send(http, "/v0/query", {"scope": client.scope, "query": query}), 400, "invalid_request")

    assert fault["details"]["field"] == "query"


@pytest.mark.parametrize("query", ["the and of", "x" * 8192, "<|endoftext|>", "👨‍👩‍👧", "a' OR 1=1 --", "%_\\"])
def test_odd_queries_are_answered(client: Client, query: str) -> None:
    ingest_indexed(client, note())

    assert isinstance(client.query(query, 5), list)


def test_a_namespace_that_does_not_exist_is_empty(client: Client) -> None:
    assert client.query("anything", 10) == []


def test_a_scope_narrows_only_where_it_says_so(client: Client, http: httpx.Client) -> None:
    def ingest(**parts: str) -> str:
        body = {"scope": {**client.scope, **parts}, "episodes": [note()], "consistency": "indexed"}
        episode: str = send(http, "/v0/ingest", body).json()["results"][0]["ref"]["id"]
        return episode

    def query(**parts: str) -> set[str]:
        body = {"scope": {**client.scope, **parts}, "query": "gate code", "limit": 50}
        return set(episodes_of(send(http, "/v0/query", body).json()["refs"]))

    everyone, ann, bob = ingest(), ingest(agentId="ann"), ingest(agentId="bob", sessionId="s")

    assert query() == {everyone, ann, bob}
    assert query(agentId="ann") == {ann}
    assert query(agentId="bob", sessionId="s") == {bob}
    assert query(sessionId="t") == set()


def test_strong_sees_what_was_accepted_before(client: Client) -> None:
    (result,) = client.ingest([note("The beacon on the hill is lit at dusk.")])["results"]
    reply = client.post("/v0/query", {"query": "beacon at dusk", "consistency": "strong"})

    assert result["ref"]["id"] in episodes_of(reply["refs"])


def test_filters_and_cursors_are_refused_and_not_ignored(client: Client, http: httpx.Client) -> None:
    def refused(code: str, **fields: object) -> None:
        refusal(send(http, "/v0/query", {"scope": client.scope, "query": "x", **fields}), 400, code)

    refused("invalid_request", filters={"types": []})
    refused("invalid_request", filters={"tenantId": "t-red"})
    refused("invalid_request", filters="x")
    refused("invalid_cursor", cursor="zzz")
    refused("invalid_request", consistency="linearizable")
