"""Celery's result backend on Postgres: states and counts, and nothing that a user wrote."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery
from celery.result import AsyncResult
from sqlalchemy import text

from infinicon.errors import LeaseLost, PluginFailed, Unavailable
from infinicon.settings import settings
from infinicon.tasks.app import Defaults
from infinicon.tasks.results import ResultBackend
from tests.conftest import Cluster
from tests.store.conftest import Sql
from tests.together import together

SECRET = "maria's password is tulip"


@pytest.fixture(scope="module")
def app(cluster: Cluster) -> Iterator[Celery]:
    """An application with our settings and this backend; it has no broker to send to."""
    patch = pytest.MonkeyPatch()
    patch.setenv("INFINICON_RESULTS_DATABASE_URL", cluster.results_url)
    settings.cache_clear()
    app = Celery("test of results", set_as_current=False)
    app.config_from_object(Defaults)
    yield app
    app.backend._database.close()
    patch.undo()
    settings.cache_clear()


@pytest.fixture
def backend(app: Celery) -> ResultBackend:
    found = app.backend
    assert isinstance(found, ResultBackend)
    return found


@pytest.fixture
def task() -> str:
    return f"{uuid4()}-extract-1"


def row(sql: Sql, task: str) -> dict[str, Any]:
    ((name, status, result, done),) = sql(
        "SELECT name, status, result, done_at IS NOT NULL FROM celery.task_results WHERE task_id = %s", task
    )
    return {"name": name, "status": status, "result": result, "done": done}


def test_from_started_to_success(backend: ResultBackend, sql: Sql, task: str) -> None:
    request = SimpleNamespace(task="infinicon.extract", id=task)
    backend.store_result(task, {"pid": 1, "hostname": "worker"}, "STARTED", request=request)
    assert row(sql, task) == {"name": "infinicon.extract", "status": "STARTED", "result": {"pid": 1}, "done": False}
    backend.store_result(task, {"episodes": 3, "atoms": 7}, "SUCCESS", request=request)
    assert row(sql, task) == {
        "name": "infinicon.extract",
        "status": "SUCCESS",
        "result": {"episodes": 3, "atoms": 7},
        "done": True,
    }


@pytest.mark.parametrize("final", ["SUCCESS", "FAILURE"])
def test_what_is_final_stays(backend: ResultBackend, sql: Sql, task: str, final: str) -> None:
    backend.store_result(task, {"episodes": 3} if final == "SUCCESS" else ValueError(), final)
    before = row(sql, task)
    for state, result in (
        ("STARTED", {"pid": 2}),
        ("RETRY", ValueError()),
        ("FAILURE", ValueError()),
        ("SUCCESS", {"episodes": 0}),
        ("REVOKED", None),
    ):
        backend.store_result(task, result, state)
        assert row(sql, task) == before


def test_copies_of_a_task_at_once(backend: ResultBackend, sql: Sql, task: str) -> None:
    def copy(state: str) -> None:
        backend.store_result(task, {"episodes": 3}, state)

    together(*[lambda: copy("STARTED"), lambda: copy("SUCCESS")] * 10)
    assert row(sql, task)["status"] == "SUCCESS"


@pytest.mark.parametrize(
    ("fault", "kept"),
    [
        (ValueError(SECRET), {"exc_type": "ValueError"}),
        (KeyError({"content": SECRET}), {"exc_type": "KeyError"}),
        (
            PluginFailed("it raised", details={"text": SECRET}),
            {"exc_type": "PluginFailed", "code": "plugin_failed", "retryable": False},
        ),
        (Unavailable(SECRET), {"exc_type": "Unavailable", "code": "unavailable", "retryable": True}),
        (LeaseLost(SECRET), {"exc_type": "LeaseLost", "code": "lease_lost", "retryable": True}),
    ],
)
def test_of_an_exception_its_type_and_code(
    backend: ResultBackend, sql: Sql, task: str, fault: Exception, kept: dict[str, object]
) -> None:
    request = SimpleNamespace(task="infinicon.extract", id=task, args=(SECRET,), kwargs={"x": SECRET})
    try:
        raise fault from ZeroDivisionError(SECRET)
    except type(fault) as raised:
        backend.store_result(task, raised, "FAILURE", traceback=f"Traceback: {SECRET}", request=request)

    stored = sql("SELECT * FROM celery.task_results WHERE task_id = %s", task)
    assert SECRET not in repr(stored)
    result = row(sql, task)["result"]
    assert {key: result[key] for key in kept} == kept


def test_celery_can_read_a_failure_back(app: Celery, backend: ResultBackend, task: str) -> None:
    backend.store_result(task, Unavailable(SECRET), "FAILURE", traceback=SECRET)

    found = AsyncResult(task, app=app)
    assert found.state == "FAILURE"
    assert found.failed()
    assert isinstance(found.result, Exception)
    assert type(found.result).__name__ == "Unavailable"
    assert SECRET not in repr(found.result)
    assert found.traceback is None


def test_of_a_result_numbers_and_truth_values(backend: ResultBackend, sql: Sql, task: str) -> None:
    result = {
        "n": 1,
        "yes": True,
        "x": 0.5,
        "nan": float("nan"),
        "inf": float("-inf"),
        "text": SECRET,
        "list": [SECRET],
        "none": None,
    }
    backend.store_result(task, result, "SUCCESS")

    kept = row(sql, task)["result"]
    assert kept == {"n": 1, "yes": True, "x": 0.5, "nan": None, "inf": None}
    json.dumps(kept, allow_nan=False)


@pytest.mark.parametrize("result", [SECRET, [SECRET], (1, SECRET), None, 7, float("nan")])
def test_what_is_no_mapping_is_not_kept(backend: ResultBackend, sql: Sql, task: str, result: object) -> None:
    backend.store_result(task, result, "SUCCESS")

    assert row(sql, task)["result"] is None


def test_reading_and_forgetting(app: Celery, backend: ResultBackend, sql: Sql, task: str) -> None:
    assert AsyncResult(task, app=app).state == "PENDING"
    backend.store_result(task, {"episodes": 3}, "SUCCESS")
    found = AsyncResult(task, app=app)
    assert (found.state, found.result) == ("SUCCESS", {"episodes": 3})
    assert found.date_done is not None
    found.forget()
    assert sql("SELECT count(*) FROM celery.task_results WHERE task_id = %s", task) == [(0,)]


def test_a_state_that_cannot_be_written_is_let_go(
    app: Celery, task: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFINICON_RESULTS_DATABASE_URL", "postgresql://nobody:tulip@127.0.0.1:1/nowhere")
    settings.cache_clear()
    lonely = ResultBackend(app=app)
    with caplog.at_level(logging.WARNING):
        lonely.store_result(task, {"episodes": 3}, "SUCCESS")
    lonely._database.close()
    settings.cache_clear()

    assert task in caplog.text
    assert "tulip" not in caplog.text


def test_nobody_is_told_where_the_database_is(backend: ResultBackend) -> None:
    assert "@" not in backend.as_uri() + backend.as_uri(include_password=True)


def test_a_commit_of_a_state_is_not_waited_for(backend: ResultBackend) -> None:
    """Losing the last moments of these in a crash costs nothing."""
    with backend._database.transaction(None) as tx:
        assert tx.execute(text("SHOW synchronous_commit")).scalar() == "off"
