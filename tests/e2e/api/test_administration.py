"""Namespaces, counts and export through the front door."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import ingest_indexed, note, refusal, send


def parameters(client: Client, **more: str | int) -> dict[str, str | int]:
    return {**client.scope, **more}


def test_what_is_exported_can_be_ingested_again(client: Client, live: Instance, http: httpx.Client) -> None:
    sent = [
        note("Rosa moved to Turin.", dedupeKey="a", tags=["t"], createdBy={"id": "rosa", "kind": "user"}),
        note("Her bicycle stayed.", dedupeKey="b", metadata={"n": 1}, occurredAt="2026-01-02T03:04:05Z"),
        {"contentType": "application/json", "content": {"plan": None}, "dedupeKey": "c"},
    ]
    ingest_indexed(client, *sent)
    found: list[Wire] = []
    cursor: dict[str, str] = {}
    while True:
        page = http.get("/v0/episodes", params=parameters(client, limit=2, **cursor)).json()
        found += page["episodes"]
        if "cursor" not in page:
            break
        cursor = {"cursor": page["cursor"]}

    assert [item["dedupeKey"] for item in found] == ["a", "b", "c"]
    for was, item in zip(sent, found, strict=True):
        assert {name: item[name] for name in was} == was
    again = client.ingest(found)
    assert [result["status"] for result in again["results"]] == ["deduplicated"] * 3
    with Client(live, f"copy-{uuid4()}") as copy:
        assert [result["status"] for result in copy.ingest(found)["results"]] == ["created"] * 3


def test_counts(client: Client, http: httpx.Client) -> None:
    ingest_indexed(client, note("Rosa moved to Turin. Her bicycle stayed in Lyon."))

    stats = http.get("/v0/stats", params=parameters(client)).json()
    assert stats["memories"] == {"atom": {"active": 2}, "episode": {"active": 1}}
    assert (stats["pipeline"], stats["jobs"]) == ({}, {"completed": 1})
    assert stats["index"]["rows"] >= 2
    names = [
        item["namespaceId"]
        for item in http.get("/v0/namespaces", params={"tenantId": client.scope["tenantId"], "limit": 1000}).json()[
            "namespaces"
        ]
    ]
    assert client.scope["namespaceId"] in names


@pytest.mark.parametrize("path", ["/v0/episodes", "/v0/namespaces", "/v0/stats"])
def test_who_asks_wrongly_is_told_how(client: Client, http: httpx.Client, path: str) -> None:
    refusal(http.get(path), 400, "invalid_request")
    refusal(http.get(path, params={**client.scope, "tenantId": "somebody else"}), 403, "unauthorized")
    refusal(http.get(path, params=parameters(client), headers={"Authorization": "Bearer inf_no"}), 401, "unauthorized")
    refusal(send(http, path, {"scope": client.scope}), 405, "method_not_allowed")
    if path != "/v0/stats":
        refusal(http.get(path, params=parameters(client, limit=0)), 400, "invalid_request")
        refusal(http.get(path, params=parameters(client, cursor="zzz")), 400, "invalid_cursor")
