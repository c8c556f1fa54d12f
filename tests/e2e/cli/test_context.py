"""infinicon context against a running Infinicon."""

from __future__ import annotations

import pytest

from infinicon.cli.instance import Client, Instance
from infinicon.plugins import counters
from infinicon.settings import Settings
from tests.e2e.api.requests import ingest_indexed, note
from tests.e2e.cli.commands import answer, run

TASK = "Where does Rosa live now?"


@pytest.fixture
def namespace(client: Client) -> str:
    ingest_indexed(
        client,
        note("Rosa moved to Turin.", createdBy={"id": "rosa", "kind": "user"}, occurredAt="2026-03-14T09:26:00Z"),
        note("The boiler was serviced in May.", occurredAt="2026-05-02T08:00:00Z"),
    )
    return str(client.scope["namespaceId"])


def test_memories_for_people(live: Instance, namespace: str) -> None:
    done = run(live, "context", TASK, "--namespace", namespace, "--budget", "1000")

    assert done.returncode == 0
    assert "[rosa, 2026-03-14T09:26:00Z] Rosa moved to Turin." in done.stdout
    assert "2 memories" in done.stderr
    assert "of 1000 tokens (o200k_base)" in done.stderr


def test_text_as_it_goes_into_a_prompt(live: Instance, namespace: str) -> None:
    done = run(live, "context", TASK, "-n", namespace, "--text")

    assert done.stdout == (
        "[rosa, 2026-03-14 09:26] Rosa moved to Turin.\n[2026-05-02 08:00] The boiler was serviced in May.\n"
    )
    assert done.stderr == ""


def test_json_is_the_reply(live: Instance, namespace: str) -> None:
    reply = answer(live, "context", TASK, "-n", namespace, "--budget", "100", "--tokenizer", "cl100k_base")
    context = reply["context"]

    assert [segment["content"] for segment in context["segments"]] == [
        "Rosa moved to Turin.",
        "The boiler was serviced in May.",
    ]
    assert context["tokenEstimate"] == counters.cl100k_base(Settings()).count(reply["text"])


def test_a_small_budget_says_what_it_lacks(live: Instance, namespace: str) -> None:
    done = run(live, "context", TASK, "-n", namespace, "--budget", "100", "--segments", "1")
    assert "Turin" in done.stdout
    assert "boiler" not in done.stdout
    assert "warning: memories were left out" in done.stderr

    tiny = run(live, "context", TASK, "-n", namespace, "--budget", "3", "--text")
    assert (tiny.returncode, tiny.stdout) == (0, "")
    assert "warning:" in tiny.stderr


def test_what_is_refused_names_its_field(live: Instance, namespace: str) -> None:
    done = run(live, "context", TASK, "-n", namespace, "--tokenizer", "nobody-knows-it")

    assert done.returncode == 2
    assert "budget.tokenizer" in done.stderr
    assert all(name in done.stderr for name in ("o200k_base", "cl100k_base", "chars"))
    assert "Traceback" not in done.stderr
