"""Entries at the front door: list, get, put, delete, and bindings."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import JSON, NIL, ingest_indexed, note, refusal, send
from tests.waiting import wait_until


def put(http: httpx.Client, ref: str, content: str, **fields: object) -> Wire:
    reply = send(http, "/v0/memory/put", {"memoryRef": ref, "content": content, **fields})
    assert reply.status_code == 200
    assert reply.json().keys() == {"entry"}
    entry: Wire = reply.json()["entry"]
    return entry


def asked(http: httpx.Client, ref: object, **fields: object) -> Wire:
    """The answer to POST."""
    reply = send(http, "/v0/memory/list", {"memoryRef": ref, **fields})
    assert reply.status_code == 200
    answer: Wire = reply.json()
    return answer


def listed(http: httpx.Client, ref: str, **fields: object) -> Wire:
    """The answer to POST, which is that to GET while nothing changes."""
    answer = asked(http, ref, **fields)
    same = http.get(
        "/v0/memory/list", params={"memoryRef": ref, **{name: str(value) for name, value in fields.items()}}
    )
    assert (same.status_code, same.json()) == (200, answer)
    return answer


def bind(http: httpx.Client, ref: str, scope: Wire) -> httpx.Response:
    body = json.dumps({"memoryRef": ref, "scope": scope})
    return http.put("/v0/memory/bindings", content=body, headers=JSON)


def other_tenant(live: Instance) -> httpx.Client:
    """Plain HTTP for a tenant of its own, made by the database's owner."""
    from infinicon.embedded.bootstrap import owner_url
    from infinicon.keyring import new_api_key
    from infinicon.operations.keys import provision

    key = new_api_key()
    provision(owner_url(live.data_dir), f"tenant-{uuid4()}", key)
    return httpx.Client(base_url=live.url, headers={"Authorization": f"Bearer {key}"}, timeout=120)


def test_what_is_put_is_listed_got_found_and_deleted(client: Client, http: httpx.Client) -> None:
    ref = str(client.scope["namespaceId"])
    entry = put(http, ref, "The heron flew at noon.", tags=["birds"], expiresAt="2999-01-01T00:00:00Z")
    later = put(http, ref, "The boiler is broken.")

    assert entry.keys() == {"id", "content", "tags", "createdAt", "expiresAt"}
    assert later.keys() == {"id", "content", "tags", "createdAt"}
    reply = listed(http, ref)
    assert reply.keys() == {"entries", "tokensUsed", "oversizedOmitted", "truncated", "tokenCounter"}
    assert reply["entries"] == [later, entry]
    assert (reply["tokenCounter"], reply["truncated"], reply["oversizedOmitted"]) == ("o200k_base", False, 0)
    assert listed(http, ref, tag="birds", tokenBudget=100, limit=1)["entries"] == [entry]
    where = f"/v0/memory/entries/{entry['id']}"
    assert http.get(where, params={"memoryRef": ref}).json() == {"entry": entry}

    wait_until(lambda: len(asked(http, ref, rank="relevance", query="heron")["entries"]) == 2, "both are indexed")
    assert listed(http, ref, rank="relevance", query="heron at noon", limit=1)["entries"] == [entry]
    (hit, *_) = client.query("heron at noon", 5)
    assert hit["ref"]["id"] == entry["id"]

    assert http.delete(where, params={"memoryRef": ref}).json() == {"status": "tombstoned"}
    assert http.delete(where, params={"memoryRef": ref}).json() == {"status": "already_tombstoned"}
    assert http.get(where, params={"memoryRef": ref}).json() == {"entry": None}
    assert listed(http, ref)["entries"] == [later]
    assert [one["ref"]["id"] for one in client.query("heron at noon", 5)] == [later["id"]]


def test_the_other_operations_see_the_same_memory(client: Client, http: httpx.Client) -> None:
    ref = str(client.scope["namespaceId"])
    ingest_indexed(client, note("Rosa moved to Turin. She kept the boat."))
    entry = put(http, ref, "The boat is called Heron.")

    found = [one["content"] for one in listed(http, ref)["entries"]]
    assert sorted(found) == ["Rosa moved to Turin.", "She kept the boat.", "The boat is called Heron."]
    scope = client.scope
    shown = client.hydrate([{"id": entry["id"], "type": "atom", "scope": scope}])[entry["id"]]
    assert (shown["content"], shown["status"]) == (entry["content"], "active")
    (source,) = shown["provenance"]["sourceRefs"]
    assert source["type"] == "episode"
    reply = client.post(
        "/v0/assemble-context", {"task": "the boat", "budget": {"maxTokens": 200}, "consistency": "strong"}
    )
    assert "The boat is called Heron." in [one["content"] for one in reply["context"]["segments"]]


@pytest.mark.parametrize("number", [-1, 1.5, 5.0, True, "5", None, 1e308, 2**53], ids=repr)
@pytest.mark.parametrize("field", ["tokenBudget", "limit"])
def test_numbers_that_are_refused(client: Client, http: httpx.Client, field: str, number: object) -> None:
    body = {"memoryRef": client.scope["namespaceId"], field: number}
    fault = refusal(send(http, "/v0/memory/list", body), 400, "invalid_request")

    assert fault["details"]["field"] == field


