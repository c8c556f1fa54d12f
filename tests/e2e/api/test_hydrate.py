"""hydrate: whole objects, and every ref that leads to none."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import NIL, ingest_indexed, note, refusal, send


def hydrate(client: Client, *refs: Wire, **fields: object) -> Wire:
    return client.post("/v0/hydrate", {"refs": list(refs), **fields})


def test_objects_come_in_the_order_of_the_refs_and_once(client: Client) -> None:
    refs = [result["ref"] for result in client.ingest([note("one"), note("two"), note("three")])["results"]]

    reply = hydrate(client, refs[2], refs[0], refs[2], refs[1])

    assert [found["content"] for found in reply["objects"]] == ["three", "one", "two"]
    assert reply["missing"] == []


def test_what_cannot_be_shown_is_missing_as_it_was_sent(client: Client, http: httpx.Client) -> None:
    (mine,) = client.ingest([note()])["results"]
    ref: Wire = mine["ref"]
    elsewhere = {**client.scope, "namespaceId": f"test-{uuid4()}"}
    (other,) = send(http, "/v0/ingest", {"scope": elsewhere, "episodes": [note()]}).json()["results"]
    missing: list[Wire] = [
        {**ref, "id": str(uuid4())},
        {**ref, "id": NIL},
        {**ref, "id": "no uuid"},
        {**ref, "id": ref["id"][:8]},
        {**ref, "id": ref["id"].replace("-", "")},
        {**ref, "type": "atom"},
        {**ref, "type": "link"},
        {**ref, "scope": elsewhere},
        {**ref, "scope": {**client.scope, "agentId": "ann"}},
        {**ref, "scope": {**client.scope, "tenantId": "t-blue"}},
        other["ref"],
        {**other["ref"], "scope": client.scope},
    ]
    reply = hydrate(client, *missing, ref)

    assert [found["id"] for found in reply["objects"]] == [ref["id"]]
    assert reply["missing"] == missing


@pytest.mark.parametrize(
    "change",
    [{"id": None}, {"id": 5}, {"type": "memory"}, {"scope": None}, {"id": "x" * 257}, {"id": "a\x00b"}],
    ids=repr,
)
def test_what_is_no_ref_is_refused(client: Client, http: httpx.Client, change: Wire) -> None:
    ref = {"id": NIL, "type": "episode", "scope": client.scope, **change}
    fault = refusal(send(http, "/v0/hydrate", {"scope": client.scope, "refs": [ref]}), 400, "invalid_request")

    assert fault["details"]["field"].startswith("refs.0")


@pytest.mark.parametrize("count", [0, 1001, 10_000])
def test_the_count_is_limited(client: Client, http: httpx.Client, count: int) -> None:
    refs = [{"id": NIL, "type": "episode", "scope": client.scope}] * count

    refusal(send(http, "/v0/hydrate", {"scope": client.scope, "refs": refs}), 400, "invalid_request")


def test_a_thousand_refs_are_answered(client: Client) -> None:
    made = client.ingest([note(f"note {number}") for number in range(1000)])["results"]

    reply = hydrate(client, *[result["ref"] for result in made])

    assert [found["content"] for found in reply["objects"]] == [f"note {number}" for number in range(1000)]


def test_an_atom_leads_back_to_the_text_it_comes_from(client: Client) -> None:
    text = "Rosa moved to Turin in the spring. The orchard gate code is on the blue tag of the third key."
    (episode,) = ingest_indexed(client, note(text))
    atoms = [hit["ref"] for hit in client.query("orchard gate code", 5) if hit["ref"]["type"] == "atom"]
    assert atoms

    for atom in hydrate(client, *atoms, includeProvenance=True)["objects"]:
        (source,) = atom["provenance"]["sourceRefs"]
        assert (source["id"], source["type"]) == (episode["id"], "episode")
        assert text[source["span"]["start"] : source["span"]["end"]] == atom["content"]
        assert atom["status"] == "active"


def test_the_chain_and_its_links_can_be_hydrated(client: Client) -> None:
    text = "Rosa moved to Turin in the spring. The orchard gate code is on the blue tag of the third key."
    (episode,) = ingest_indexed(client, note(text))
    atoms = [hit["ref"] for hit in client.query("orchard gate code", 5) if hit["ref"]["type"] == "atom"]

    for atom in hydrate(client, *atoms, includeProvenance=True)["objects"]:
        (step,) = atom["provenance"]["chain"]
        assert (step["derived"]["id"], step["source"]["id"]) == (atom["id"], episode["id"])
        span = step["source"]["span"]
        assert text[span["start"] : span["end"]] == atom["content"]
        (link,) = hydrate(client, step["link"])["objects"]
        assert (link["type"], link["linkType"], link["status"]) == ("link", "derived_from", "active")
        assert (link["from"]["id"], link["to"]["id"]) == (atom["id"], episode["id"])
    assert all("chain" not in atom["provenance"] for atom in hydrate(client, *atoms)["objects"])


def test_what_is_deleted_is_for_an_audit_alone(client: Client, http: httpx.Client, live: Instance) -> None:
    policy = {"scope": client.scope, "policy": {"auditSeconds": 600}}
    assert send(http, "/v0/policy", policy).status_code == 200
    (episode,) = ingest_indexed(client, note("The orchard gate code is on the blue tag.", tags=["gate"]))
    atom = client.query("orchard gate code", 1)[0]["ref"]
    request = {"refs": [episode], "reason": "asked for", "cascadePolicy": "tombstone_derived"}
    client.post("/v0/tombstone", request)

    assert hydrate(client, episode, atom)["missing"] == [episode, atom]
    shown = hydrate(client, episode, atom, includeTombstoned=True, includeProvenance=True)
    assert (len(shown["objects"]), shown["missing"]) == (2, [])
    for found in shown["objects"]:
        assert (found["status"], found["content"]) == ("tombstoned", "The orchard gate code is on the blue tag.")
        assert (found["tombstone"]["reason"], found["tombstone"]["cascadePolicy"]) == ("asked for", "tombstone_derived")
    (source,) = shown["objects"][1]["provenance"]["sourceRefs"]
    assert (source["id"], source["status"]) == (episode["id"], "tombstoned")
    wanted = {"tenantId": live.tenant_id, "permissions": ["hydrate", "admin"]}
    secret = send(http, "/v0/keys", wanted).json()["apiKey"]
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    body = {"scope": client.scope, "refs": [episode], "includeTombstoned": True}
    refusal(send(http, "/v0/hydrate", body, headers), 403, "unauthorized")
