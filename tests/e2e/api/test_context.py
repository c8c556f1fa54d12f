"""assembleContext: what an agent should know for a task, within a budget."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client
from infinicon.plugins import counters
from infinicon.settings import Settings
from tests.e2e.api.requests import NIL, content_of, ingest_indexed, note, refusal, send

PATH = "/v0/assemble-context"


def assemble(client: Client, task: str, tokens: int = 1_000, **fields: Any) -> Wire:
    budget = {"maxTokens": tokens, **fields.pop("budget", {})}
    return client.post(PATH, {"task": task, "budget": budget, **fields})


def warnings_of(reply: Wire) -> dict[str, Wire]:
    return {warning["code"]: warning for warning in reply["context"]["warnings"]}


@pytest.fixture
def notes(client: Client) -> list[Wire]:
    return ingest_indexed(
        client,
        note(
            "The orchard gate code is on the blue tag.",
            createdBy={"id": "ada", "kind": "user"},
            occurredAt="2026-03-02T10:00:00Z",
        ),
        note("Rosa moved to Turin in the spring.", occurredAt="2026-03-01T10:00:00Z"),
        note("The boiler stands in the cellar. It was serviced in May.", metadata={"speaker": "Bo"}),
    )


def test_a_context_has_what_serves_the_task_with_its_sources(client: Client, notes: list[Wire]) -> None:
    reply = assemble(client, "Open the orchard gate.", format="text")
    context = reply["context"]

    assert context["scope"]["namespaceId"] == client.scope["namespaceId"]
    assert context["task"] == "Open the orchard gate."
    assert context["budget"] == {"maxTokens": 1000, "reservedTokens": 0, "tokenizer": "o200k_base"}
    assert context["tokenizer"] == "o200k_base"
    assert (context["truncated"], context["warnings"]) == (False, [])
    assert context["tokenEstimate"] == counters.o200k_base(Settings()).count(reply["text"])
    assert context["tokenEstimate"] == sum(segment["tokens"] for segment in context["segments"])
    assert reply["text"].startswith(
        "[2026-03-01 10:00] Rosa moved to Turin in the spring.\n"
        "[ada, 2026-03-02 10:00] The orchard gate code is on the blue tag.\n[Bo, "
    )
    best = max(context["segments"], key=lambda segment: segment["score"])
    assert best["content"] == "The orchard gate code is on the blue tag." == content_of(client, best["ref"])
    episodes = {ref["id"] for ref in notes}
    for segment in context["segments"]:
        assert {source["id"] for source in segment["provenance"]["sourceRefs"]} <= episodes
    assert "text" not in assemble(client, "Open the orchard gate.")


def test_the_budget_holds(client: Client, notes: list[Wire]) -> None:
    whole = assemble(client, "Open the orchard gate.")["context"]["tokenEstimate"]
    for tokens, reserved in ((whole, 1), (60, 30), (40, 0), (12, 0), (1, 0)):
        reply = assemble(client, "Open the orchard gate.", tokens, budget={"reservedTokens": reserved})
        assert reply["context"]["tokenEstimate"] <= tokens - reserved
        assert reply["context"]["truncated"]
        assert "truncated" in warnings_of(reply)
    assert not assemble(client, "Open the orchard gate.", whole)["context"]["truncated"]


def test_no_memory_is_an_explicit_empty_context(client: Client) -> None:
    reply = assemble(client, "anything", format="text")

    assert reply["text"] == ""
    assert reply["context"]["segments"] == []
    assert reply["context"]["tokenEstimate"] == 0
    assert not reply["context"]["truncated"]
    assert list(warnings_of(reply)) == ["empty_context"]


def test_required_and_excluded_refs(client: Client, notes: list[Wire]) -> None:
    boiler = notes[2]
    unknown = {"id": NIL, "type": "atom", "scope": client.scope}
    malformed = {"id": "../x", "type": "atom", "scope": client.scope}
    reply = assemble(
        client, "Rosa", budget={"maxSegments": 1}, constraints={"mustIncludeRefs": [boiler, unknown, malformed]}
    )
    assert [segment["ref"]["id"] for segment in reply["context"]["segments"]] == [boiler["id"]]
    omitted = warnings_of(reply)["required_ref_omitted"]
    assert [ref["id"] for ref in omitted["refs"]] == [NIL, "../x"]
    assert omitted["metadata"] == {"reason": "not_found"}

    without = assemble(client, "Where is the boiler?", constraints={"excludedRefs": [boiler]})
    assert all("boiler" not in segment["content"] for segment in without["context"]["segments"])


def test_strong_sees_what_was_accepted_before(client: Client) -> None:
    client.ingest([note(f"Lantern number {number} hangs in the barn.") for number in range(5)])
    reply = assemble(client, "lantern", consistency="strong")

    assert len(reply["context"]["segments"]) == 5
    assert warnings_of(reply) == {}


def test_text_that_looks_like_control_tokens_and_long_runs(client: Client) -> None:
    refs = ingest_indexed(
        client,
        note("<|endoftext|> and <|fim_prefix|> are ordinary words."),
        note("a" * 100_000),
        note("b" + " " * 200_000 + "c"),
    )
    reply = assemble(client, "ordinary words", 1_000_000, format="text", constraints={"mustIncludeRefs": refs})

    assert reply["context"]["tokenEstimate"] == counters.o200k_base(Settings()).count(reply["text"])
    assert [segment["ref"] for segment in reply["context"]["segments"]] == refs
    assert max(segment["tokens"] for segment in reply["context"]["segments"]) > 10_000


def test_equal_requests_at_once_have_equal_answers(client: Client, notes: list[Wire]) -> None:
    def ask(_number: int) -> Wire:
        reply = assemble(client, "Open the orchard gate.", 60, constraints={"preferRecency": True})["context"]
        return {name: value for name, value in reply.items() if name != "generatedAt"}

    with ThreadPoolExecutor(8) as threads:
        first, *others = threads.map(ask, range(24))
    assert all(other == first for other in others)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"budget": {"maxTokens": 0}}, "budget.maxTokens"),
        ({"budget": {"maxTokens": 1.5}}, "budget.maxTokens"),
        ({"budget": {"maxTokens": 10, "reservedTokens": 10}}, "budget.reservedTokens"),
        ({"budget": {"maxTokens": 10, "maxSegments": 0}}, "budget.maxSegments"),
        ({"budget": {"maxTokens": 10, "tokenizer": "gpt-9"}}, "budget.tokenizer"),
        ({"task": " "}, "task"),
        ({"budget": None}, "budget"),
    ],
)
def test_what_is_refused(client: Client, http: httpx.Client, fields: Wire, field: str) -> None:
    body = {"scope": client.scope, "task": "Open the gate.", "budget": {"maxTokens": 10}, **fields}
    fault = refusal(send(http, PATH, body), 400, "invalid_request")

    assert fault["details"]["field"] == field
    assert "gpt-9" not in str(fault)
