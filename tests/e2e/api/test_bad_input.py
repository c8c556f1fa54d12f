"""A faulty body, count or scope is a structured 4xx; it names field and rule, and never what was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import JSON, ROUTES, api_process, logs_of, note, refusal, send, valid_body

MIB = 1024 * 1024

BROKEN_BODIES = {
    "nothing": b"",
    "half an object": b'{"scope":',
    "not JSON": b"hello",
    "two values": b"{}{}",
    "an array": b"[]",
    "NaN": b'{"limit": NaN}',
    "Infinity": b'{"metadata": {"x": Infinity}}',
    "overflow": b'{"limit": 1e999}',
    "not UTF-8": b'{"query": "\xff"}',
    "UTF-16": '{"query": "x"}'.encode("utf-16"),
    "65 levels": b'{"a":' + b"[" * 64 + b"]" * 64 + b"}",
    "900 levels": b'{"a":' + b"[" * 900 + b"]" * 900 + b"}",
    "20,000 levels": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "brackets without end": b"[" * 1_000_000,
    "5,000 digits": b'{"limit": ' + b"9" * 5000 + b"}",
}

BAD_SCOPES: dict[str, object] = {
    "absent": None,
    "not an object": "acme",
    "empty": {},
    "no namespace": {"tenantId": "acme"},
    "blank tenant": {"tenantId": " ", "namespaceId": "n"},
    "empty namespace": {"tenantId": "acme", "namespaceId": ""},
    "a control character": {"tenantId": "acme", "namespaceId": "a\x00b"},
    "a lone surrogate": {"tenantId": "acme", "namespaceId": "\ud800"},
    "257 characters": {"tenantId": "acme", "namespaceId": "x" * 257},
    "5,000 characters": {"tenantId": "x" * 5000, "namespaceId": "n"},
    "a number": {"tenantId": 5, "namespaceId": "n"},
    "a blank agent": {"tenantId": "acme", "namespaceId": "n", "agentId": " "},
    "filters that are no object": {"tenantId": "acme", "namespaceId": "n", "filters": []},
}


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("name", BROKEN_BODIES)
def test_a_broken_body_is_refused(http: httpx.Client, path: str, name: str) -> None:
    refusal(send(http, path, BROKEN_BODIES[name]), 400, "invalid_request")


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("name", BAD_SCOPES)
def test_a_bad_scope_is_refused_everywhere(http: httpx.Client, client: Client, path: str, name: str) -> None:
    body = {**valid_body(path, client.scope), "scope": BAD_SCOPES[name]}
    if name == "absent":
        del body["scope"]

    fault = refusal(send(http, path, body), 400, "invalid_request")

    assert fault["details"]["field"].startswith("scope")


@pytest.mark.parametrize("path", ROUTES)
def test_a_body_must_say_that_it_is_json(http: httpx.Client, client: Client, path: str) -> None:
    body = valid_body(path, client.scope)
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/json; charset=latin-1"}):
        refusal(send(http, path, body, headers), 415, "unsupported_media_type")
    refusal(send(http, path, body, {**JSON, "Content-Encoding": "gzip"}), 415, "unsupported_media_type")


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("value", [None, "Bearer", "Basic eA==", "Bearer inf_not_a_key", "Bearer " + "x" * 5000])
def test_without_a_key_nobody_gets_in(live: Instance, path: str, value: str | None) -> None:
    headers = {**JSON} if value is None else {**JSON, "Authorization": value}

    reply = httpx.post(live.url + path, content=b"not even JSON", headers=headers)

    refusal(reply, 401, "unauthorized")
    assert reply.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("path", ROUTES)
def test_another_tenant_is_refused_without_a_hint(http: httpx.Client, client: Client, path: str) -> None:
    replies = [
        send(http, path, valid_body(path, {**client.scope, "tenantId": tenant}))
        for tenant in ("t-blue", "no such tenant")
    ]

    for reply in replies:
        refusal(reply, 403, "unauthorized")
    assert replies[0].content == replies[1].content


def test_unknown_routes_and_methods_answer_in_our_shape(http: httpx.Client) -> None:
    for path in ("/", "/v0", "/v0/ingest/", "/v0/nothing", "/v1/query", "/docs", "/redoc"):
        refusal(http.get(path), 404, "not_found")
    for path in ROUTES:
        assert http.get(path).headers["allow"] == "POST"
        refusal(http.get(path), 405, "method_not_allowed")
    refusal(http.post("/healthz"), 405, "method_not_allowed")


def test_a_body_over_the_limit_is_refused_while_it_streams(http: httpx.Client, live: Instance) -> None:
    process = api_process(live)
    before = process.memory_info().rss
    peak = before

    def chunks() -> Iterator[bytes]:
        nonlocal peak
        for _ in range(200):
            peak = max(peak, process.memory_info().rss)
            yield b" " * MIB

    reply = http.post("/v0/ingest", content=chunks(), headers=JSON)

    refusal(reply, 413, "too_large")
    refusal(http.post("/v0/ingest", content=b" " * (33 * MIB), headers=JSON), 413, "too_large")
    assert max(peak, process.memory_info().rss) - before < 50 * MIB


def test_neither_answers_nor_logs_repeat_what_was_sent(http: httpx.Client, client: Client, live: Instance) -> None:
    canary = "CANARY-77-bad-input"
    odd_agent: Wire = {**client.scope, "agentId": canary + "\x00"}
    bodies: list[tuple[str, object]] = [
        ("/v0/ingest", canary.encode()),
        ("/v0/ingest", {"scope": client.scope, "episodes": canary}),
        ("/v0/ingest", {"scope": client.scope, "episodes": [note()], "consistency": canary}),
        ("/v0/ingest", {"scope": odd_agent, "episodes": [note()]}),
        ("/v0/query", {"scope": client.scope, "query": canary, "limit": canary}),
        ("/v0/query", {"scope": client.scope, "query": canary, "filters": {canary: canary}}),
        ("/v0/query", {"scope": client.scope, "query": "x", "cursor": canary}),
        ("/v0/hydrate", {"scope": client.scope, "refs": [{"id": canary, "type": canary, "scope": client.scope}]}),
        ("/v0/get-job", {"scope": client.scope, "jobId": canary}),
        ("/v0/get-job", {"scope": {**client.scope, "tenantId": canary}, "jobId": canary}),
    ]
    for path, body in bodies:
        reply = send(http, path, body)
        assert reply.status_code in {400, 403, 404}
        assert canary not in reply.text
    faulty = [note(5, metadata={"x": canary}), note(contentType=canary), note(canary + "\x00"), note(createdBy=canary)]
    assert canary not in json.dumps([r.get("error") for r in client.ingest(faulty)["results"]])
    http.get(f"/v0/jobs/{canary}", params={**client.scope, "sessionId": canary})

    assert canary not in logs_of(live)
