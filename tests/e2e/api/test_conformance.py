"""The memory scenarios of OpenWOP's public suite in strict mode, played by an outside client against `infinicon up` with
INFINICON_CONFORMANCE=1. What the scenarios leave unasked is asked here, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Instance, running
from infinicon.plugins import counters
from infinicon.settings import Settings
from tests.waiting import wait_until

MEMORY = "conformance-agent-memory-"
MARKER = re.compile(r"\[REDACTED:[^\]]+\]")
ENDED = {"completed", "failed", "cancelled"}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """A host whose seam is mounted."""
    with running(tmp_path_factory.mktemp("conformance"), variables={"INFINICON_CONFORMANCE": "1"}) as instance:
        yield instance


@pytest.fixture(scope="module")
def suite(host: Instance) -> Iterator[httpx.Client]:
    """Requests as the suite sends them."""
    headers = {"Authorization": f"Bearer {host.api_key}", "Accept": "application/json"}
    with httpx.Client(base_url=host.url, headers=headers, timeout=20) as client:
        yield client


@pytest.fixture(scope="module")
def discovery(host: Instance) -> Wire:
    """Read without a key."""
    answer = httpx.get(f"{host.url}/.well-known/openwop", headers={"Accept": "application/json"})
    assert answer.status_code == 200
    found: Wire = answer.json()
    return found


def started(suite: httpx.Client, workflow: str, **more: Any) -> str:
    answer = suite.post("/v1/runs", json={"workflowId": workflow, **more})
    assert answer.status_code == 201
    run = answer.json()["runId"]
    assert isinstance(run, str)
    return run


def ended(suite: httpx.Client, run: str) -> Wire:
    """As the suite polls: until it has ended, for ten seconds."""
    found: Wire = {}

    def is_over() -> bool:
        found.update(suite.get(f"/v1/runs/{run}").json())
        return found["status"] in ENDED

    wait_until(is_over, "the run has ended", within=10)
    return found


def variables(suite: httpx.Client, workflow: str) -> Wire:
    snapshot = ended(suite, started(suite, workflow))
    assert (snapshot["status"], snapshot.get("error")) == ("completed", None)
    said: Wire = snapshot["variables"]
    return said


def events(suite: httpx.Client, run: str) -> list[Wire]:
    found: list[Wire] = suite.get(f"/v1/runs/{run}/events").json()["events"]
    return found


def test_every_gate_is_open(discovery: Wire) -> None:
    assert discovery.keys() >= {"protocolVersion", "supportedEnvelopes", "schemaVersions", "limits"}
    for families in (discovery, discovery["capabilities"]):
        assert "long-term" in families["agents"]["memoryBackends"]
        assert families["agents"]["memoryConsolidation"] == {"supported": True}
        memory = families["memory"]
        assert memory["supported"] is True
        assert memory["injectionBudget"] == {"supported": True, "tokenCounter": "o200k_base"}
        assert memory["search"] == {"supported": True, "modes": ["semantic"]}
        assert memory["attribution"] == {"supported": True, "emitsWriteEvents": True}
    names = ("roundtrip", "redaction", "ttl", "cross-tenant", "injection-budget")
    assert sorted(discovery["fixtures"]) == sorted(["conformance-noop", *(f"{MEMORY}{name}" for name in names)])


def test_what_is_not_advertised_is_not_there(discovery: Wire, suite: httpx.Client) -> None:
    assert discovery["memory"].keys() == {"supported", "injectionBudget", "search", "attribution"}
    assert discovery["agents"].keys() == {"memoryBackends", "memoryConsolidation"}
    for path in ("/v1/test/memory/compact", "/v1/host/sample/memory/distill", "/v1/host/sample/commitment/fire"):
        assert suite.post(path, json={}).status_code == 404


def test_the_seam_is_in_no_document(suite: httpx.Client) -> None:
    assert [path for path in suite.get("/openapi.json").json()["paths"] if path.startswith("/v1")] == []


def test_round_trip(suite: httpx.Client) -> None:
    readback = variables(suite, f"{MEMORY}roundtrip")["memoryReadback"]

    assert isinstance(readback["id"], str)
    assert isinstance(readback["content"], str)
    assert isinstance(readback["tags"], list)
    assert datetime.fromisoformat(readback["createdAt"]) < datetime.now(UTC)
    ref = {"memoryRef": "conformance/agent-memory-roundtrip"}
    assert suite.get(f"/v0/memory/entries/{readback['id']}", params=ref).json() == {"entry": readback}


def test_redaction(suite: httpx.Client) -> None:
    readback = variables(suite, f"{MEMORY}redaction")["memoryReadback"]

    assert MARKER.search(readback["content"])
    assert MARKER.search(readback["tags"][0])
    assert "conformance-" not in json.dumps(readback), "how the secret begins"


def test_expiry(suite: httpx.Client) -> None:
    said = variables(suite, f"{MEMORY}ttl")
    listed = {entry["id"]: entry for entry in said["memoryList"]}

    assert [one for one in listed.values() if datetime.fromisoformat(one["expiresAt"]) <= datetime.now(UTC)] == []
    assert isinstance(said["freshId"], str)
    assert isinstance(said["expiredId"], str)
    assert said["freshId"] in listed
    assert said["expiredId"] not in listed
    answer = suite.get(f"/v0/memory/entries/{said['expiredId']}", params={"memoryRef": "conformance/agent-memory-ttl"})
    assert answer.json() == {"entry": None}


def test_cross_tenant_isolation(suite: httpx.Client) -> None:
    said = variables(suite, f"{MEMORY}cross-tenant")

    assert said["ownerEntryId"] in {entry["id"] for entry in said["ownerProbe"]}
    assert said["crossTenantProbe"] == []


def test_injection_budget(suite: httpx.Client) -> None:
    said = variables(suite, f"{MEMORY}injection-budget")
    listed = said["budgetedEntries"]
    count = counters.o200k_base(Settings()).count

    assert (said["tokenBudget"], said["tokenCounter"]) == (800, "o200k_base")
    assert 0 < said["budgetedTokenTotal"] <= 800
    assert said["budgetedTokenTotal"] == sum(count(entry["content"]) for entry in listed)
    assert len(listed) > 1
    assert said["overBudgetEntryOmitted"] is True
    assert said["overBudgetEntryId"] not in {entry["id"] for entry in listed}
    assert MARKER.search(said["redactedContentSample"])
    assert said["redactedContentSample"] in {entry["content"] for entry in listed}
    assert said["crossTenantBudgetedProbe"] == []
    assert said["recencyOrder"] == [entry["id"] for entry in listed]
    assert all(isinstance(one, str) for one in said["relevanceOrder"])
    assert said["relevanceOrder"] != said["recencyOrder"]


def test_a_run_reads_by_the_list_that_everybody_has(suite: httpx.Client) -> None:
    said = variables(suite, f"{MEMORY}injection-budget")
    asked = {"memoryRef": "conformance/agent-memory-injection-budget", "tokenBudget": 800}
    recency = suite.post("/v0/memory/list", json=asked).json()
    ranked = {**asked, "rank": "relevance", "query": "refund policy"}
    relevance = suite.post("/v0/memory/list", json=ranked).json()

    assert (recency["entries"], recency["tokensUsed"]) == (said["budgetedEntries"], said["budgetedTokenTotal"])
    assert [entry["id"] for entry in relevance["entries"]] == said["relevanceOrder"]
    assert recency["oversizedOmitted"] >= 1
    assert recency["truncated"] is True


def test_many_runs_at_once_all_end_well(suite: httpx.Client) -> None:
    runs = [started(suite, f"{MEMORY}{name}") for name in ("ttl", "roundtrip", "cross-tenant") for _ in range(4)]

    assert {ended(suite, run)["status"] for run in runs} == {"completed"}


def test_attribution_names_what_was_written_and_never_what_it_says(suite: httpx.Client) -> None:
    run = started(suite, "conformance-noop", tenantId="mem-attr-emit", inputs={})
    summary = ended(suite, run)["variables"]["summary"]
    written = [event for event in events(suite, run) if event["type"] == "memory.written"]

    assert [event["payload"]["memoryId"] for event in written] == [summary["id"]]
    for event in written:
        assert event["runId"] == run
        assert event["payload"].keys() == {"memoryRef", "memoryId"}
        assert all(isinstance(part, str) and part for part in event["payload"].values())
    assert events(suite, run)[-1]["type"] == "run.completed"


def test_every_write_of_every_run_is_attributed(suite: httpx.Client) -> None:
    run = started(suite, f"{MEMORY}injection-budget")
    said = ended(suite, run)["variables"]
    written = {event["payload"].get("memoryId") for event in events(suite, run)}

    assert {*said["recencyOrder"], said["overBudgetEntryId"]} <= written


def test_a_replay_attributes_the_same(suite: httpx.Client) -> None:
    run = started(suite, "conformance-noop", tenantId="mem-attr-replay", inputs={})
    ended(suite, run)
    answer = suite.post(f"/v1/runs/{run}:fork", json={"fromSeq": 0, "mode": "replay"})
    assert answer.status_code == 201
    replay = answer.json()["runId"]

    assert ended(suite, replay)["status"] == "completed"
    first, second = (
        [event["payload"]["memoryId"] for event in events(suite, one) if event["type"] == "memory.written"]
        for one in (run, replay)
    )
    assert first == second != []
    assert {event["runId"] for event in events(suite, replay)} == {replay}


def test_consolidation_ends_where_it_has_been(host: Instance, suite: httpx.Client) -> None:
    asked = {"memoryRef": "mem://conformance/consolidation"}
    first = suite.post("/v1/host/sample/memory/consolidate", json={**asked, "includeSecretCanary": True})
    second = suite.post("/v1/host/sample/memory/consolidate", json=asked)
    entries = suite.post("/v0/memory/list", json=asked).json()["entries"]

    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json()["event"]["outputCount"] < first.json()["event"]["inputCount"], "equal statements are folded"
    assert second.json()["event"]["inputCount"] == second.json()["event"]["outputCount"] == len(entries)
    assert first.json()["secretLeaked"] is second.json()["secretLeaked"] is False
    assert [entry for entry in entries if MARKER.search(entry["content"])] != [], "the secret was there to be redacted"
    assert first.json()["event"].keys() == {"type", "memoryRef", "inputCount", "outputCount"}
    scope = {"tenantId": host.tenant_id, "namespaceId": asked["memoryRef"]}
    job = suite.post("/v0/get-job", json={"scope": scope, "jobId": first.json()["jobId"]}).json()
    assert (job["type"], job["status"], job["result"]["duplicates"]) == ("consolidate", "completed", 2)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/v1/runs", 400, "invalid_request"),
        ("GET", "/v1/runs/none", 404, "not_found"),
        ("GET", "/v1/nothing", 404, "not_found"),
        ("DELETE", "/v1/runs", 405, "method_not_allowed"),
    ],
)
def test_errors_have_their_code_twice(suite: httpx.Client, method: str, path: str, status: int, code: str) -> None:
    answer = suite.request(method, path, json={} if method == "POST" else None)

    assert answer.status_code == status
    assert (answer.json()["error"], answer.json()["code"]) == (code, code)
    assert answer.json().keys() - {"details"} == {"error", "code", "message", "retryable"}


def test_without_a_key_nothing_runs(host: Instance) -> None:
    answer = httpx.post(f"{host.url}/v1/runs", json={"workflowId": "conformance-noop"})

    assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized")


def test_a_key_of_some_namespaces_runs_nothing(host: Instance, suite: httpx.Client) -> None:
    key = suite.post(
        "/v0/keys", json={"tenantId": host.tenant_id, "permissions": ["admin"], "namespaces": ["of this test"]}
    ).json()["apiKey"]
    headers = {"Authorization": f"Bearer {key}"}
    answer = suite.post("/v1/runs", json={"workflowId": "conformance-noop"}, headers=headers)

    assert (answer.status_code, answer.json()["error"]) == (403, "unauthorized")


@pytest.mark.parametrize(
    "path", ["/v1/runs", "/v1/runs/x", "/v1/runs/x/events", "/v1/runs/x:fork", "/v1/host/sample/memory/consolidate"]
)
def test_without_the_setting_it_is_an_unknown_route_as_any(live: Instance, http: httpx.Client, path: str) -> None:
    unknown = http.get("/v9/nothing")
    for answer in (
        http.get(path),
        http.post(path, json={"workflowId": "conformance-noop"}),
        httpx.get(live.url + path),
    ):
        assert (answer.status_code, answer.json()) == (404, unknown.json())


def test_without_the_setting_nothing_of_it_is_advertised(live: Instance) -> None:
    document = httpx.get(f"{live.url}/.well-known/openwop").json()

    assert document["memory"].keys() == {"supported", "injectionBudget", "search"}
    assert document["agents"] == {"memoryBackends": ["long-term"]}
    assert "conformance" not in json.dumps(document)
    assert "/v1" not in json.dumps(httpx.get(f"{live.url}/openapi.json").json()["paths"])
