"""The main path over HTTP: in through ingest, found by query, whole again by hydrate."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.faults import ApiRefused
from infinicon.cli.instance import Client, Instance
from tests.waiting import wait_until

NIL = str(UUID(int=0))


def note(content: object = "Rosa moved to Turin in March.", **fields: object) -> Wire:
    return {"contentType": "text/plain", "content": content, "createdBy": {"id": "rosa", "kind": "user"}, **fields}


def indexed(client: Client, *episodes: Wire) -> Wire:
    return client.ingest(episodes, consistency="indexed")


def contents(client: Client, query: str) -> set[str]:
    hits = client.query(query, 20)
    return {str(found["content"]) for found in client.hydrate([hit["ref"] for hit in hits]).values()} if hits else set()


def test_what_went_in_is_found_with_its_source(client: Client) -> None:
    reply = indexed(client, note("Rosa moved to Turin in March. Her bicycle stayed in Lyon.", metadata={"page": 3}))
    episode = reply["results"][0]["ref"]

    hits = client.query("Where is the bicycle?", 3)
    found = client.post("/v0/hydrate", {"refs": [hit["ref"] for hit in hits], "includeProvenance": True})

    bicycle = next(item for item in found["objects"] if item["content"] == "Her bicycle stayed in Lyon.")
    assert bicycle["type"] == "atom"
    assert [source["id"] for source in bicycle["provenance"]["sourceRefs"]] == [episode["id"]]
    assert hits[0]["score"] >= hits[-1]["score"]
    assert episode["id"] in [source["id"] for source in hits[0]["sources"]]


def test_hydrate_gives_back_what_came_in(client: Client) -> None:
    given = note(
        "Rosa plays the oboe.",
        metadata={"深": [1, {"a": None}]},
        occurredAt="2026-11-30T10:00:00+09:00",
        dedupeKey="k-1",
    )
    ref = indexed(client, given)["results"][0]["ref"]

    found = client.hydrate([ref])[ref["id"]]

    assert {name: found[name] for name in ("contentType", "content", "createdBy", "metadata", "dedupeKey")} == {
        name: given[name] for name in ("contentType", "content", "createdBy", "metadata", "dedupeKey")
    }
    assert found["occurredAt"].startswith("2026-11-30T01:00:00")
    assert found["status"] == "active"


def test_hydrate_tells_what_is_missing(client: Client) -> None:
    unknown = {"id": str(uuid4()), "type": "episode", "scope": client.scope}

    reply = client.post("/v0/hydrate", {"refs": [unknown]})

    assert reply["objects"] == []
    assert [ref["id"] for ref in reply["missing"]] == [unknown["id"]]


def test_another_namespace_sees_nothing(client: Client, live: Instance) -> None:
    ref = indexed(client, note("Rosa keeps bees."))["results"][0]["ref"]

    with Client(live, f"other-{uuid4()}") as other:
        assert other.query("Who keeps bees?", 5) == []
        assert len(other.post("/v0/hydrate", {"refs": [ref]})["missing"]) == 1


def test_the_same_ingest_again_adds_nothing(client: Client) -> None:
    episodes = [note(f"Fact number {number}.", dedupeKey=f"d-{number}") for number in range(5)]

    first, second = indexed(client, *episodes), indexed(client, *episodes)

    assert [item["status"] for item in first["results"]] == ["created"] * 5
    assert [item["status"] for item in second["results"]] == ["deduplicated"] * 5
    assert [item["ref"]["id"] for item in first["results"]] == [item["ref"]["id"] for item in second["results"]]


def test_one_key_in_many_parallel_requests_is_one_episode(client: Client) -> None:
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda _: client.ingest([note(dedupeKey="one")]), range(32)))

    results = [reply["results"][0] for reply in replies]
    assert sorted(item["status"] for item in results) == ["created"] + ["deduplicated"] * 31
    assert len({item["ref"]["id"] for item in results}) == 1


def test_the_same_key_with_other_content_is_a_conflict_that_spoils_no_neighbour(client: Client) -> None:
    original = indexed(client, note("old", dedupeKey="c"))["results"][0]["ref"]["id"]

    results = indexed(client, note("new", dedupeKey="c"), note("neighbour"))["results"]

    assert (results[0]["status"], results[0]["error"]["code"], results[0]["ref"]["id"]) == (
        "rejected",
        "dedupe_conflict",
        original,
    )
    assert results[1]["status"] == "created"


def test_a_faulty_episode_is_rejected_beside_accepted_neighbours(client: Client) -> None:
    faulty = [
        note("a NUL \0 in it"),
        note("a lone \ud800 surrogate"),
        {**note(), "contentType": "application/x-nothing-knows-it"},
        note("x" * 5_000_000),
        {**note(), "createdBy": {"id": "rosa", "kind": "wizard"}},
        {**note(), "occurredAt": "2026-11-30T10:00:00"},
    ]
    episodes = [part for bad in faulty for part in (bad, note(f"good neighbour of {len(str(bad))}"))]

    results = indexed(client, *episodes)["results"]

    assert [item["status"] for item in results] == ["rejected", "created"] * len(faulty)
    for item in results[::2]:
        assert item["ref"]["id"] == NIL
        assert item["error"]["retryable"] is False


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/v0/ingest", {"episodes": []}),
        ("/v0/ingest", {"episodes": "none"}),
        ("/v0/ingest", {"episodes": [note()], "consistency": "sometimes"}),
        ("/v0/ingest", {"scope": None, "episodes": [note()]}),
        ("/v0/ingest", {"scope": {"tenantId": "default", "namespaceId": " "}, "episodes": [note()]}),
        ("/v0/query", {"query": "q", "limit": 0}),
        ("/v0/query", {"query": "q", "limit": 1.5}),
        ("/v0/query", {"query": 7}),
        ("/v0/hydrate", {"refs": "none"}),
    ],
)
def test_a_faulty_request_is_a_structured_400(client: Client, path: str, change: Wire) -> None:
    with pytest.raises(ApiRefused) as refused:
        client.post(path, change)

    assert (refused.value.status, refused.value.code) == (400, "invalid_request")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"limit": NaN}', b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_a_structured_400(http: httpx.Client, body: bytes) -> None:
    answer = http.post("/v0/query", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid_request"


def test_a_key_is_needed_and_names_its_tenant(live: Instance, client: Client) -> None:
    without = httpx.post(live.url + "/v0/query", json={"scope": client.scope, "query": "q"})
    wrong = httpx.post(
        live.url + "/v0/query",
        json={"scope": client.scope, "query": "q"},
        headers={"Authorization": "Bearer inf_wrong"},
    )

    assert [answer.status_code for answer in (without, wrong)] == [401, 401]
    client.scope = {**client.scope, "tenantId": "somebody-else"}
    with pytest.raises(ApiRefused) as refused:
        client.query("q", 1)
    assert (refused.value.status, refused.value.code) == (403, "unauthorized")


def test_a_job_is_reported_from_queued_to_completed(client: Client, http: httpx.Client) -> None:
    job_id = client.ingest([note(f"Sentence {number}.") for number in range(20)], lane="bulk", label="twenty")["jobId"]

    job = wait_until(lambda: (found := client.job(job_id))["status"] == "completed" and found, "the job is completed")
    by_path = http.get(
        f"/v0/jobs/{job_id}", params={name: client.scope[name] for name in ("tenantId", "namespaceId")}
    ).json()

    assert job == by_path
    assert (job["progress"]["done"], job["progress"]["failed"], job["progress"]["total"]) == (20, 0, 20)
    assert job["createdAt"] <= job["updatedAt"]


@pytest.mark.parametrize("job_id", [str(uuid4()), "nonsense", "'; --", ""])
def test_unknown_and_malformed_jobs_are_the_same_not_found(client: Client, job_id: str) -> None:
    with pytest.raises(ApiRefused) as refused:
        client.job(job_id)

    assert (refused.value.status, refused.value.code) == (404, "not_found")


def test_another_namespaces_job_is_not_found(client: Client, live: Instance) -> None:
    job_id = client.ingest([note()])["jobId"]

    with Client(live, f"other-{uuid4()}") as other, pytest.raises(ApiRefused, match="404"):
        other.job(job_id)


def test_a_person_is_not_kept_waiting_by_a_back_fill(client: Client, live: Instance) -> None:
    with Client(live, f"bulk-{uuid4()}") as bulk:
        notes = [note(f"Bulk sentence number {number} about oboes.") for number in range(3000)]
        jobs = [bulk.ingest(notes[at : at + 1000], lane="bulk")["jobId"] for at in range(0, 3000, 1000)]

        indexed(client, note("Rosa bought a boat."))

        assert "Rosa bought a boat." in contents(client, "What did Rosa buy?")
        assert bulk.job(jobs[-1])["status"] != "completed", "the back-fill was over too soon to show anything"
        wait_until(lambda: bulk.job(jobs[-1])["status"] == "completed", "the back-fill is completed", within=180)


def test_many_small_requests_at_once_are_all_found(client: Client) -> None:
    barrier = threading.Barrier(8)

    def send(number: int) -> Wire:
        barrier.wait()
        return indexed(client, note(f"Parcel {number} is in room {number * 7}."))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(8)))

    assert {f"Parcel {number} is in room {number * 7}." for number in range(8)} <= contents(
        client, "Which parcel is in which room?"
    )
