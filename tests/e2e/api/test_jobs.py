"""getJob: what became of accepted work, and the same answer for every id that is not yours."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client
from tests.e2e.api.requests import note, refusal, send
from tests.waiting import wait_until

TERMINAL = {"completed", "failed", "cancelled"}
ORDER = ["queued", "running", "completed"]


def test_a_job_moves_forward_and_ends(client: Client) -> None:
    reply = client.ingest([note(f"note {number}") for number in range(40)] + [note(5)], label="back-fill 7")
    seen: list[Wire] = []

    def finished() -> bool:
        seen.append(client.job(reply["jobId"]))
        return seen[-1]["status"] in TERMINAL

    wait_until(finished, "the job ends")

    last = seen[-1]
    assert last["status"] == "completed"
    assert (last["type"], last["label"], last["jobId"]) == ("ingest", "back-fill 7", reply["jobId"])
    assert last["progress"] == {
        "done": 40,
        "failed": 0,
        "total": 40,
        "waiting": 0,
        "extract": 0,
        "embed": 0,
        "index": 0,
    }
    ranks = [ORDER.index(job["status"]) for job in seen]
    assert ranks == sorted(ranks)
    assert [job["updatedAt"] for job in seen] == sorted(job["updatedAt"] for job in seen)
    for job in seen:
        progress = job["progress"]
        places = ("done", "failed", "waiting", "extract", "embed", "index")
        assert sum(progress[place] for place in places) == progress["total"]


def test_get_and_post_answer_alike(client: Client, http: httpx.Client) -> None:
    job_id = client.ingest([note()], consistency="indexed")["jobId"]
    wait_until(lambda: client.job(job_id)["status"] in TERMINAL, "the job ends")

    reply = http.get(f"/v0/jobs/{job_id}", params=client.scope)

    assert reply.json() == client.job(job_id)


def test_unknown_foreign_and_malformed_ids_are_one_answer(client: Client, http: httpx.Client) -> None:
    job_id = client.ingest([note()])["jobId"]
    elsewhere = {**client.scope, "namespaceId": f"test-{uuid4()}"}
    replies = [send(http, "/v0/get-job", {"scope": elsewhere, "jobId": job_id})]
    replies.append(http.get(f"/v0/jobs/{job_id}", params=elsewhere))
    for unknown in (str(uuid4()), "job_does_not_exist_77", "", job_id.replace("-", ""), "{" + job_id + "}"):
        replies.append(send(http, "/v0/get-job", {"scope": client.scope, "jobId": unknown}))
        if unknown:
            replies.append(http.get(f"/v0/jobs/{unknown}", params=client.scope))

    for reply in replies:
        refusal(reply, 404, "not_found")
    assert len({reply.content for reply in replies}) == 1


def test_a_job_of_another_tenant_is_not_asked_for(client: Client, http: httpx.Client) -> None:
    job_id = client.ingest([note()])["jobId"]

    refusal(http.get(f"/v0/jobs/{job_id}", params={**client.scope, "tenantId": "t-blue"}), 403, "unauthorized")


@pytest.mark.parametrize("job_id", [None, 5, "x" * 10_000, "a\x00b"], ids=["null", "number", "long", "NUL"])
def test_what_is_no_id_is_refused(client: Client, http: httpx.Client, job_id: object) -> None:
    refusal(send(http, "/v0/get-job", {"scope": client.scope, "jobId": job_id}), 400, "invalid_request")


@pytest.mark.parametrize("missing", ["tenantId", "namespaceId"])
def test_get_needs_a_scope(client: Client, http: httpx.Client, missing: str) -> None:
    params = {name: value for name, value in client.scope.items() if name != missing}
    fault = refusal(http.get(f"/v0/jobs/{uuid4()}", params=params), 400, "invalid_request")

    assert fault["details"]["field"] == missing
