"""Deletion through the front door."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client
from tests.e2e.api.requests import NIL, ingest_indexed, note, refusal, send

SECRET = "The vault code is quokka seven."


def delete(client: Client, *refs: Wire, cascade: str = "tombstone_derived") -> Wire:
    return client.post("/v0/tombstone", {"refs": refs, "reason": "asked for", "cascadePolicy": cascade})


def test_what_is_deleted_is_gone_everywhere(client: Client, http: httpx.Client) -> None:
    kept, gone = ingest_indexed(client, note("Rosa moved to Turin."), note(SECRET, dedupeKey="k", tags=["quokka"]))
    hits = client.query("vault code quokka", 10)
    atom = hits[0]["ref"]

    result = delete(client, gone)["results"][0]
    assert (result["ref"], result["status"]) == (gone, "tombstoned")
    assert [ref["id"] for ref in result["affectedDerivedRefs"]] == [atom["id"]]
    found = {hit["ref"]["id"] for hit in client.query("vault code quokka", 10)}
    assert not found & {gone["id"], atom["id"]}
    reply = client.post("/v0/hydrate", {"refs": [gone, atom, kept], "includeProvenance": True})
    assert [ref["id"] for ref in reply["missing"]] == [gone["id"], atom["id"]]
    exported = http.get("/v0/episodes", params=client.scope).text
    assert "quokka" not in exported
    assert "Turin" in exported
    again = client.ingest([note(SECRET, dedupeKey="k")])["results"][0]
    assert (again["status"], again["ref"]["id"]) == ("deduplicated", gone["id"])
    assert [warning["code"] for warning in again["warnings"]] == ["tombstoned"]
    assert [item["status"] for item in delete(client, gone, {**gone, "id": NIL})["results"]] == [
        "already_tombstoned",
        "not_found",
    ]
    feed = client.post("/v0/subscribe", {"eventTypes": ["memory.tombstoned"]})
    assert {event["ref"]["id"] for event in feed["events"]} == {gone["id"], atom["id"]}
    assert "quokka" not in str(feed)


def test_a_foreign_ref_is_unknown(client: Client) -> None:
    (ref,) = ingest_indexed(client, note(SECRET))
    foreign = {**ref, "scope": {**ref["scope"], "namespaceId": f"other-{uuid4()}"}}

    assert [item["status"] for item in delete(client, foreign, {**ref, "id": "zzz"})["results"]] == ["not_found"] * 2
    assert client.query("vault code quokka", 1)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"refs": []}, "refs"),
        ({"reason": ""}, "reason"),
        ({"reason": " \n"}, "reason"),
        ({"reason": "\x00"}, "reason"),
        ({"reason": "x" * 4097}, "reason"),
        ({"cascadePolicy": "all"}, "cascadePolicy"),
        ({"cascadePolicy": None}, "cascadePolicy"),
        ({"scope": None}, "scope"),
    ],
)
def test_what_is_no_request(client: Client, http: httpx.Client, change: Wire, field: str) -> None:
    ref = {"id": NIL, "type": "episode", "scope": client.scope}
    body = {"scope": client.scope, "refs": [ref], "reason": "asked for", "cascadePolicy": "none", **change}

    assert refusal(send(http, "/v0/tombstone", body), 400, "invalid_request")["details"]["field"] == field
