"""Runs of the conformance seam, as OpenWOP's suite sends and reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic.alias_generators import to_camel

from infinicon import domain
from infinicon.api import strict_json
from infinicon.api.wire.entries import entry_to_wire
from infinicon.api.wire.shared import Name, optional_time, present, time_to_wire
from infinicon.api.wire.validate import Body, check
from infinicon.domain import ConformanceRun, RunStatus, Shown
from infinicon.operations.consolidation_pass import Pass

ENDED = {RunStatus.COMPLETED, RunStatus.FAILED}


class StartRun(Body):
    """A `tenantId` may stand beside it and counts for nothing: the key says who the tenant is."""

    workflow_id: Name


class ForkRun(Body):
    """A replay repeats all of a run."""

    mode: Literal["replay"]
    from_seq: Literal[0] = 0


class ConsolidationPass(Body):
    memory_ref: Name
    include_secret_canary: bool = False


def parse_start(body: bytes) -> str:
    """The workflow that is wanted. Raises InvalidRequest."""
    return check(StartRun, strict_json.loads(body)).workflow_id


def parse_fork(body: bytes) -> None:
    """Raises InvalidRequest."""
    check(ForkRun, strict_json.loads(body))


def parse_pass(body: bytes) -> tuple[str, bool]:
    """The memoryRef, and whether a secret is to be put there. Raises InvalidRequest."""
    sent = check(ConsolidationPass, strict_json.loads(body))
    return sent.memory_ref, sent.include_secret_canary


def pass_to_wire(found: Pass) -> dict[str, Any]:
    """The event is free of content."""
    event = {
        "type": "agent.memory.consolidated",
        "memoryRef": found.memory_ref,
        "inputCount": found.before,
        "outputCount": found.after,
    }
    return {"event": event, "jobId": str(found.job), "secretLeaked": found.leaked}


def made_to_wire(run: ConformanceRun) -> dict[str, Any]:
    return {"runId": str(run.id), "workflowId": run.workflow, "status": run.status.value}


def run_to_wire(run: ConformanceRun, variables: Mapping[str, Shown]) -> dict[str, Any]:
    return {
        **made_to_wire(run),
        **present(
            createdAt=time_to_wire(run.created_at),
            startedAt=optional_time(run.started_at),
            completedAt=optional_time(run.finished_at),
            forkedFrom=None if run.source is None else str(run.source),
            error=_error(run),
        ),
        "variables": {to_camel(name): _variable(value) for name, value in variables.items()},
    }


def _variable(value: Any) -> Any:
    if isinstance(value, domain.Entry):
        return entry_to_wire(value)
    return [_variable(one) for one in value] if isinstance(value, list) else value


def _error(run: ConformanceRun) -> dict[str, Any] | None:
    return None if run.fault is None else {"code": run.fault.code, "message": run.fault.message}


def events_to_wire(run: ConformanceRun) -> dict[str, Any]:
    """What happened in a run, in its order: ids, and never content."""
    happened: list[tuple[str, str | None, dict[str, Any]]] = []
    if run.started_at is not None:
        happened.append(("run.started", time_to_wire(run.started_at), {"workflowId": run.workflow}))
    for written in run.written:
        payload = {"memoryRef": written.memory_ref, "memoryId": str(written.entry)}
        happened.append(("memory.written", time_to_wire(written.at), payload))
    if run.status in ENDED:
        happened.append((f"run.{run.status.value}", optional_time(run.finished_at), present(error=_error(run))))
    events = [
        present(
            eventId=f"{run.id}:{sequence}",
            runId=str(run.id),
            sequence=sequence,
            type=kind,
            timestamp=moment,
            payload=payload,
        )
        for sequence, (kind, moment, payload) in enumerate(happened)
    ]
    return {"events": events, "isComplete": run.status in ENDED}
