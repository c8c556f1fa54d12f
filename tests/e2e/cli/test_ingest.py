"""Files go in by one command, into a running Infinicon; also where it is killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from infinicon.cli.instance import Instance
from tests.e2e.cli.commands import answer, run
from tests.waiting import wait_until

LINES = 900
CITIES = "Turin Lyon Oslo Porto Ghent Bern Graz Split Riga Cork".split()


@pytest.fixture
def namespace() -> str:
    return f"test-{uuid4()}"


Stats = Callable[[], dict[str, int]]


@pytest.fixture
def stats(http: httpx.Client, live: Instance, namespace: str) -> Stats:
    """Episodes of the namespace by status, asked over HTTP: a command would take a second to start."""

    def ask() -> dict[str, int]:
        found = http.get("/v0/stats", params={"tenantId": live.tenant_id, "namespaceId": namespace}).json()
        numbers: dict[str, int] = found["memories"].get("episode", {})
        return numbers

    return ask


def exported(live: Instance, namespace: str) -> list[Any]:
    done = run(live, "export", namespace)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def by_content(lines: list[Any]) -> list[Any]:
    return sorted(lines, key=lambda line: json.dumps(line["content"]))


def killed_on_the_way(live: Instance, stats: Stats, *arguments: str) -> int:
    """Start it, wait until something more is in, kill -9. How much is in then."""
    before = sum(stats().values())
    command = [sys.executable, "-m", "infinicon.cli", "ingest", *arguments, "--data-dir", str(live.data_dir)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INFINICON_")}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as child:
        wait_until(lambda: sum(stats().values()) > before, "something is in", every=0.005)
        child.send_signal(signal.SIGKILL)
        assert child.wait(30) == -signal.SIGKILL
    return sum(stats().values())


def test_killed_twice_and_gone_on_with_nothing_is_there_twice(
    live: Instance, namespace: str, stats: Stats, tmp_path: Path
) -> None:
    path = tmp_path / "moves.jsonl"
    said = [f"Person {number} moved to {CITIES[number % 10]} in the year {1000 + number}." for number in range(LINES)]
    path.write_text("".join(json.dumps({"content": text}) + "\n" for text in said))
    small = (str(path), "-n", namespace, "--batch", "20", "--in-flight", "2")

    first = killed_on_the_way(live, stats, *small)
    second = killed_on_the_way(live, stats, *small)
    done = answer(live, "ingest", str(path), "-n", namespace, "--wait")

    assert 0 < first < second < LINES
    # What was on its way when it was killed may have come in later than we looked.
    assert done["created"] + done["deduplicated"] == LINES
    assert (done["created"] <= LINES - second, done["rejected"], done["indexed"]["failed"]) == (True, 0, 0)
    assert stats() == {"active": LINES}
    assert sorted(line["content"] for line in exported(live, namespace)) == sorted(said)
    jobs = answer(live, "jobs", "-n", namespace, "--label", "ingest moves.jsonl", "--limit", "1")
    assert jobs["summary"]["progress"]["total"] == LINES

    again = answer(live, "ingest", str(path), "-n", namespace, "--wait")
    assert (again["created"], again["deduplicated"]) == (0, LINES)


def test_notes_chats_and_a_map_are_found_by_a_question(live: Instance, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "boiler.md").write_text("# Boiler\n\nThe boiler was serviced in May by Anna.\n")
    chat = [{"role": "user", "content": "I moved to Turin in March."}, {"role": "assistant", "content": "Noted."}]
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    turn = {"d": "dev:1", "i": 0, "s": "USER", "t": "Please book a table at the Sino restaurant."}
    (tmp_path / "turns.jsonl").write_text(json.dumps(turn))
    into = ("-n", namespace, "--wait")

    assert answer(live, "ingest", str(tmp_path / "notes"), *into)["created"] == 1
    assert answer(live, "ingest", str(tmp_path / "chat.json"), *into)["created"] == 2
    mapped = ("--map", "content=t,speaker=s,dedupeKey=d+i,metadata.dialogue=d", "--agent", "waiter")
    assert answer(live, "ingest", str(tmp_path / "turns.jsonl"), *into, *mapped)["created"] == 1

    for question, word in (
        ("When was the boiler serviced?", "May"),
        ("Who moved to Turin?", "Turin"),
        ("Which restaurant?", "Sino"),
    ):
        (best,) = answer(live, "query", question, "-n", namespace, "--limit", "1")["refs"]
        assert word in best["object"]["content"]
    assert [line["metadata"] for line in exported(live, namespace)] == [
        {"file": "boiler.md"},
        {"role": "user", "conversation": "chat.json", "turn": 1},
        {"role": "assistant", "conversation": "chat.json", "turn": 2},
        {"dialogue": "dev:1", "speaker": "USER"},
    ]


def test_what_is_exported_goes_in_again(live: Instance, namespace: str, tmp_path: Path) -> None:
    lines = [
        {
            "content": "Rosa moved to Turin.",
            "dedupeKey": "mine",
            "tags": ["move"],
            "occurredAt": "2026-03-01T10:00:00Z",
        },
        {"content": {"role": "user", "content": "The boiler is old."}, "scope": {"sessionId": "s1"}},
    ]
    path, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl.gz"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answer(live, "ingest", str(path), "-n", namespace, "--author", "rosa")
    assert run(live, "export", namespace, "--output", str(out)).returncode == 0
    copy = f"{namespace}-copy"

    assert answer(live, "ingest", str(out), "-n", copy)["created"] == 2
    # The two sessions are two requests in flight at once, so either may be the first to arrive.
    assert by_content(exported(live, copy)) == by_content(exported(live, namespace))
    assert answer(live, "ingest", str(out), "-n", copy)["deduplicated"] == 2


def test_what_the_server_rejects_is_named_and_the_rest_is_in(live: Instance, namespace: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"content": "fine"}\n{"content": "SECRET \\u0000"}\n{"content": "SECRET \\ud83d"}\n'
        + json.dumps({"content": "SECRET" * 200_000})
        + '\n{"content": "SECRET", "contentType": "text/html"}\n{"content": "SECRET", "occurredAt": "today"}\n{"content": "good"}\n'
    )
    done = run(live, "ingest", str(path), "-n", namespace, "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout)["created"] == 2
    for line, code in (
        (2, "invalid_content"),
        (3, "invalid_content"),
        (4, "too_large"),
        (5, "unsupported_media_type"),
        (6, "invalid_request"),
    ):
        assert f"a.jsonl, line {line}: rejected, {code}" in done.stderr
    assert "SECRET" not in done.stderr


def test_a_namespace_that_no_request_may_name(live: Instance, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"content": "x"}\n' * 50)
    done = run(live, "ingest", str(path), "-n", "x" * 300)

    assert done.returncode == 2
    assert "scope.namespaceId" in done.stderr
    assert "50" not in done.stderr


def test_a_wrong_key_is_refused(live: Instance, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"content": "x"}\n')
    done = run(None, "ingest", str(path), "-n", "home", INFINICON_URL=live.url, INFINICON_API_KEY="inf_wrong")

    assert done.returncode == 4
