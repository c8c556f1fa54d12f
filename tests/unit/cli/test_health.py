"""`infinicon health`: what counts as healthy, and what is said of the rest."""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from infinicon.cli import health
from infinicon.cli.faults import WrongUsage
from infinicon.settings import Settings, SettingsError


@pytest.fixture
def answering() -> Iterator[dict[str, int]]:
    """A server that answers paths with these statuses; its own port is under the name `port`."""
    statuses: dict[str, int] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(statuses.get(self.path, 404))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        statuses["port"] = server.server_port
        yield statuses
        server.shutdown()


def asked(monkeypatch: pytest.MonkeyPatch, process: str, kind: str | None = None, **values: object) -> int | str | None:
    monkeypatch.setattr(health, "settings", lambda: Settings(**values))  # type: ignore[arg-type] # parsed
    with pytest.raises(SystemExit) as ended:
        health.run(process, kind, as_json=True)
    return ended.value.code


def test_an_api_that_is_ready_is_healthy(monkeypatch: pytest.MonkeyPatch, answering: dict[str, int]) -> None:
    answering["/readyz"] = 200
    assert asked(monkeypatch, "api", host="0.0.0.0", port=answering["port"]) == 0

    answering["/readyz"] = 503
    assert asked(monkeypatch, "api", port=answering["port"]) == 1


def test_flower_is_healthy_behind_its_password(monkeypatch: pytest.MonkeyPatch, answering: dict[str, int]) -> None:
    answering["/"] = 401
    assert asked(monkeypatch, "flower", flower_port=answering["port"]) == 0

    answering["/"] = 200
    assert asked(monkeypatch, "flower", flower_port=answering["port"]) == 1


def test_nobody_there_is_not_healthy(
    monkeypatch: pytest.MonkeyPatch, answering: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, "api", host="127.0.0.2", port=answering["port"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["process"], told["healthy"]) == ("api", False)
    assert "ConnectionRefusedError" in told["reason"]

    assert asked(monkeypatch, "encoder", encoder_url="unix:///nothing/here") == 1
    assert asked(monkeypatch, "worker", "cpu", broker_url="redis://127.0.0.1:9/0") == 1


def test_an_encoder_that_answers_is_healthy(monkeypatch: pytest.MonkeyPatch, answering: dict[str, int]) -> None:
    answering["/readyz"] = 200

    assert asked(monkeypatch, "encoder", encoder_url=f"http://127.0.0.1:{answering['port']}") == 0


def test_beat_is_healthy_while_it_sends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    heartbeat = tmp_path / "beat"
    assert asked(monkeypatch, "beat", heartbeat_file=heartbeat) == 1

    heartbeat.touch()
    assert asked(monkeypatch, "beat", heartbeat_file=heartbeat) == 0

    long_ago = heartbeat.stat().st_mtime - 2 * health.BEAT_SECONDS
    os.utime(heartbeat, (long_ago, long_ago))
    assert asked(monkeypatch, "beat", heartbeat_file=heartbeat) == 1


@pytest.mark.parametrize(("process", "kind"), [("worker", None), ("api", "cpu")])
def test_a_kind_belongs_to_a_worker(process: str, kind: str | None) -> None:
    with pytest.raises(WrongUsage):
        health.run(process, kind, as_json=False)


def test_what_it_needs_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "settings", Settings)

    with pytest.raises(SettingsError, match="INFINICON_HEARTBEAT_FILE"):
        health.run("beat", None, as_json=False)
