from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

import infinicon.cli.commands  # noqa: F401 - registers them
from infinicon.cli import exits
from infinicon.cli.app import app
from infinicon.cli.client import Client, Wire
from infinicon.cli.connection import Connection
from infinicon.cli.faults import ApiRefused, NoServer, WrongUsage
from infinicon.cli.job_control import Jobs, reindex, show_job, show_list, watch_job, watch_list

SCOPE = {"tenantId": "t", "namespaceId": "home"}
Capture = pytest.CaptureFixture[str]


def job(status: str = "running", done: int = 1, total: int = 4, **more: Any) -> Wire:
    return {
        "jobId": "id-1",
        "type": "ingest",
        "status": status,
        "createdAt": "2026-11-30T10:00:00Z",
        "updatedAt": "2026-11-30T10:00:01Z",
        "progress": {
            "done": done,
            "failed": 0,
            "total": total,
            "waiting": total - done,
            "extract": 0,
            "embed": 0,
            "index": 0,
        },
        **more,
    }


def summary(**jobs: int) -> Wire:
    by_status = {"queued": 0, "running": 0, "completed": 0, "failed": 0, "cancelled": 0, **jobs}
    return {"jobs": by_status, "progress": job()["progress"]}


class Server:
    """Answers one after the other, and remembers what it was asked. An exception stands for no answer; the last answer stays."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    def jobs(self, **wanted: str) -> Jobs:
        client = object.__new__(
            Client
        )  # its own connection would load certificates, which takes longer than all the rest
        client.connection = Connection("http://x", "inf_test")
        client.http = httpx.Client(base_url="http://x", transport=httpx.MockTransport(self))
        return Jobs(client, SCOPE, wanted)


def refusal(status: int, code: str, *, retryable: bool = False) -> httpx.Response:
    return httpx.Response(status, json={"code": code, "message": "no", "retryable": retryable})


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infinicon.cli.job_control.time.sleep", lambda _: None)


def test_a_list_is_a_table_and_a_sum(capsys: Capture) -> None:
    server = Server(
        {
            "jobs": [job(label="arch\x1bive", stage="embed"), job("failed", 3)],
            "summary": summary(running=1, failed=1),
            "cursor": "c",
        }
    )
    show_list(server.jobs(label="archive", status="failed"), 2, as_json=False)

    shown = capsys.readouterr()
    header, first, second = shown.out.splitlines()
    assert header.split() == ["job", "type", "status", "stage", "progress", "label", "created"]
    assert first.split() == ["id-1", "ingest", "running", "embed", "1/4", "arch", "ive", "2026-11-30T10:00:00Z"]
    assert second.split() == ["id-1", "ingest", "failed", "3/4", "2026-11-30T10:00:00Z"]
    assert shown.err.splitlines() == [
        "jobs: 1 running, 1 failed; 1 of 4 done; 3 waiting",
        "there are older ones: --limit shows more",
    ]
    assert dict(server.asked[0].url.params) == {**SCOPE, "label": "archive", "status": "failed", "limit": "2"}


def test_a_long_list_takes_several_pages(capsys: Capture) -> None:
    page = {"jobs": [job()] * 200, "summary": summary(running=900), "cursor": "next"}
    server = Server(page, page, {**page, "jobs": [job()] * 50})
    show_list(server.jobs(), 450, as_json=True)

    assert [request.url.params.get("limit") for request in server.asked] == ["200", "200", "50"]
    assert [request.url.params.get("cursor") for request in server.asked] == [None, "next", "next"]
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["jobs"]) == 450
    assert shown["summary"] == summary(running=900)


def test_no_job_is_said(capsys: Capture) -> None:
    show_list(Server({"jobs": [], "summary": summary()}).jobs(), 20, as_json=False)

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[0] == "no job fits"


def test_one_job_tells_its_error_and_the_remedy(capsys: Capture) -> None:
    error = {"code": "plugin_failed", "message": "no\x1b way", "retryable": False, "details": {"stage": "extract"}}
    result = {"warnings": [{"code": "not_embedded", "memoryId": "m"}] * 2}
    show_job(job("failed", label="archive", error=error, result=result), as_json=False)

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "job id-1"
    assert "  warnings  2 without a vector: found by their words only" in lines
    assert "  error     plugin_failed in extract: no  way" in lines
    assert lines[-1].startswith("  remedy")
    assert "infinicon jobs id-1 --retry" in lines[-1]
    show_job(job(), as_json=True)
    assert json.loads(capsys.readouterr().out) == job()


@pytest.mark.parametrize("code", ["cancelled", "stage_timeout", "plugin_failed", "invalid_content", "something_new"])
def test_every_error_has_a_remedy(code: str, capsys: Capture) -> None:
    show_job(job("failed", error={"code": code, "message": "no", "retryable": False}), as_json=False)

    assert len(capsys.readouterr().out.splitlines()[-1]) > 40


@pytest.mark.parametrize(
    ("verb", "status", "said"),
    [
        ("cancel", "cancelled", ""),
        ("cancel", "completed", "it was over already: completed\n"),
        ("retry", "queued", ""),
        ("retry", "completed", "nothing of it failed or was cancelled\n"),
        ("retry", "failed", "nothing is left to retry\n"),
    ],
)
def test_a_change_says_where_it_changed_nothing(verb: str, status: str, said: str, capsys: Capture) -> None:
    server = Server(job(status))
    assert server.jobs().change("../id 1", verb)["status"] == status

    assert capsys.readouterr().err == said
    assert server.asked[0].url.raw_path.decode() == f"/v0/jobs/..%2Fid%201/{verb}"
    assert json.loads(server.asked[0].content) == {"scope": SCOPE}


@pytest.mark.parametrize(("end", "code"), [("completed", 0), ("failed", 1), ("cancelled", 1)])
def test_a_job_is_watched_to_its_end(end: str, code: int, capsys: Capture) -> None:
    states = [job("queued", 0), job("queued", 0), job(stage="embed"), job(stage="embed"), job(end, 4)]
    server = Server(*states)

    assert watch_job(server.jobs(), "id-1", as_json=False) == code
    assert capsys.readouterr().out.splitlines() == ["queued  0/4", "running (embed)  1/4", f"{end}  4/4"]
    assert len(server.asked) == len(states)
    watch_job(Server(*states).jobs(), "id-1", as_json=True)
    assert [json.loads(line)["status"] for line in capsys.readouterr().out.splitlines()] == ["queued", "running", end]


def test_the_end_of_a_watched_job_tells_its_error(capsys: Capture) -> None:
    error = {"code": "stage_timeout", "message": "the stage did not finish", "retryable": True}
    watch_job(Server(job("failed", error=error)).jobs(), "id-1", as_json=False)

    assert "stage_timeout: the stage did not finish" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("end", "code"),
    [({"completed": 3}, 0), ({"completed": 2, "failed": 1}, 1), ({"completed": 2, "cancelled": 1}, 1), ({}, 0)],
)
def test_a_list_is_watched_until_nothing_is_open(end: dict[str, int], code: int, capsys: Capture) -> None:
    open_ones: Sequence[Wire] = [summary(queued=2, running=1), summary(queued=2, running=1), summary(running=1)]
    answers = [{"jobs": [job()], "summary": standing} for standing in (*open_ones, summary(**end))]

    assert watch_list(Server(*answers).jobs(), 20, as_json=False) == code
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_on_a_terminal_the_last_state_stands_alone(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    answers = [{"jobs": [job(label="x" * 99)], "summary": standing} for standing in (summary(running=1), summary())]
    watch_list(Server(*answers).jobs(), 20, as_json=False)

    first, second = capsys.readouterr().out.split("\x1b[3F\x1b[J")
    assert [len(line) <= 39 for line in first.splitlines()] == [True] * 3
    assert len(second.splitlines()) == 3


def test_a_server_that_is_away_for_a_moment_is_waited_for(capsys: Capture) -> None:
    away = httpx.ConnectError("refused")
    server = Server(job(), away, refusal(503, "unavailable", retryable=True), away, job("completed", 4))

    assert watch_job(server.jobs(), "id-1", as_json=False) == exits.FINE
    assert capsys.readouterr().out.splitlines()[-1] == "completed  4/4"


@pytest.mark.parametrize("answers", [[httpx.ConnectError("refused")], [refusal(503, "unavailable", retryable=True)]])
def test_a_server_that_never_answered_is_not_waited_for(answers: list[object]) -> None:
    with pytest.raises((NoServer, ApiRefused)):
        watch_job(Server(*answers).jobs(), "id-1", as_json=False)


def test_a_server_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr("infinicon.cli.job_control.time.monotonic", lambda: next(clock))
    with pytest.raises(NoServer):
        watch_job(Server(job(), httpx.ConnectError("refused")).jobs(), "id-1", as_json=False)


def test_what_is_refused_ends_the_watch() -> None:
    with pytest.raises(ApiRefused) as fault:
        watch_job(Server(job(), refusal(404, "not_found")).jobs(), "id-1", as_json=False)
    assert fault.value.exit_code == exits.NOT_FOUND


def test_a_reindex_says_its_job_and_is_waited_for_where_wanted(capsys: Capture) -> None:
    server = Server({"jobId": "id-1", "status": "queued"}, job("running"), job("completed", 4))
    client = server.jobs().client

    assert reindex(client, SCOPE, wait=True, as_json=False) == exits.FINE
    assert [request.url.path for request in server.asked] == ["/v0/reindex", "/v0/jobs/id-1", "/v0/jobs/id-1"]
    shown = capsys.readouterr()
    assert "id-1" in shown.err
    assert shown.out.splitlines()[-1] == "completed  4/4"
    failing = Server({"jobId": "id-1", "status": "queued"}, job("failed", 3)).jobs().client
    assert reindex(failing, SCOPE, wait=True, as_json=False) == exits.FAILED


def test_a_reindex_as_json(capsys: Capture) -> None:
    started = {"jobId": "id-1", "status": "queued"}

    assert reindex(Server(started).jobs().client, SCOPE, wait=False, as_json=True) == exits.FINE
    assert json.loads(capsys.readouterr().out) == started


@pytest.mark.parametrize(
    "arguments", [["--cancel"], ["--retry"], ["id-1", "--cancel", "--retry"], ["id-1", "--status", "failed"]]
)
def test_what_makes_no_sense_is_refused_before_anybody_is_asked(arguments: list[str]) -> None:
    assert isinstance(CliRunner().invoke(app, ["jobs", *arguments]).exception, WrongUsage)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Server]:
    """A server for whole commands."""

    def make(*answers: object) -> Server:
        server = Server(*answers)
        monkeypatch.setattr("infinicon.cli.client.Client", lambda _: server.jobs().client)
        monkeypatch.setattr("infinicon.cli.connection.find", lambda *_: None)
        monkeypatch.setattr(Client, "tenant_id", "t")
        return server

    return make


def test_the_commands_put_it_together(answered: Callable[..., Server]) -> None:
    run = CliRunner().invoke
    server = answered({"jobs": [job()], "summary": summary(running=1)})
    assert run(app, ["jobs", "-n", "home", "--label", "archive", "--json"]).exit_code == 0
    assert dict(server.asked[0].url.params) == {**SCOPE, "label": "archive", "limit": "20"}

    server = answered(job("cancelled"))
    shown = run(app, ["jobs", "id-1", "-n", "home", "--cancel"])
    assert (shown.exit_code, shown.stdout.splitlines()[0]) == (0, "job id-1")
    assert len(server.asked) == 1

    server = answered(job("queued"), job("running"), job("completed", 4))
    shown = run(app, ["jobs", "id-1", "-n", "home", "--retry", "--watch"])
    assert (shown.exit_code, shown.stdout.splitlines()) == (0, ["running  1/4", "completed  4/4"])

    answered(job("failed"))
    assert run(app, ["jobs", "id-1", "-n", "home", "--watch"]).exit_code == 1
    assert run(app, ["jobs", "id-1", "-n", "home"]).exit_code == 0
    answered({"jobId": "id-1", "status": "queued"}, job("completed", 4))
    assert run(app, ["reindex", "-n", "home", "--wait"]).exit_code == 0
