"""The workflows do what they say, and do not complete over a memory that breaks its promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from infinicon.domain import ConformanceRun, Entry, ListReply, RunStatus
from infinicon.operations import redaction, run_memory, workflows
from infinicon.operations.counting import Counters
from infinicon.operations.redaction import NOTHING
from infinicon.operations.run_memory import RunMemory
from infinicon.operations.runs import shown
from infinicon.operations.workflows import WORKFLOWS, playable
from infinicon.plugins.loader import load_token_counter
from infinicon.settings import Settings
from tests.store.operations.conformance import parts_of, played
from tests.store.operations.conftest import Pipeline

MEMORY = "conformance-agent-memory-"


@pytest.fixture
def other(new_pipeline: Callable[[], Pipeline]) -> Pipeline:
    return new_pipeline()


def said(pipeline: Pipeline, run: ConformanceRun) -> dict[str, Any]:
    assert (run.status, run.fault) == (RunStatus.COMPLETED, None)
    return dict(shown(pipeline.app, pipeline.caller, run))


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_every_workflow_completes_twice_in_a_row(pipeline: Pipeline, other: Pipeline, workflow: str) -> None:
    parts = parts_of(pipeline, other)
    first, second = (played(pipeline, workflow, parts) for _ in range(2))

    assert said(pipeline, first).keys() == said(pipeline, second).keys()
    assert {one.entry for one in first.written}.isdisjoint({one.entry for one in second.written})


@pytest.mark.parametrize("unit", ["o200k_base", "chars"])
def test_the_budget_cuts_and_relevance_reorders_in_any_unit(pipeline: Pipeline, other: Pipeline, unit: str) -> None:
    pipeline.counters = Counters(partial(load_token_counter, Settings()), unit)
    variables = said(pipeline, played(pipeline, f"{MEMORY}injection-budget", parts_of(pipeline, other)))
    listed: list[Entry] = variables["budgeted_entries"]
    total = sum(pipeline.counters.count(unit, entry.content) for entry in listed)

    assert variables["token_counter"] == unit
    assert 0 < total == variables["budgeted_token_total"] <= variables["token_budget"] == 800
    assert variables["over_budget_entry_omitted"] is True
    assert "[REDACTED:" in variables["redacted_content_sample"]
    assert variables["cross_tenant_budgeted_probe"] == []
    assert variables["recency_order"] == [str(entry.id) for entry in listed]
    assert variables["relevance_order"] != variables["recency_order"]


def test_without_search_there_is_no_order_by_relevance(pipeline: Pipeline, other: Pipeline) -> None:
    parts = replace(parts_of(pipeline, other), semantic=lambda: False)
    variables = said(pipeline, played(pipeline, f"{MEMORY}injection-budget", parts))

    assert "relevance_order" not in variables
    assert variables["budgeted_entries"]


@pytest.mark.parametrize("workflow", [f"{MEMORY}redaction", f"{MEMORY}injection-budget"])
def test_a_memory_that_does_not_redact_fails(
    pipeline: Pipeline, other: Pipeline, monkeypatch: pytest.MonkeyPatch, workflow: str
) -> None:
    monkeypatch.setattr(redaction, "in_scope", lambda *_: NOTHING)

    assert played(pipeline, workflow, parts_of(pipeline, other)).status is RunStatus.FAILED


def test_a_memory_that_keeps_what_has_expired_fails(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_memory, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(workflows, "BRIEF", run_memory.KEPT)

    assert played(pipeline, f"{MEMORY}ttl", parts_of(pipeline)).status is RunStatus.FAILED


@pytest.mark.parametrize(
    ("workflow", "probe"),
    [("cross-tenant", "cross_tenant_probe"), ("injection-budget", "cross_tenant_budgeted_probe")],
)
def test_a_memory_that_shows_what_is_another_tenants_is_found_out(
    pipeline: Pipeline, other: Pipeline, monkeypatch: pytest.MonkeyPatch, workflow: str, probe: str
) -> None:
    parts = parts_of(pipeline, other)
    honest = RunMemory.list

    def leaking(memory: RunMemory, memory_ref: str, **wanted: Any) -> ListReply:
        reply = honest(memory, memory_ref, **wanted)
        assert parts.other is not None
        theirs = memory.plant(memory_ref, "Another tenant has this.", parts.other)
        return replace(reply, entries=[*reply.entries, theirs])

    monkeypatch.setattr(RunMemory, "list", leaking)

    assert said(pipeline, played(pipeline, MEMORY + workflow, parts))[probe] != []


def test_what_cannot_be_played_is_not_offered() -> None:
    assert playable(other=True, counted=True) == list(WORKFLOWS)
    assert set(WORKFLOWS) - set(playable(other=False, counted=True)) == {
        f"{MEMORY}cross-tenant",
        f"{MEMORY}injection-budget",
    }
    assert set(WORKFLOWS) - set(playable(other=True, counted=False)) == {f"{MEMORY}injection-budget"}
