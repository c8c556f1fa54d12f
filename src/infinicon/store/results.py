"""Celery's task states, under the role infinicon_results. Ids, states and counts; a state that is final stays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import text

from infinicon.store.database import Transaction, unscoped

# A second copy of a message must not turn a finished task back into a started one.
UPSERT = text("""
    INSERT INTO celery.task_results AS r (task_id, name, status, result, updated_at, done_at)
    VALUES (:task_id, :name, :status, CAST(:result AS jsonb), now(), CASE WHEN :done THEN now() END)
    ON CONFLICT (task_id) DO UPDATE
    SET name = coalesce(excluded.name, r.name), status = excluded.status, result = excluded.result, updated_at = now(),
        done_at = excluded.done_at
    WHERE r.status NOT IN ('SUCCESS', 'FAILURE')
""")

LOAD = text("SELECT status, result, done_at FROM celery.task_results WHERE task_id = :task_id")

DELETE = text("DELETE FROM celery.task_results WHERE task_id = :task_id")


@unscoped("Celery's tasks are named by ids of batches, and know no tenant")
def upsert(
    tx: Transaction, task_id: str, name: str | None, status: str, result: Mapping[str, Any] | None, *, done: bool
) -> None:
    """Record the state of a task."""
    tx.execute(
        UPSERT,
        {
            "task_id": task_id,
            "name": name,
            "status": status,
            "result": None if result is None else json.dumps(result),
            "done": done,
        },
    )


@unscoped("Celery's tasks are named by ids of batches, and know no tenant")
def load(tx: Transaction, task_id: str) -> tuple[str, Any, Any] | None:
    """Status, result and time of the end of a task; None where nothing is recorded."""
    row = tx.execute(LOAD, {"task_id": task_id}).one_or_none()
    return None if row is None else (row.status, row.result, row.done_at)


@unscoped("Celery's tasks are named by ids of batches, and know no tenant")
def delete(tx: Transaction, task_id: str) -> None:
    """Forget a task."""
    tx.execute(DELETE, {"task_id": task_id})
