"""Runs of the conformance seam."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import ConformanceRun, Fault, RunStatus, Seen, Variable, Written
from infinicon.store.database import Transaction

LOST_AFTER_SECONDS = 300.0
"""A run that has not ended by then has lost its process."""

LOST = Fault("unavailable", "the process that played the run is gone", True)

INSERT = text(
    "INSERT INTO conformance_runs (tenant, id, workflow) VALUES (:tenant, :id, :workflow) RETURNING created_at"
)

# A replay is there, with its record, from the beginning.
REPEAT = text("""
    INSERT INTO conformance_runs (tenant, id, workflow, source, status, started_at, finished_at, written, variables)
    SELECT r.tenant, :id, r.workflow, r.id, r.status, now(), now(), r.written, r.variables
    FROM conformance_runs r WHERE r.tenant = :tenant AND r.id = :source AND r.status = 'completed'
    RETURNING id
""")

START = text("""
    UPDATE conformance_runs SET status = 'running', started_at = clock_timestamp()
    WHERE tenant = :tenant AND id = :id AND status = 'queued' RETURNING workflow, started_at
""")

WROTE = text("""
    UPDATE conformance_runs SET written = written || CAST(:written AS jsonb)
    WHERE tenant = :tenant AND id = :id AND status = 'running'
""")

FINISH = text("""
    UPDATE conformance_runs
    SET status = :status, finished_at = clock_timestamp(), variables = CAST(:variables AS jsonb), error = CAST(:error AS jsonb)
    WHERE tenant = :tenant AND id = :id AND status = 'running'
""")

FIND = text("""
    SELECT id, workflow, source, status, created_at, started_at, finished_at, written, variables, error,
           finished_at IS NULL AND created_at < now() - make_interval(secs => :seconds) AS lost
    FROM conformance_runs WHERE tenant = :tenant AND id = :id
""")

FORGET = text(
    "DELETE FROM conformance_runs WHERE tenant = :tenant AND created_at < now() - make_interval(secs => :seconds)"
)


def insert(tenant: int, tx: Transaction, run: UUID, workflow: str) -> datetime:
    """A run that waits to be played; when it was made."""
    key = {"tenant": tenant, "id": run, "workflow": workflow}
    created_at: datetime = tx.execute(INSERT, key).scalar_one()
    return created_at


def repeat(tenant: int, tx: Transaction, run: UUID, source: UUID) -> bool:
    """A run with the record of a completed one; whether there is such a one."""
    return tx.execute(REPEAT, {"tenant": tenant, "id": run, "source": source}).scalar() is not None


def start(tenant: int, tx: Transaction, run: UUID) -> tuple[str, datetime] | None:
    """Workflow and beginning of a run that was waiting; None where nobody has to play it."""
    row = tx.execute(START, {"tenant": tenant, "id": run}).one_or_none()
    return None if row is None else (row.workflow, row.started_at)


def wrote(tenant: int, tx: Transaction, run: UUID, written: Written) -> None:
    """Record what a running run wrote."""
    record = {"under": written.memory_ref, "entry": str(written.entry), "at": written.at.isoformat()}
    tx.execute(WROTE, {"tenant": tenant, "id": run, "written": json.dumps([record])})


def finish(
    tenant: int, tx: Transaction, run: UUID, variables: Mapping[str, Variable], fault: Fault | None = None
) -> None:
    """End a running run: completed, or failed where there is a fault."""
    error = None
    if fault is not None:
        error = json.dumps({"code": fault.code, "message": fault.message, "retryable": fault.retryable})
    tx.execute(
        FINISH,
        {
            "tenant": tenant,
            "id": run,
            "status": RunStatus.COMPLETED if fault is None else RunStatus.FAILED,
            "variables": json.dumps({name: _packed(value) for name, value in variables.items()}),
            "error": error,
        },
    )


def find(tenant: int, tx: Transaction, run: UUID) -> ConformanceRun | None:
    """The run of that id. One that has lost its process has failed."""
    row = tx.execute(FIND, {"tenant": tenant, "id": run, "seconds": LOST_AFTER_SECONDS}).one_or_none()
    return None if row is None else _run(row)


def forget(tenant: int, tx: Transaction, seconds: float) -> None:
    """Delete runs that are older."""
    tx.execute(FORGET, {"tenant": tenant, "seconds": seconds})


def _run(row: Any) -> ConformanceRun:
    fault = LOST if row.lost else None
    if row.error is not None:
        fault = Fault(row.error["code"], row.error["message"], row.error["retryable"])
    return ConformanceRun(
        id=row.id,
        workflow=row.workflow,
        status=RunStatus.FAILED if row.lost else RunStatus(row.status),
        created_at=row.created_at,
        source=row.source,
        started_at=row.started_at,
        finished_at=row.finished_at,
        written=[Written(one["under"], UUID(one["entry"]), datetime.fromisoformat(one["at"])) for one in row.written],
        variables={name: _unpacked(value) for name, value in row.variables.items()},
        fault=fault,
    )


def _packed(value: object) -> object:
    if isinstance(value, Seen):
        return {"under": value.memory_ref, "entry": str(value.entry), "whole": value.whole}
    return [_packed(one) for one in value] if isinstance(value, list | tuple) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        return Seen(value["under"], UUID(value["entry"]), value["whole"])
    return [_unpacked(one) for one in value] if isinstance(value, list) else value
