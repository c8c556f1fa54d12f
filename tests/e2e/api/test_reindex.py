"""reindex through the front door: an index that lost everything answers as before."""

from __future__ import annotations

import httpx
import psycopg

from infinicon.cli.instance import Client, Instance
from infinicon.embedded.postgres import SUPERUSER, socket_url
from infinicon.embedded.secrets import load_or_create
from tests.e2e.api.requests import ingest_indexed, note, refusal, send
from tests.e2e.cli.commands import answer, run
from tests.waiting import wait_until

QUESTIONS = ("Where does Rosa live now?", "gate code", "lithium canister", "number 17")


def answers(client: Client) -> list[list[tuple[str, float]]]:
    return [[(hit["ref"]["id"], hit["score"]) for hit in client.query(question, 10)] for question in QUESTIONS]


def lose_the_index(live: Instance, client: Client) -> int:
    """Delete a namespace's rows and postings behind the store's back; how many there were."""
    secrets = load_or_create(live.data_dir, new_api_key=str, has_data=True)
    url = socket_url((live.data_dir / "run").resolve(), SUPERUSER, secrets.superuser_password)
    chosen = "USING namespaces n WHERE n.tenant = t.tenant AND n.id = t.namespace AND n.name = %s"
    with psycopg.connect(url) as connection:
        connection.execute("SET search_path = infinicon")
        name = client.scope["namespaceId"]
        connection.execute(f"DELETE FROM postings t {chosen}", [name])
        return connection.execute(f"DELETE FROM space_rows t {chosen}", [name]).rowcount


def ended(client: Client, job: str) -> bool:
    return client.job(job)["status"] in {"completed", "failed", "cancelled"}


def test_a_lost_index_comes_back(live: Instance, client: Client, http: httpx.Client) -> None:
    ingest_indexed(
        client,
        note("Rosa moved to Turin. Her bicycle stayed in Lyon."),
        note("The orchard gate code is on the blue tag."),
        note("We build the lithium hydroxide canister rig from bags and gray tape."),
        *(note(f"Fact number {number}.") for number in range(120)),
    )
    before = answers(client)
    assert all(before)
    assert lose_the_index(live, client) > 100
    assert answers(client) == [[]] * len(QUESTIONS)

    started = client.post("/v0/reindex", {})

    assert started.keys() == {"jobId", "status"}
    wait_until(lambda: ended(client, started["jobId"]), "the reindex ends")
    job = client.job(started["jobId"])
    assert (job["type"], job["status"], "error" in job) == ("reindex", "completed", False)
    assert answers(client) == before
    listed = http.get("/v0/jobs", params={**client.scope, "type": "reindex"}).json()["jobs"]
    assert listed == [job]


def test_the_command_line_waits_for_it(live: Instance, client: Client) -> None:
    ingest_indexed(client, note("Rosa moved to Turin."))
    namespace = str(client.scope["namespaceId"])
    before = answers(client)
    lose_the_index(live, client)

    done = run(live, "reindex", "--namespace", namespace, "--wait")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("completed")
    assert answers(client) == before
    assert answer(live, "jobs", "-n", namespace, "--status", "completed")["summary"]["jobs"]["completed"] == 2
    assert run(live, "reindex", "--namespace", "nobody-was-here").returncode == 5


def test_what_cannot_be_reindexed_is_said(client: Client, http: httpx.Client) -> None:
    ingest_indexed(client, note())

    fault = refusal(send(http, "/v0/reindex", {"scope": {**client.scope, "agentId": "a"}}), 400, "invalid_request")
    assert fault["details"]["field"] == "scope.agentId"
    refusal(send(http, "/v0/reindex", {"scope": {**client.scope, "namespaceId": "nowhere"}}), 404, "not_found")
    refusal(send(http, "/v0/reindex", {"scope": {**client.scope, "tenantId": "t-blue"}}), 403, "unauthorized")
    refusal(send(http, "/v0/reindex", {}), 400, "invalid_request")
