"""Celery's result backend: Postgres through a pool, one upsert a state, nothing of a user's in it.

Celery's own SQLAlchemy backend opens an engine and a connection for each write outside prefork (measured: 11 chains a second against
180), and a Redis one blocks publishers while the broker is away (19 s against 0.6 s).
"""

from __future__ import annotations

import logging
import math
from functools import cached_property
from typing import Any

from celery.backends.base import BaseBackend
from celery.states import EXCEPTION_STATES, PENDING, READY_STATES

from infinicon.errors import InfiniconError
from infinicon.settings import settings
from infinicon.store import results
from infinicon.store.database import Database

log = logging.getLogger(__name__)


class ResultBackend(BaseBackend):
    """Keeps the state of each task, and of a result only numbers, names and truth values."""

    supports_native_join = False
    supports_autoexpire = True  # the task `infinicon.forget` removes old rows

    @cached_property
    def _database(self) -> Database:
        chosen = settings()
        chosen.need("results_database_url")
        url = chosen.results_database_url.get_secret_value()
        return Database(url, pool_size=4, prepared_statements=chosen.prepared_statements, vectors=False)

    def _store_result(
        self, task_id: str, result: Any, state: str, _traceback: Any = None, request: Any = None, **_options: Any
    ) -> Any:
        """A state that cannot be written is logged and let go: the rows of the pipeline are the truth, and a worker must not fail
        for its own report."""
        shown = _prepared(result) if state in EXCEPTION_STATES else _counts(result)
        try:
            with self._database.transaction(None) as tx:
                name = getattr(request, "task", None)
                results.upsert(tx, task_id, name, state, shown, done=state in READY_STATES)
        except InfiniconError as fault:
            log.warning("the state of task %s was not recorded: %s", task_id, fault.code)
        return result

    def prepare_exception(self, exc: BaseException, serializer: Any = None) -> Any:
        """The type of an exception, and the code if it is ours, in the form that Celery reads back. Its text may quote a user."""
        if serializer is not None:  # Celery wants it for itself, not to be stored
            return super().prepare_exception(exc, serializer)
        kind = type(exc)
        kept: dict[str, Any] = {"exc_type": kind.__qualname__, "exc_module": kind.__module__, "exc_message": ""}
        if isinstance(exc, InfiniconError):
            kept |= {"code": exc.code, "retryable": exc.retryable}
        return kept

    def _get_task_meta_for(self, task_id: str) -> dict[str, Any]:
        with self._database.transaction(None) as tx:
            row = results.load(tx, task_id)
        if row is None:
            return {"status": PENDING, "result": None, "task_id": task_id}
        status, result, done_at = row
        return {"status": status, "result": result, "task_id": task_id, "date_done": done_at, "traceback": None}

    def _forget(self, task_id: str) -> None:
        with self._database.transaction(None) as tx:
            results.delete(tx, task_id)

    def cleanup(self) -> None:
        """Retention is the pipeline's own task."""

    def as_uri(self, include_password: bool = False) -> str:
        del include_password
        return "postgresql (schema celery)"

    def __reduce__(self, args: Any = (), kwargs: Any = None) -> Any:
        return super().__reduce__(args, kwargs or {})


def _counts(result: Any) -> dict[str, Any] | None:
    """Handlers answer with counts; whatever else there is stays out. Numbers that JSON does not have become null."""
    if not isinstance(result, dict):
        return None
    kept: dict[str, Any] = {}
    for key, value in result.items():
        if isinstance(value, bool | int):
            kept[str(key)] = value
        elif isinstance(value, float):
            kept[str(key)] = value if math.isfinite(value) else None
    return kept


def _prepared(result: Any) -> dict[str, Any] | None:
    """What `prepare_exception` made. Celery may record such a state without an exception, too; then there is nothing to keep."""
    return result if isinstance(result, dict) and "exc_type" in result else None
