"""Runs: who may start one, what becomes of it, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from uuid import UUID, uuid4

import pytest

from infinicon.domain import Permission, RunStatus
from infinicon.errors import InvalidRequest, NotFound, Unauthorized, Unavailable
from infinicon.keyring import Keyring
from infinicon.operations import runs
from infinicon.operations.entries import delete_entry
from infinicon.operations.run_memory import RunMemory
from infinicon.operations.runs import fork_run, get_run, play, shown, start_run
from infinicon.store import conformance
from infinicon.store.database import Database
from tests.conftest import Cluster
from tests.store.conftest import Sql
from tests.store.operations.conformance import begun, parts_of, played
from tests.store.operations.conftest import Pipeline

ROUND_TRIP = "conformance-agent-memory-roundtrip"


def test_a_run_waits_runs_and_completes(pipeline: Pipeline) -> None:
    run = start_run(pipeline.app, pipeline.caller, ROUND_TRIP)
    assert get_run(pipeline.app, pipeline.caller, str(run.id)).status is RunStatus.QUEUED

    play(parts_of(pipeline), pipeline.caller, run.id)
    done = get_run(pipeline.app, pipeline.caller, str(run.id))
    assert (done.status, done.fault, len(done.written)) == (RunStatus.COMPLETED, None, 1)

    play(parts_of(pipeline), pipeline.caller, run.id)
    assert get_run(pipeline.app, pipeline.caller, str(run.id)) == done, "it is played once"


def test_what_it_saw_is_told_as_it_is_now_and_kept_nowhere_else(pipeline: Pipeline, sql: Sql) -> None:
    run = played(pipeline, ROUND_TRIP, parts_of(pipeline))
    entry = run.written[0].entry
    readback = shown(pipeline.app, pipeline.caller, run)["memory_readback"]
    assert getattr(readback, "id", None) == entry

    ((row,),) = sql("SELECT r::text FROM conformance_runs r WHERE id = %s", run.id)
    assert "customer" not in row
    delete_entry(pipeline.app, pipeline.caller, run.written[0].memory_ref, str(entry))
    assert shown(pipeline.app, pipeline.caller, run) == {"memory_readback": None}


def test_a_replay_has_the_record_of_its_source_and_writes_nothing(pipeline: Pipeline, sql: Sql) -> None:
    source = played(pipeline, ROUND_TRIP, parts_of(pipeline))
    number = sql("SELECT count(*) FROM memories WHERE tenant = %s", pipeline.caller.tenant)
    replay = fork_run(pipeline.app, pipeline.caller, str(source.id))

    assert replay.id != source.id
    assert (replay.source, replay.status, replay.written) == (source.id, RunStatus.COMPLETED, source.written)
    assert shown(pipeline.app, pipeline.caller, replay) == shown(pipeline.app, pipeline.caller, source)
    assert sql("SELECT count(*) FROM memories WHERE tenant = %s", pipeline.caller.tenant) == number


def test_a_run_that_has_not_completed_is_not_replayed(pipeline: Pipeline) -> None:
    run = start_run(pipeline.app, pipeline.caller, ROUND_TRIP)

    with pytest.raises(InvalidRequest):
        fork_run(pipeline.app, pipeline.caller, str(run.id))


def test_a_fault_ends_it_and_is_told(pipeline: Pipeline) -> None:
    failed = played(pipeline, "conformance-agent-memory-cross-tenant", parts_of(pipeline))

    assert failed.status is RunStatus.FAILED
    assert failed.fault is not None
    assert failed.fault.code == "unavailable"


def test_a_fault_of_ours_ends_it_too(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(_memory: RunMemory) -> dict[str, str]:
        raise ZeroDivisionError

    monkeypatch.setattr(runs, "WORKFLOWS", MappingProxyType({"faulty": faulty}))
    run = start_run(pipeline.app, pipeline.caller, "faulty")
    with pytest.raises(ZeroDivisionError):
        play(parts_of(pipeline), pipeline.caller, run.id)

    ended = get_run(pipeline.app, pipeline.caller, str(run.id))
    assert (ended.status, ended.fault and ended.fault.code) == (RunStatus.FAILED, "internal")


def test_a_run_whose_process_is_gone_has_failed(pipeline: Pipeline, sql: Sql) -> None:
    run, _ = begun(pipeline, parts_of(pipeline))
    assert get_run(pipeline.app, pipeline.caller, str(run)).status is RunStatus.RUNNING
    sql("UPDATE conformance_runs SET created_at = now() - interval '1 hour' WHERE id = %s", run)

    lost = get_run(pipeline.app, pipeline.caller, str(run))
    assert (lost.status, lost.fault) == (RunStatus.FAILED, conformance.LOST)


def test_runs_of_yesterday_go(pipeline: Pipeline, sql: Sql) -> None:
    old = start_run(pipeline.app, pipeline.caller, ROUND_TRIP).id
    sql("UPDATE conformance_runs SET created_at = now() - interval '25 hours' WHERE id = %s", old)
    kept = start_run(pipeline.app, pipeline.caller, ROUND_TRIP).id

    assert get_run(pipeline.app, pipeline.caller, str(kept)).id == kept
    with pytest.raises(NotFound):
        get_run(pipeline.app, pipeline.caller, str(old))


@pytest.mark.parametrize("which", ["unknown", "malformed", "foreign"])
def test_there_is_one_answer_for_what_is_not_there(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline], which: str
) -> None:
    stranger = new_pipeline()
    foreign: UUID = start_run(stranger.app, stranger.caller, ROUND_TRIP).id
    asked = {"unknown": str(uuid4()), "malformed": "x", "foreign": str(foreign)}[which]

    with pytest.raises(NotFound, match=r"^there is no such run$"):
        get_run(pipeline.app, pipeline.caller, asked)
    with pytest.raises(NotFound, match=r"^there is no such run$"):
        fork_run(pipeline.app, pipeline.caller, asked)


def test_a_workflow_that_nobody_knows_is_not_there(pipeline: Pipeline) -> None:
    with pytest.raises(NotFound):
        start_run(pipeline.app, pipeline.caller, "conformance-nothing")


def test_a_workflow_that_is_not_advertised_now_does_not_start(pipeline: Pipeline) -> None:
    with pytest.raises(Unavailable):
        start_run(pipeline.app, pipeline.caller, ROUND_TRIP, ["conformance-noop"])
    with pytest.raises(NotFound):
        start_run(pipeline.app, pipeline.caller, "conformance-nothing", [])
    assert start_run(pipeline.app, pipeline.caller, ROUND_TRIP, [ROUND_TRIP]).status is RunStatus.QUEUED


def test_who_may_not_administer_the_whole_tenant_runs_nothing(pipeline: Pipeline) -> None:
    run = start_run(pipeline.app, pipeline.caller, ROUND_TRIP)
    for less in (
        replace(pipeline.caller, permissions=frozenset(Permission) - {Permission.ADMIN}),
        replace(pipeline.caller, namespaces=frozenset({1})),
    ):
        with pytest.raises(Unauthorized):
            start_run(pipeline.app, less, ROUND_TRIP)
        with pytest.raises(Unauthorized):
            get_run(pipeline.app, less, str(run.id))


def test_the_other_tenant_is_made_by_the_owner_once(pipeline: Pipeline, app: Database, cluster: Cluster) -> None:
    keyring = Keyring(f"of this test {uuid4()}")
    assert runs.find_other(app, keyring) is None
    runs.make_other_tenant(cluster.owner_url, keyring)
    runs.make_other_tenant(cluster.owner_url, keyring)
    other = runs.find_other(app, keyring)

    assert other is not None
    assert (other.tenant_name, other.permissions) == (runs.OTHER_TENANT, runs.OTHER_PERMISSIONS)
    assert other.tenant != pipeline.caller.tenant
