"""Policies and erasures through the front door."""

from __future__ import annotations

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client
from tests.e2e.api.requests import ingest_indexed, note, refusal, send
from tests.waiting import wait_until

SECRET = "The vault code is quokka seven."


def test_an_erasure_is_a_job_that_leaves_nothing(client: Client, http: httpx.Client) -> None:
    ingest_indexed(client, note(SECRET, metadata={"person": "p1"}), note("Rosa moved to Turin."))
    job = client.post("/v0/erase", {"reason": "asked for", "metadata": {"person": "p1"}})
    assert (job["type"], job["progress"]["total"]) == ("erase", 1)

    wait_until(lambda: client.job(job["jobId"])["status"] == "completed", "the erasure is over")
    assert "quokka" not in http.get("/v0/episodes", params=client.scope).text
    assert "Turin" in http.get("/v0/episodes", params=client.scope).text
    reply = client.post("/v0/query", {"query": "vault code quokka", "limit": 100})
    loaded = client.hydrate([hit["ref"] for hit in reply["refs"]])
    assert "quokka" not in str(loaded)


def test_a_policy_changes_member_by_member(client: Client, http: httpx.Client) -> None:
    assert http.get("/v0/policy", params=client.scope).json() == {"policy": {"auditSeconds": 0}}
    client.post("/v0/policy", {"policy": {"auditSeconds": 60, "defaultExpirySeconds": 3600}})
    reply = client.post("/v0/policy", {"policy": {"defaultExpirySeconds": None}})
    assert reply == {"policy": {"auditSeconds": 60}} == http.get("/v0/policy", params=client.scope).json()


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v0/policy", {"policy": {}}, "policy"),
        ("/v0/policy", {"policy": {"auditSeconds": -1}}, "policy.auditSeconds"),
        ("/v0/policy", {"policy": {"auditSeconds": None}}, "policy.auditSeconds"),
        ("/v0/policy", {"policy": {"defaultExpirySeconds": 0}}, "policy.defaultExpirySeconds"),
        ("/v0/policy", {"policy": {"eventRetentionSeconds": 10**12}}, "policy.eventRetentionSeconds"),
        ("/v0/erase", {}, "reason"),
        ("/v0/erase", {"reason": "x"}, "everything"),
        ("/v0/erase", {"reason": "x", "metadata": {}}, "metadata"),
        ("/v0/erase", {"reason": "x", "metadata": []}, "metadata"),
        ("/v0/erase", {"reason": "x", "metadata": {"a": "\x00"}}, "metadata"),
    ],
)
def test_what_is_no_request(client: Client, http: httpx.Client, path: str, body: Wire, field: str) -> None:
    assert (
        refusal(send(http, path, {"scope": client.scope, **body}), 400, "invalid_request")["details"]["field"] == field
    )


def test_a_namespace_that_is_not_there(client: Client, http: httpx.Client) -> None:
    refusal(send(http, "/v0/erase", {"scope": client.scope, "reason": "x", "everything": True}), 404, "not_found")
