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


@pytest.mark.parametrize("limit", [0, -1, 1001, 1.5, True, "5"])
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


def test_filters_narrow(client: Client) -> None:
    blue, red, plain = ingest_indexed(
        client,
        note("The lantern on the left is lit.", tags=["blue"], metadata={"floor": 1, "who": {"name": "Anna"}}),
        note("The lantern on the right is lit.", tags=["red", "blue"], metadata={"floor": 2}),
        note("The lantern in the middle is lit."),
    )

    def found(**filters: object) -> set[str]:
        reply = client.post("/v0/query", {"query": "which lantern is lit", "limit": 50, "filters": filters})
        assert all(hit.keys() <= {"ref", "score", "reason", "sources"} for hit in reply["refs"])
        return set(episodes_of(reply["refs"]))

    everything = {blue["id"], red["id"], plain["id"]}
    assert found() == found(types=["atom", "episode"]) == found(types=["episode"]) == everything
    assert found(includeDisputed=True, includeSuperseded=True, includeTombstoned=True) == everything
    assert found(tags=["blue"]) == {blue["id"], red["id"]}
    assert found(tags=["blue", "red"]) == {red["id"]}
    assert found(metadata={"floor": 1}) == found(metadata={"who": {"name": "Anna"}}) == {blue["id"]}
    assert found(createdAfter="2020-01-01T00:00:00Z", createdBefore="9999-01-01T00:00:00Z") == everything
    assert found(createdAfter="9998-12-31T23:59:59Z") == set()
    for nothing in (
        {"types": ["consolidation"]},
        {"types": ["link"]},
        {"statuses": ["disputed", "superseded"]},
        {"statuses": ["tombstoned", "pending", "failed"], "includeTombstoned": True},
        {"tags": ["blu"]},
        {"metadata": {"floor": "1"}},
        {"createdBefore": "2020-01-01T00:00:00Z"},
    ):
        assert found(**nothing) == set()


def test_a_newer_version_takes_the_place_of_the_old_one(client: Client) -> None:
    (old,) = ingest_indexed(client, note("The beacon is lit at dusk."))
    (new,) = ingest_indexed(client, note("The beacon is lit at noon.", supersedes=[old]))

    def asked(**filters: object) -> Wire:
        return client.post("/v0/query", {"query": "when is the beacon lit", "filters": filters})

    assert set(episodes_of(asked()["refs"])) == {new["id"]}
    reply = asked(includeSuperseded=True)
    assert set(episodes_of(reply["refs"])) == {old["id"], new["id"]}
    (warned,) = [hit for hit in reply["refs"] if "warnings" in hit]
    assert [warning["code"] for warning in warned["warnings"]] == ["superseded_memory_included"]
    assert [(warning["code"], warning["refs"]) for warning in reply["warnings"]] == [
        ("superseded_memory_included", [warned["ref"]])
    ]
    assert {hit["ref"]["id"] for hit in asked(statuses=["superseded"])["refs"]} == {warned["ref"]["id"]}


def test_pages_neither_repeat_nor_skip(client: Client) -> None:
    ingest_indexed(client, *[note(f"Lantern number {number} hangs in the barn.") for number in range(23)])
    whole = client.post("/v0/query", {"query": "lantern in the barn", "limit": 100})
    assert "cursor" not in whole
    body: Wire = {"query": "lantern in the barn", "limit": 5}
    pages = [client.post("/v0/query", body)]
    ingest_indexed(client, note("A lantern in the barn came in between."))
    while "cursor" in pages[-1]:
        pages.append(client.post("/v0/query", {**body, "cursor": pages[-1]["cursor"]}))

    assert [len(page["refs"]) for page in pages] == [5, 5, 5, 5, 3]
    assert [hit["ref"] for page in pages for hit in page["refs"]] == [hit["ref"] for hit in whole["refs"]]
    assert all(hit["reason"] for page in pages for hit in page["refs"])
    assert client.post("/v0/query", {**body, "cursor": pages[1]["cursor"]}) == pages[2]


def test_a_cursor_belongs_to_its_scope_and_its_question(client: Client, http: httpx.Client) -> None:
    ingest_indexed(client, *[note(f"Lantern number {number} hangs in the barn.") for number in range(8)])
    body: Wire = {"scope": client.scope, "query": "lantern", "limit": 3, "filters": {"types": ["atom"]}}
    cursor = send(http, "/v0/query", body).json()["cursor"]
    following: Wire = {**body, "cursor": cursor}
    assert send(http, "/v0/query", following).status_code == 200

    def refused(code: str, **fields: object) -> None:
        refusal(send(http, "/v0/query", {**following, **fields}), 400, code)

    refused("invalid_cursor", query="lanterns")
    refused("invalid_cursor", filters={})
    refused("invalid_cursor", filters={"types": ["atom"], "includeDisputed": True})
    refused("invalid_cursor", cursor=cursor[:-2])
    refused("invalid_cursor", cursor="zzz")
    refused("invalid_cursor", cursor="")
    refused("invalid_request", cursor=5)
    refused("scope_mismatch", scope={**client.scope, "agentId": "ann"})
    refused("scope_mismatch", scope={**client.scope, "namespaceId": "another"})
    refused("scope_mismatch", scope={**client.scope, "filters": {}})
    events = http.get("/v0/events", params=client.scope, headers={"Accept": "application/json"}).json()["nextCursor"]
    refused("invalid_cursor", cursor=events)


def test_filters_that_are_refused_and_not_ignored(client: Client, http: httpx.Client) -> None:
    def refused(**filters: object) -> None:
        body = {"scope": client.scope, "query": "x", "filters": filters}
        refusal(send(http, "/v0/query", body), 400, "invalid_request")

    for name in ("types", "statuses", "tags"):
        refused(**{name: []})
    refused(tenantId="t-red")
    refused(scope={**client.scope, "tenantId": "t-red"})
    refused(**{"or": [{"tags": ["x"]}]})
    refused(createdAfter="2026-05-01")
    refused(types=["memory"])
    refusal(send(http, "/v0/query", {"scope": client.scope, "query": "x", "filters": "x"}), 400, "invalid_request")
    consistency = {"scope": client.scope, "query": "x", "consistency": "linearizable"}
    refusal(send(http, "/v0/query", consistency), 400, "invalid_request")
