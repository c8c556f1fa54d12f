"""Policies and erasures through the front door."""

from __future__ import annotations

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client
from tests.e2e.api.requests import ingest_indexed, note, refusal, send
from tests.waiting import wait_until

HOUSE = {"consolidationWidth": "agent", "redactCredentials": False}
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
    assert http.get("/v0/policy", params=client.scope).json() == {"policy": {"auditSeconds": 0, **HOUSE}}
    client.post("/v0/policy", {"policy": {"auditSeconds": 60, "defaultExpirySeconds": 3600}})
    reply = client.post("/v0/policy", {"policy": {"defaultExpirySeconds": None}})
    assert reply == {"policy": {"auditSeconds": 60, **HOUSE}}
    assert reply == http.get("/v0/policy", params=client.scope).json()


def test_a_policy_says_when_to_consolidate(client: Client, http: httpx.Client) -> None:
    wanted = {
        "consolidationWidth": "session",
        "consolidationSchedule": " 0  3 * * mon-fri",
        "consolidationThreshold": 200,
        "consolidationMaxAgeSeconds": 3600,
        "consolidationIdleSeconds": 600,
    }
    reply = client.post("/v0/policy", {"policy": wanted})
    assert reply["policy"] == {"auditSeconds": 0, **HOUSE, **wanted, "consolidationSchedule": "0 3 * * mon-fri"}
    reply = client.post("/v0/policy", {"policy": {"consolidationSchedule": 900, "consolidationIdleSeconds": None}})
    assert (reply["policy"]["consolidationSchedule"], "consolidationIdleSeconds" in reply["policy"]) == (900, False)
    assert reply == http.get("/v0/policy", params=client.scope).json()


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v0/policy", {"policy": {}}, "policy"),
        ("/v0/policy", {"policy": {"auditSeconds": -1}}, "policy.auditSeconds"),
        ("/v0/policy", {"policy": {"defaultExpirySeconds": 0}}, "policy.defaultExpirySeconds"),
        ("/v0/policy", {"policy": {"eventRetentionSeconds": 10**12}}, "policy.eventRetentionSeconds"),
        ("/v0/policy", {"policy": {"consolidationSchedule": "0 3 * *"}}, "policy.consolidationSchedule"),
        ("/v0/policy", {"policy": {"consolidationSchedule": "61 3 * * *"}}, "policy.consolidationSchedule"),
        ("/v0/policy", {"policy": {"consolidationSchedule": 0}}, "policy.consolidationSchedule"),
        ("/v0/policy", {"policy": {"consolidationSchedule": True}}, "policy.consolidationSchedule"),
        ("/v0/policy", {"policy": {"consolidationSchedule": 1.5}}, "policy.consolidationSchedule"),
        ("/v0/policy", {"policy": {"consolidationSchedule": ["* * * * *"]}}, "policy.consolidationSchedule"),
        ("/v0/policy", {"policy": {"consolidationThreshold": 0}}, "policy.consolidationThreshold"),
        ("/v0/policy", {"policy": {"consolidationMaxAgeSeconds": -5}}, "policy.consolidationMaxAgeSeconds"),
        ("/v0/policy", {"policy": {"consolidationIdleSeconds": "1h"}}, "policy.consolidationIdleSeconds"),
        ("/v0/policy", {"policy": {"consolidationWidth": "tenant"}}, "policy.consolidationWidth"),
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
