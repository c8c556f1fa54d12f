"""The doctor finds what is wrong, and says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import httpx
import pytest

import infinicon
from infinicon.cli import diagnosis
from infinicon.cli.client import Client
from infinicon.cli.connection import Connection

HEALTHY: dict[str, Any] = {
    "version": infinicon.__version__,
    "database": {
        "version": "18.4",
        "pgvector": "0.8.5",
        "schemaVersion": "0002",
        "expectedSchemaVersion": "0002",
        "milliseconds": 1.0,
        "clockSkewSeconds": 0.01,
    },
    "broker": {"ok": True},
    "workers": {"cpu": 1, "interactive": 1, "embed": 2, "consolidate": 1},
    "encoder": {"ok": True, "model": "m"},
    "scheduler": {"ok": True, "ageSeconds": 3.1},
    "work": {"lanes": [], "troubledBatches": 0, "uncountedEntries": False},
}
KEY = {"keyId": "k", "tenantId": "acme", "permissions": ["admin"]}


@pytest.fixture
def found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, dict[str, Any]]]:
    """The exit code, and findings that are not fine by their check, for a server that answers so."""

    def run(status: dict[str, Any], key: dict[str, Any] = KEY, ready: int = 200) -> tuple[int, dict[str, Any]]:
        fault = {"code": "unavailable", "message": "the encoder does not answer", "retryable": True}
        replies = {
            "/readyz": httpx.Response(ready, json={"status": "ready"} if ready == 200 else fault),
            "/v0/key": httpx.Response(200, json=key),
            "/v0/status": httpx.Response(200, json=status),
        }
        transport = httpx.MockTransport(lambda request: replies[request.url.path])

        class Fake(Client):
            def __init__(self, connection: Connection, *, timeout: float) -> None:
                super().__init__(connection, timeout=timeout)
                self.http = httpx.Client(base_url="http://x", transport=transport)

        monkeypatch.setattr(diagnosis, "Client", Fake)
        code = 0
        try:
            diagnosis.run(Connection("http://x", "inf_k"), as_json=True)
        except SystemExit as end:
            code = int(end.code or 0)
        findings = json.loads(capsys.readouterr().out)["findings"]
        return code, {item["check"]: item for item in findings if item["state"] != "ok"}

    return run


def test_a_healthy_server(found: Callable[..., Any]) -> None:
    assert found(HEALTHY) == (0, {})


@pytest.mark.parametrize(
    ("part", "value", "check", "state", "remedy"),
    [
        (("broker", "ok"), False, "broker", "wrong", "INFINICON_BROKER_URL"),
        (("workers", "embed"), 0, "workers", "wrong", "infinicon worker embed"),
        (("scheduler", "ok"), False, "scheduler", "wrong", "infinicon beat"),
        (("scheduler",), {"ok": False}, "scheduler", "wrong", "infinicon beat"),
        (("encoder", "ok"), False, "encoder", "wrong", "infinicon encoder"),
        (("database", "schemaVersion"), "0001", "schema", "wrong", "infinicon migrate"),
        (("database", "pgvector"), "0.7.4", "database", "wrong", "0.8"),
        (("database", "milliseconds"), 500.0, "latency", "warning", "near"),
        (("database", "clockSkewSeconds"), -30.0, "clock", "warning", "NTP"),
        (("work", "troubledBatches"), 3, "work", "warning", "logs"),
        (("work", "uncountedEntries"), True, "entries", "warning", "infinicon reindex"),
        (("version",), "0.0.0", "version", "warning", "same release"),
    ],
)
def test_each_fault_is_found_and_has_a_remedy(
    found: Callable[..., Any], part: tuple[str, ...], value: object, check: str, state: str, remedy: str
) -> None:
    status = deepcopy(HEALTHY)
    place: Any = status
    for name in part[:-1]:
        place = place[name]
    place[part[-1]] = value

    code, findings = found(status)
    assert list(findings) == [check]
    assert (findings[check]["state"], code) == (state, 1 if state == "wrong" else 0)
    assert remedy in findings[check]["remedy"]


@pytest.mark.parametrize(
    ("lane", "seconds", "failed", "warned"),
    [("bulk", 600.0, 0, False), ("bulk", 7200.0, 0, True), ("interactive", 90.0, 0, True), ("bulk", 0.0, 2, True)],
)
def test_work_that_waits_long_or_failed(
    found: Callable[..., Any], lane: str, seconds: float, failed: int, *, warned: bool
) -> None:
    status = deepcopy(HEALTHY)
    row = {"lane": lane, "waiting": 5, "claimed": 1, "failed": failed, "oldestSeconds": seconds}
    status["work"]["lanes"] = [row]

    code, findings = found(status)
    assert (list(findings), code) == (["work"] if warned else [], 0)


def test_a_server_that_is_not_ready_and_a_key_that_runs_out(found: Callable[..., Any]) -> None:
    code, findings = found(HEALTHY, {**KEY, "expiresAt": "2020-01-01T00:00:00Z"}, ready=503)

    assert code == 1
    assert findings["server"]["state"] == "wrong"
    assert "keys rotate" in findings["key"]["remedy"]
