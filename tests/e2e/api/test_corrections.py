"""Corrections through the front door."""

from __future__ import annotations

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client
from tests.e2e.api.requests import NIL, ingest_indexed, note, refusal, send

ROSA = "Rosa moved to Turin in March of last year."
LYON = "Rosa moved back to Lyon in May of this year."


def statuses(client: Client, *refs: Wire) -> list[str]:
    objects = client.hydrate(refs)
    return [objects[ref["id"]]["status"] for ref in refs]


@pytest.mark.parametrize("field", ["corrects", "supersedes"])
def test_a_new_episode_takes_the_place_of_an_old_one(client: Client, field: str) -> None:
    (old,) = ingest_indexed(client, note(ROSA))
    (new,) = ingest_indexed(client, note(LYON, **{field: [old]}))

    assert statuses(client, old, new) == ["superseded", "active"]
    feed = client.post("/v0/subscribe", {"eventTypes": ["memory.superseded"]})["events"]
    assert old["id"] in {event["ref"]["id"] for event in feed}


def test_a_dispute_and_its_end(client: Client) -> None:
    first, second = ingest_indexed(client, note(ROSA), note(LYON))
    reply = client.post("/v0/dispute", {"refs": [first, second]})
    link = reply["results"][0]["related"][0]
    assert (link["linkType"], link["status"], link["from"], link["to"]) == ("contradicts", "active", first, second)
    assert reply == {"results": [{"ref": ref, "status": "disputed", "related": [link]} for ref in (first, second)]}
    shown = client.post("/v0/hydrate", {"refs": [first, link["link"]], "includeProvenance": True})["objects"]
    assert shown[0]["related"] == [link]
    assert (shown[1]["type"], shown[1]["from"], shown[1]["to"]) == ("link", first, second)
    assert client.post("/v0/subscribe", {"eventTypes": ["memory.disputed"]})["events"]

    reply = client.post("/v0/resolve", {"refs": [first, second], "holds": second})
    assert [item["status"] for item in reply["results"]] == ["superseded", "active"]
    assert client.post("/v0/resolve", {"refs": [first, second], "holds": second}) == reply


def test_what_is_no_correction(client: Client, http: httpx.Client) -> None:
    (ref,) = ingest_indexed(client, note(ROSA))
    unknown = {**ref, "id": NIL}
    scope = {"scope": client.scope}
    rejected = client.ingest([note(LYON, supersedes=[unknown]), note("A neighbour.", corrects=[])])["results"]
    assert [item["status"] for item in rejected] == ["rejected", "created"]
    assert rejected[0]["error"]["details"]["field"] == "supersedes"
    for path, body, status, code in (
        ("/v0/dispute", {"refs": [ref]}, 400, "invalid_request"),
        ("/v0/dispute", {"refs": [ref, ref]}, 400, "invalid_request"),
        ("/v0/dispute", {"refs": [ref, unknown]}, 404, "not_found"),
        ("/v0/resolve", {"refs": []}, 400, "invalid_request"),
        ("/v0/resolve", {"refs": [ref], "hold": ref}, 400, "invalid_request"),
        ("/v0/resolve", {"refs": [ref], "holds": {**ref, "id": "zzz"}}, 400, "invalid_request"),
        ("/v0/resolve", {"refs": [unknown]}, 404, "not_found"),
    ):
        refusal(send(http, path, {**scope, **body}), status, code)
