"""Jobs through the front door: many of them, cancelled and retried while real workers run."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import NIL, bulk_stands_still, ingest_indexed, note, refusal, send
from tests.waiting import wait_until

TERMINAL = {"completed", "failed", "cancelled"}


def listed(http: httpx.Client, client: Client, **wanted: object) -> Wire:
    reply = http.get("/v0/jobs", params={**client.scope, **{name: str(value) for name, value in wanted.items()}})
    assert reply.status_code == 200, reply.text
    found: Wire = reply.json()
    return found


def change(client: Client, job: str, verb: str) -> Wire:
    return client.post(f"/v0/jobs/{job}/{verb}", {})


def many(text: str, number: int, *, keys: bool = False) -> list[Wire]:
    return [note(f"{text} number {n}.", **({"dedupeKey": f"{text}-{n}"} if keys else {})) for n in range(number)]


def found(client: Client, word: str) -> list[str]:
    """Contents with a word, of everything that a query for it finds."""
    refs = [hit["ref"] for hit in client.query(word, 1000)]
    return [memory["content"] for memory in client.hydrate(refs).values() if word in memory["content"]]


def test_a_label_rolls_up_its_jobs_page_by_page(client: Client, http: httpx.Client) -> None:
    made = [client.ingest(many(f"Archive {n}", 20), label="archive", lane="bulk")["jobId"] for n in range(5)]
    client.ingest([note("Of no archive.")])
    wait_until(
        lambda: listed(http, client, label="archive")["summary"]["jobs"]["completed"] == 5, "the archive is indexed"
    )

    seen: list[str] = []
    reply = listed(http, client, label="archive", limit=2)
    while True:
        seen += [job["jobId"] for job in reply["jobs"]]
        assert [job for job in reply["jobs"] if client.job(job["jobId"]) != job] == []
        if "cursor" not in reply:
            break
        reply = listed(http, client, label="archive", limit=2, cursor=reply["cursor"])

    assert seen == made[::-1]
    assert reply["summary"] == {
        "jobs": {"queued": 0, "running": 0, "completed": 5, "failed": 0, "cancelled": 0},
        "progress": {"done": 100, "failed": 0, "total": 100, "waiting": 0, "extract": 0, "embed": 0, "index": 0},
    }
    assert len(listed(http, client, status="completed", type="ingest")["jobs"]) == 6
    assert listed(http, client, type="reindex")["jobs"] == listed(http, client, status="failed")["jobs"] == []


def test_a_cursor_belongs_to_its_scope_and_filter(client: Client, http: httpx.Client) -> None:
    for number in range(2):
        client.ingest([note(f"Note {number}.")])
    cursor = listed(http, client, limit=1)["cursor"]

    def asked(**more: str) -> httpx.Response:
        return http.get("/v0/jobs", params={**client.scope, "cursor": cursor, **more})

    refusal(asked(namespaceId="another"), 400, "scope_mismatch")
    refusal(asked(agentId="a"), 400, "scope_mismatch")
    refusal(asked(label="other"), 400, "invalid_cursor")
    refusal(asked(cursor=cursor[:-1] + ("A" if cursor[-1] != "A" else "B")), 400, "invalid_cursor")
    refusal(asked(cursor="zzz"), 400, "invalid_cursor")
    refusal(asked(status="done"), 400, "invalid_request")
    refusal(asked(limit="201"), 400, "invalid_request")


def test_a_cancelled_job_stays_cancelled_and_its_neighbour_completes(live: Instance, client: Client) -> None:
    """Nothing of it becomes visible afterwards, until its episodes are sent again or the job is retried."""
    with bulk_stands_still(live):
        unwanted = client.ingest(many("Unwanted xylophone", 900, keys=True), lane="bulk", label="unwanted")["jobId"]
        wanted = client.ingest(many("Wanted", 30), lane="bulk")["jobId"]
        wait_until(lambda: client.job(unwanted)["status"] == "running", "a worker has some of it")
        job = change(client, unwanted, "cancel")
    assert job["status"] == "cancelled"
    assert job["error"]["code"] == "cancelled"
    assert job["progress"]["done"] == 0
    wait_until(lambda: client.job(wanted)["status"] in TERMINAL, "the neighbour ends")

    assert client.job(wanted)["status"] == "completed"
    assert client.job(unwanted) == job
    assert found(client, "xylophone") == []
    assert change(client, unwanted, "cancel") == job

    again = change(client, unwanted, "retry")
    assert (again["status"], again["progress"]["total"]) == ("queued", 900)
    assert "error" not in again
    wait_until(lambda: client.job(unwanted)["status"] in TERMINAL, "the retried job ends")
    assert client.job(unwanted)["progress"] == {**again["progress"], "done": 900, "waiting": 0}
    assert len(found(client, "xylophone")) == 900


def test_an_episode_of_a_cancelled_job_is_queued_by_sending_it_again(live: Instance, client: Client) -> None:
    episodes = many("Marimba", 60, keys=True)
    with bulk_stands_still(live):
        first = client.ingest(episodes, lane="bulk")
        assert change(client, first["jobId"], "cancel")["status"] == "cancelled"

    again = client.ingest(episodes[-3:], consistency="indexed")

    assert [result["status"] for result in again["results"]] == ["deduplicated"] * 3
    assert [r["ref"]["id"] for r in again["results"]] == [r["ref"]["id"] for r in first["results"][-3:]]
    assert len(found(client, "Marimba")) == 3
    assert client.job(first["jobId"])["status"] == "cancelled"


def test_a_change_of_what_is_not_there_is_not_found(client: Client, http: httpx.Client) -> None:
    (_,) = ingest_indexed(client, note())
    job = client.ingest([note("Mine.")])["jobId"]
    elsewhere = {**client.scope, "namespaceId": f"test-{uuid4()}"}
    for verb in ("cancel", "retry"):
        replies = [send(http, f"/v0/jobs/{job}/{verb}", {"scope": elsewhere})]
        replies += [send(http, f"/v0/jobs/{one}/{verb}", {"scope": client.scope}) for one in (NIL, "zzz", job[:-1])]
        for reply in replies:
            refusal(reply, 404, "not_found")
        refusal(send(http, f"/v0/jobs/{job}/{verb}", {}), 400, "invalid_request")
        refusal(http.get(f"/v0/jobs/{job}/{verb}"), 405, "method_not_allowed")


@pytest.mark.parametrize("missing", ["tenantId", "namespaceId"])
def test_a_list_needs_a_scope(client: Client, http: httpx.Client, missing: str) -> None:
    params = {name: value for name, value in client.scope.items() if name != missing}
    fault = refusal(http.get("/v0/jobs", params=params), 400, "invalid_request")
    assert fault["details"]["field"] == missing


def test_another_tenants_jobs_are_not_listed(live: Instance, client: Client, http: httpx.Client) -> None:
    refusal(http.get("/v0/jobs", params={**client.scope, "tenantId": "t-blue"}), 403, "unauthorized")
    with httpx.Client(base_url=live.url) as stranger:
        refusal(stranger.get("/v0/jobs", params=client.scope), 401, "unauthorized")