def test_what_else_is_refused(client: Client, http: httpx.Client) -> None:
    ref = client.scope["namespaceId"]
    wrong: list[dict[str, Any]] = [
        {"rank": "foo"},
        {"rank": "RECENCY"},
        {"rank": ""},
        {"rank": "relevance"},
        {"rank": "relevance", "query": " "},
        {"tag": 5},
    ]
    for fields in wrong:
        refusal(send(http, "/v0/memory/list", {"memoryRef": ref, **fields}), 400, "invalid_request")
    refusal(send(http, "/v0/memory/list", b'{"memoryRef": "x", "tokenBudget": NaN}'), 400, "invalid_request")
    for query in ("tokenBudget=-1", "limit=1.5", "tokenBudget=", "rank=foo", "rank=relevance", ""):
        refusal(http.get(f"/v0/memory/list?{'memoryRef=x&' if query else ''}{query}"), 400, "invalid_request")
    refusal(send(http, "/v0/memory/put", {"memoryRef": ref, "content": "a\x00"}), 400, "invalid_request")
    refusal(send(http, "/v0/memory/put", {"memoryRef": ref, "content": "\ud800"}), 400, "invalid_request")
    refusal(send(http, "/v0/memory/put", {"memoryRef": " ", "content": "x"}), 400, "invalid_request")
    refusal(send(http, "/v0/memory/put", {"memoryRef": ref, "content": "x" * (2**20 + 1)}), 413, "too_large")


@pytest.mark.parametrize("ref", ["", " ", "a\x00b", "x" * 513, "../x", "\ud800", None, 5, {"a": 1}], ids=repr)
def test_a_malformed_ref_is_an_empty_list_without_an_echo(http: httpx.Client, ref: object) -> None:
    for fields in ({}, {"tokenBudget": 800}, {"rank": "relevance", "query": "anything"}):
        reply = send(http, "/v0/memory/list", {"memoryRef": ref, **fields})
        assert reply.status_code == 200
        assert reply.json() == {
            "entries": [],
            "tokensUsed": 0,
            "oversizedOmitted": 0,
            "truncated": False,
            "tokenCounter": "o200k_base",
        }


def test_malformed_ids_are_nothing(client: Client, http: httpx.Client) -> None:
    ref = client.scope["namespaceId"]
    for wrong in ("x", NIL, "a%00b", "%F0%9F%98%80", "x" * 300, ".."):
        reply = http.get(f"/v0/memory/entries/{wrong}", params={"memoryRef": ref})
        assert reply.status_code in {200, 404}  # some paths lead elsewhere
        assert reply.status_code == 404 or reply.json() == {"entry": None}
        gone = http.delete(f"/v0/memory/entries/{wrong}", params={"memoryRef": ref})
        assert gone.status_code == 404 or gone.json() == {"status": "not_found"}


def test_a_foreign_ref_is_an_empty_list(client: Client, http: httpx.Client, live: Instance) -> None:
    ref = str(client.scope["namespaceId"])
    entry = put(http, ref, "The heron flew at noon.")
    with other_tenant(live) as stranger:
        for fields in ({}, {"tokenBudget": 800}, {"rank": "relevance", "query": "heron", "tokenBudget": 800}):
            assert listed(stranger, ref, **fields)["entries"] == []
        where = f"/v0/memory/entries/{entry['id']}"
        assert stranger.get(where, params={"memoryRef": ref}).json() == {"entry": None}
        assert stranger.delete(where, params={"memoryRef": ref}).json() == {"status": "not_found"}
        mine = put(stranger, ref, "Somebody else's heron.")
        assert listed(stranger, ref)["entries"] == [mine]
        assert bind(stranger, ref, client.scope).status_code == 403
    assert listed(http, ref)["entries"] == [entry]


def test_bindings(client: Client, http: httpx.Client) -> None:
    ref, scope = f"mem:{uuid4()}", {**client.scope, "agentId": "ada"}
    assert listed(http, ref)["entries"] == []

    made = bind(http, ref, scope).json()["binding"]
    assert (made["memoryRef"], made["scope"]) == (ref, scope)
    entry = put(http, ref, "Ada's own.")
    assert listed(http, ref)["entries"] == listed(http, str(scope["namespaceId"]))["entries"] == [entry]
    page = http.get("/v0/memory/bindings", params={"after": ref[:-1]}).json()
    assert page["bindings"][0] == made
    assert http.delete("/v0/memory/bindings", params={"memoryRef": ref}).json() == {"deleted": True}
    assert http.delete("/v0/memory/bindings", params={"memoryRef": ref}).json() == {"deleted": False}
    assert listed(http, ref)["entries"] == []
    refusal(bind(http, ref, {**scope, "filters": {"a": 1}}), 400, "invalid_request")
    refusal(bind(http, " ", scope), 400, "invalid_request")


def test_an_idempotency_key_makes_one_entry(client: Client, http: httpx.Client) -> None:
    body = {"memoryRef": client.scope["namespaceId"], "content": "Once."}
    headers = {**JSON, "Idempotency-Key": str(uuid4())}
    replies = [send(http, "/v0/memory/put", body, headers).json() for _ in range(3)]

    assert replies[0] == replies[1] == replies[2]
    assert len(listed(http, str(body["memoryRef"]))["entries"]) == 1
    refusal(send(http, "/v0/memory/put", {**body, "content": "Twice."}, headers), 422, "idempotency_conflict")
