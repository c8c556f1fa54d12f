"""Another process's view of a running Infinicon: start, stop, and the client."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from infinicon.cli import instance
from infinicon.cli.faults import ApiRefused
from infinicon.cli.instance import Client, Instance, InstanceFailed

DEV = {
    "url": "http://127.0.0.1:1",
    "apiKey": "inf_test",
    "tenantId": "t-1",
    "flowerUrl": "http://127.0.0.1:2",
    "flowerUser": "operator",
    "flowerPassword": "p",
}
READY = "print('infinicon is ready: http://127.0.0.1:1', flush=True)\n"


@contextlib.contextmanager
def child_that(code: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def wait_for_ready(child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    assert child.stdout.readline().startswith(instance.READY)


def client_that(handler: httpx.MockTransport) -> Client:
    client = Client(Instance("http://x", "inf_test", "t-1", "", "", "", Path("/"), 0), "space")
    client.api.http = httpx.Client(base_url="http://x", transport=handler)
    return client


def test_it_knows_how_to_get_in_from_dev_json(tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text(json.dumps(DEV))

    found = Instance.read(tmp_path, 42)

    assert (found.url, found.api_key, found.tenant_id, found.flower_user, found.pid) == (
        "http://127.0.0.1:1",
        "inf_test",
        "t-1",
        "operator",
        42,
    )


def test_ready_is_the_line_and_nothing_before_it(tmp_path: Path) -> None:
    with child_that("import signal; print('starting', flush=True)\n" + READY + "signal.pause()") as child:
        instance._wait_until_ready(child, tmp_path / "up.log")


def test_a_child_that_ends_before_it_is_ready_is_told_with_its_log(tmp_path: Path) -> None:
    with child_that("raise SystemExit(3)") as child, pytest.raises(InstanceFailed, match=r"code 3 .*up\.log"):
        instance._wait_until_ready(child, tmp_path / "up.log")


def test_stopping_takes_a_clean_end_for_success() -> None:
    with child_that(
        "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n" + READY + "signal.pause()"
    ) as child:
        wait_for_ready(child)

        instance.stop(child, patience=30)

        assert child.returncode == 0


def test_stopping_reports_an_end_that_was_not_clean() -> None:
    with child_that(READY + "import signal; signal.pause()") as child:
        wait_for_ready(child)

        with pytest.raises(InstanceFailed, match=f"code {-signal.SIGTERM}"):
            instance.stop(child, patience=30)


def test_stopping_kills_what_does_not_stop() -> None:
    with child_that(
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY + "while True: signal.pause()"
    ) as child:
        wait_for_ready(child)

        with pytest.raises(InstanceFailed, match="did not stop"):
            instance.stop(child, patience=0.2)

        assert child.returncode == -signal.SIGKILL


def test_the_scope_goes_with_every_request() -> None:
    seen: list[object] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        return httpx.Response(200, json={"refs": []})

    assert client_that(httpx.MockTransport(answer)).query("where?", 3) == []
    assert seen == [{"scope": {"tenantId": "t-1", "namespaceId": "space"}, "query": "where?", "limit": 3}]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (httpx.Response(403, json={"code": "unauthorized", "message": "no", "retryable": False}), "unauthorized"),
        (httpx.Response(502, text="<html>"), "not a MemoryApiError"),
    ],
)
def test_a_refusal_names_status_and_code_only(reply: httpx.Response, code: str) -> None:
    client = client_that(httpx.MockTransport(lambda _: reply))

    with pytest.raises(ApiRefused, match=code) as refused:
        client.query("CANARY-77", 3)

    assert "CANARY-77" not in str(refused.value)


def test_hydrate_takes_a_missing_object_for_a_fault() -> None:
    client = client_that(httpx.MockTransport(lambda _: httpx.Response(200, json={"objects": [], "missing": [{}]})))

    with pytest.raises(ApiRefused, match="missing"):
        client.hydrate([{}])
