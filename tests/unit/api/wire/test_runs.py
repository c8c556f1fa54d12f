"""Runs as OpenWOP's suite sends and reads them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from infinicon.api.wire.runs import events_to_wire, parse_fork, parse_start, run_to_wire
from infinicon.domain import ConformanceRun, Entry, Fault, RunStatus, Written
from infinicon.errors import InvalidRequest

ONE, TWO = UUID(int=1), UUID(int=2)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ENTRY = Entry(TWO, "content", ["tag"], NOON)
QUEUED = ConformanceRun(ONE, "conformance-noop", RunStatus.QUEUED, NOON)
DONE = ConformanceRun(
    ONE, "conformance-noop", RunStatus.COMPLETED, NOON, None, NOON, NOON, [Written("ref", TWO, NOON)], {}
)


def test_what_a_run_says_has_the_names_of_the_suite() -> None:
    said = run_to_wire(DONE, {"memory_readback": ENTRY, "budgeted_entries": [ENTRY], "fresh_id": "x", "gone": None})
    entry = {"id": str(TWO), "content": "content", "tags": ["tag"], "createdAt": "2026-01-01T12:00:00Z"}

    assert said["variables"] == {"memoryReadback": entry, "budgetedEntries": [entry], "freshId": "x", "gone": None}
    assert (said["runId"], said["status"], said["completedAt"]) == (str(ONE), "completed", "2026-01-01T12:00:00Z")


def test_events_end_with_the_end_and_have_no_content() -> None:
    told = events_to_wire(DONE)

    assert [event["type"] for event in told["events"]] == ["run.started", "memory.written", "run.completed"]
    assert [event["sequence"] for event in told["events"]] == [0, 1, 2]
    assert told["events"][1]["payload"] == {"memoryRef": "ref", "memoryId": str(TWO)}
    assert {event["runId"] for event in told["events"]} == {str(ONE)}
    assert told["isComplete"] is True


def test_a_run_that_waits_has_no_events_and_one_that_failed_says_why() -> None:
    failed = ConformanceRun(
        ONE, "x", RunStatus.FAILED, NOON, None, NOON, NOON, fault=Fault("index_timeout", "too slow", True)
    )

    assert events_to_wire(QUEUED) == {"events": [], "isComplete": False}
    assert run_to_wire(failed, {})["error"] == {"code": "index_timeout", "message": "too slow"}
    assert events_to_wire(failed)["events"][-1]["payload"] == {
        "error": {"code": "index_timeout", "message": "too slow"}
    }


def test_a_start_names_a_workflow_and_what_else_it_says_is_passed_over() -> None:
    assert parse_start(b'{"workflowId": "w", "tenantId": "other", "inputs": {}}') == "w"


@pytest.mark.parametrize("body", [{}, {"workflowId": 7}, {"workflowId": ""}, []])
def test_a_start_without_a_workflow_is_refused(body: Any) -> None:
    with pytest.raises(InvalidRequest):
        parse_start(json.dumps(body).encode())


@pytest.mark.parametrize("body", [{}, {"mode": "branch"}, {"mode": "replay", "fromSeq": 1}])
def test_only_a_whole_replay_can_be_had(body: Any) -> None:
    parse_fork(b'{"mode": "replay", "fromSeq": 0}')
    with pytest.raises(InvalidRequest):
        parse_fork(json.dumps(body).encode())
