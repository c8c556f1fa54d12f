"""Health, the OpenAPI document, and many callers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
from openapi_spec_validator import validate

from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import ROUTES, note, send, valid_body


def test_health_needs_no_key(live: Instance) -> None:
    assert httpx.get(live.url + "/healthz").json() == {"status": "ok"}
    assert httpx.get(live.url + "/readyz").json() == {"status": "ready"}


def test_health_is_asked_by_head_as_well(live: Instance) -> None:
    """As load balancers do. The same answer, without its body."""
    for path in ("/healthz", "/readyz"):
        asked, reply = httpx.get(live.url + path), httpx.head(live.url + path)
        assert (reply.status_code, reply.content) == (200, b"")
        assert reply.headers["content-type"] == asked.headers["content-type"]
        assert reply.headers["content-length"] == asked.headers["content-length"]


def test_the_openapi_document_is_valid_and_states_the_limits(live: Instance) -> None:
    document = httpx.get(live.url + "/openapi.json").json()

    validate(document)
    assert {"/healthz", "/readyz", "/v0/jobs/{jobId}", *ROUTES} <= document["paths"].keys()
    assert document["x-limits"]["episodesPerRequest"] == 1000
    assert document["x-limits"]["bodyBytes"] == 32 * 1024 * 1024


def test_the_document_s_examples_are_answered(live: Instance, client: Client, http: httpx.Client) -> None:
    paths = httpx.get(live.url + "/openapi.json").json()["paths"]
    for path in ROUTES:
        media = paths[path]["post"]["requestBody"]["content"]["application/json"]
        reply = send(http, path, {**media["example"], "scope": client.scope})
        assert reply.status_code in {200, 404}


def test_answers_are_not_stored_in_between(client: Client, http: httpx.Client) -> None:
    for path in ROUTES:
        reply = send(http, path, valid_body(path, client.scope))
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["content-type"] == "application/json"


def test_a_hundred_callers_are_served_and_health_beside_them(live: Instance, client: Client) -> None:
    client.ingest([note()], consistency="indexed")
    with ThreadPoolExecutor(110) as pool:
        queries = [pool.submit(client.query, "gate code", 5) for _ in range(100)]
        health = [pool.submit(httpx.get, live.url + path, timeout=10) for path in ("/healthz", "/readyz") * 5]

    assert all(len(query.result()) == 1 for query in queries)
    assert [reply.result().status_code for reply in health] == [200] * 10


def test_waiting_callers_hold_nothing_that_others_need(live: Instance, client: Client) -> None:
    with ThreadPoolExecutor(60) as pool:
        waiting = [pool.submit(client.ingest, [note(f"note {number}")], consistency="indexed") for number in range(50)]
        beside = [client.query("note", 1) for _ in range(5)]
        assert httpx.get(live.url + "/healthz", timeout=10).status_code == 200

    assert len(beside) == 5
    assert [reply.result()["results"][0]["status"] for reply in waiting] == ["created"] * 50
