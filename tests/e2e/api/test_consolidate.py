"""consolidate through the front door, with the built-in consolidator and the real processes."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import ingest_indexed, note, refusal
from tests.together import together
from tests.waiting import wait_until

SAID = "The orchard gate code is on the blue tag."
AGAIN = "The orchard gate code is on the blue tag!"


def consolidate(client: Client, **fields: object) -> Wire:
    return client.post("/v0/consolidate", {"trigger": "manual", **fields})


def statuses(client: Client) -> dict[str, str]:
    """Of everything in the namespace that a query finds, by what it says."""
    filters = {"types": ["atom", "consolidation"], "includeSuperseded": True, "includeDisputed": True}
    refs = client.post("/v0/query", {"query": "orchard gate code blue tag", "limit": 50, "filters": filters})["refs"]
    return {item["content"]: item["status"] for item in client.hydrate([hit["ref"] for hit in refs]).values()}


def test_run_now_folds_what_is_said_twice_and_undo_brings_it_back(client: Client) -> None:
    ingest_indexed(client, note(SAID), note(AGAIN))
    plan = consolidate(client, mode="preview")
    assert plan.keys() == {"status", "plan"}
    assert len(plan["plan"]["duplicates"]) == 1
    assert statuses(client) == {SAID: "active", AGAIN: "active"}

    done = consolidate(client, mode="run_now")
    assert done.keys() == {"jobId", "status"}
    assert done["status"] == "completed"
    job = client.job(done["jobId"])
    assert (job["type"], job["result"]["duplicates"], job["result"]["trigger"]) == ("consolidate", 1, "manual")
    assert sorted(statuses(client).values()) == ["active", "superseded"]
    found = client.query(SAID, 10)
    assert len([hit for hit in found if hit["ref"]["type"] == "atom"]) == 1

    undone = client.post(f"/v0/jobs/{done['jobId']}/undo", {})
    assert (undone["result"]["undone"], undone["result"]["revived"]) == (0, 1)
    assert client.post(f"/v0/jobs/{done['jobId']}/undo", {}) == undone
    assert statuses(client) == {SAID: "active", AGAIN: "active"}


def test_one_fold_is_taken_back_and_does_not_come_back(client: Client) -> None:
    ingest_indexed(client, note(SAID), note(AGAIN))
    consolidate(client, mode="run_now")
    filters = {"types": ["atom"], "includeSuperseded": True}
    refs = [hit["ref"] for hit in client.post("/v0/query", {"query": SAID, "limit": 9, "filters": filters})["refs"]]
    reply = client.post("/v0/resolve", {"refs": refs})
    assert [one["status"] for one in reply["results"]] == ["active", "active"]
    assert client.post("/v0/resolve", {"refs": refs}) == reply

    assert consolidate(client, mode="preview")["plan"]["duplicates"] == []
    again = client.job(consolidate(client, mode="run_now")["jobId"])["result"]
    assert (again["duplicates"], again["refused"]) == (0, 1)
    assert statuses(client) == {SAID: "active", AGAIN: "active"}


def test_enqueue_answers_at_once_and_eight_at_once_are_one_job(client: Client) -> None:
    ingest_indexed(client, *(note(f"Fact number {number} is about the cellar.") for number in range(40)))
    answers: list[Wire] = together(*[lambda: consolidate(client, mode="run_now")] * 8)
    (job,) = {answer["jobId"] for answer in answers} - _empty(client, answers)

    assert client.job(job)["result"]["memories"] == 40
    ingest_indexed(client, note(SAID))
    queued = consolidate(client)
    assert queued["status"] in {"queued", "running"}
    wait_until(lambda: client.job(queued["jobId"])["status"] == "completed", "it is consolidated")


def _empty(client: Client, answers: list[Wire]) -> set[str]:
    """Jobs of those who came when all was done already: nothing waited for them."""
    return {one["jobId"] for one in answers if client.job(one["jobId"])["progress"]["total"] == 0}


def test_events_say_when_it_began_and_ended(client: Client) -> None:
    ingest_indexed(client, note(SAID), note(AGAIN))
    job = consolidate(client, mode="run_now")["jobId"]
    feed = client.post("/v0/subscribe", {})["events"]

    told = [event["type"] for event in feed if event.get("jobId") == job]
    assert told == ["consolidation.started", "memory.superseded", "consolidation.completed"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "trigger"),
        ({"trigger": "nightly"}, "trigger"),
        ({"trigger": None}, "trigger"),
        ({"trigger": "manual", "mode": "later"}, "mode"),
        ({"trigger": "manual", "filters": {"types": []}}, "filters.types"),
        ({"trigger": "manual", "filters": {"tag": "x"}}, "filters"),
    ],
)
def test_a_faulty_request_is_refused(http: httpx.Client, client: Client, body: dict[str, Any], field: str) -> None:
    answer = http.post("/v0/consolidate", json={"scope": client.scope, **body})

    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid_request"
    assert field in answer.json()["details"]["field"]


@pytest.mark.parametrize("trigger", ["manual", "scheduled", "threshold", "idle"])
def test_every_trigger_of_the_contract_is_taken(client: Client, trigger: str) -> None:
    ingest_indexed(client, note(SAID))
    answer = client.post("/v0/consolidate", {"trigger": trigger, "mode": "run_now"})

    assert answer["status"] == "completed"
    assert client.job(answer["jobId"])["result"]["trigger"] == trigger


def test_what_is_not_there_is_not_found(http: httpx.Client, live: Instance, client: Client) -> None:
    nowhere = {"tenantId": live.tenant_id, "namespaceId": "nobody was ever here"}
    for answer in (
        http.post("/v0/consolidate", json={"scope": nowhere, "trigger": "manual"}),
        http.post("/v0/consolidate", json={"scope": nowhere, "trigger": "manual", "mode": "preview"}),
        http.post("/v0/jobs/nonsense/undo", json={"scope": client.scope}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    ingest_indexed(client, note(SAID))
    (job,) = http.get("/v0/jobs", params=client.scope).json()["jobs"]
    answer = http.post(f"/v0/jobs/{job['jobId']}/undo", json={"scope": client.scope})
    assert (answer.status_code, answer.json()["details"]["field"]) == (400, "jobId")
    foreign = http.post("/v0/consolidate", json={"scope": {**client.scope, "tenantId": "another"}, "trigger": "manual"})
    refusal(foreign, 403, "unauthorized")
