"""Leases: who works on a batch, for how long, and whose writes count."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from infinicon.domain import BatchRef, JobStatus, Stage
from infinicon.errors import InvalidContent, LeaseLost, MissingDependency, PluginFailed, Unavailable
from infinicon.operations.leases import Leases
from infinicon.ports import ModelInfo, Vectors
from infinicon.store.database import Database
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline, WordEmbedder
from tests.together import together
from tests.waiting import wait_until


@contextmanager
def leases_of(app: Database, **chosen: Any) -> Iterator[Leases]:
    given = {"seconds": 30, "ceiling": 300, "retry_base": 0, "on_overrun": lambda _: None}
    held = Leases(app, **{**given, **chosen})
    yield held
    held.close()


@pytest.fixture
def ref(pipeline: Pipeline) -> BatchRef:
    pipeline.put("One fact to work on.")
    (claimed,) = pipeline.claim()
    return claimed


def batch(sql: Sql, ref: BatchRef) -> dict[str, Any]:
    ((state, stage, attempt, faults, lease),) = sql(
        "SELECT state, stage, attempt, faults, lease FROM batches WHERE id = %s", ref.batch
    )
    return {"state": state, "stage": stage, "attempt": attempt, "faults": faults, "lease": lease}


def expire(sql: Sql, ref: BatchRef) -> None:
    sql("UPDATE batches SET lease_until = clock_timestamp() - interval '1 second' WHERE id = %s", ref.batch)


def test_one_of_many_copies_of_a_message_works(pipeline: Pipeline, ref: BatchRef, sql: Sql) -> None:
    def take() -> str:
        try:
            pipeline.extract(ref)
        except LeaseLost:
            return "nothing"
        return "worked"

    assert sorted(together(*[take] * 8)) == ["nothing"] * 7 + ["worked"]
    assert batch(sql, ref) == {"state": "open", "stage": "embed", "attempt": 1, "faults": 0, "lease": None}


def test_a_message_for_a_stage_that_is_not_on_does_nothing(pipeline: Pipeline, ref: BatchRef, sql: Sql) -> None:
    for early in (Stage.EMBED, Stage.INDEX):
        with pytest.raises(LeaseLost), pipeline.leases.stage(BatchRef(ref.tenant, ref.batch, 1, early, ref.lane)):
            pass
    pipeline.run(ref)
    for late in (Stage.EXTRACT, Stage.EMBED, Stage.INDEX):
        with pytest.raises(LeaseLost), pipeline.leases.stage(BatchRef(ref.tenant, ref.batch, 1, late, ref.lane)):
            pass
    assert batch(sql, ref)["state"] == "closed"


def test_a_message_of_another_attempt_or_tenant_does_nothing(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline], ref: BatchRef, sql: Sql
) -> None:
    sql("UPDATE batches SET attempt = 3 WHERE id = %s", ref.batch)
    foreign = new_pipeline().caller.tenant
    for wrong in (
        BatchRef(ref.tenant, ref.batch, 1, ref.stage, ref.lane),
        BatchRef(ref.tenant, ref.batch, 2, ref.stage, ref.lane),
        BatchRef(ref.tenant, ref.batch, 4, ref.stage, ref.lane),
        BatchRef(foreign, ref.batch, 3, ref.stage, ref.lane),
    ):
        with pytest.raises(LeaseLost):
            pipeline.extract(wrong)
    pipeline.extract(BatchRef(ref.tenant, ref.batch, 3, ref.stage, ref.lane))


class Paused:
    """An embedder that stands still in the middle of its work, as a machine does that swaps or sleeps."""

    model = WordEmbedder.model

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def chunk(self, texts: Sequence[str]) -> Any:
        return WordEmbedder().chunk(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.reached.set()
        assert self.go_on.wait(30)
        return WordEmbedder().embed(texts)

    def embed_query(self, text: str) -> Vectors:
        return WordEmbedder().embed_query(text)


def test_who_lost_the_lease_leaves_nothing(pipeline: Pipeline, ref: BatchRef, sql: Sql) -> None:
    """The first worker pauses, the second takes over and fails at the very end; the first then wakes up and wants to commit."""
    ref = pipeline.extract(ref)
    paused = Paused()
    outcome: list[str] = []

    def first() -> None:
        own = Pipeline(pipeline.app, pipeline.sweeper, ref.tenant, pipeline.caller.tenant_name, pipeline.leases)
        own.embedder = paused
        try:
            own.embed(ref)
        except LeaseLost:
            outcome.append("lost")

    worker = threading.Thread(target=first)
    worker.start()
    assert paused.reached.wait(30)
    expire(sql, ref)
    with pipeline.leases.stage(ref):  # somebody else works on it now, with the same message
        paused.go_on.set()
        worker.join(30)
        assert outcome == ["lost"]
        assert sql("SELECT count(*) FROM staged_vectors WHERE tenant = %s", ref.tenant) == [(0,)]
        assert batch(sql, ref)["stage"] == "embed"
        assert batch(sql, ref)["lease"] is not None  # the loser gave back what was not its own
    assert batch(sql, ref)["attempt"] == 2


def test_a_lease_that_holds_is_nobody_elses(pipeline: Pipeline, ref: BatchRef) -> None:
    with pipeline.leases.stage(ref), pytest.raises(LeaseLost), pipeline.leases.stage(ref):
        pass


def test_the_heartbeat_keeps_it(app: Database, pipeline: Pipeline, ref: BatchRef, sql: Sql) -> None:
    until = "SELECT lease_until FROM batches WHERE id = %s"
    with leases_of(app, seconds=0.9) as short, short.stage(ref):
        ((first,),) = sql(until, ref.batch)
        wait_until(
            lambda: sql("SELECT clock_timestamp() > %s", first) == [(True,)], "the first lease would have run out"
        )
        wait_until(lambda: sql(until, ref.batch)[0][0] > first, "it was renewed")
        with pytest.raises(LeaseLost):
            pipeline.extract(ref)


def test_a_heartbeat_that_fails_is_tried_again(
    app: Database, pipeline: Pipeline, ref: BatchRef, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    beats = []

    def away(*_: object) -> bool:
        beats.append(1)
        raise Unavailable("away")

    monkeypatch.setattr("infinicon.operations.leases.batches.renew", away)
    with leases_of(app, seconds=0.06) as short, short.stage(ref):
        wait_until(lambda: len(beats) >= 3, "it went on beating")
    assert "heartbeat failed" in caplog.text


def test_a_stage_over_its_ceiling_ends_its_process(app: Database, pipeline: Pipeline, ref: BatchRef) -> None:
    overrun: list[BatchRef] = []
    with leases_of(app, seconds=0.1, ceiling=0.0, on_overrun=overrun.append) as short, short.stage(ref):
        wait_until(lambda: overrun, "the process would have been ended")
    assert set(overrun) == {ref}


def test_a_stage_over_its_ceiling_is_not_renewed(app: Database, pipeline: Pipeline, ref: BatchRef, sql: Sql) -> None:
    with leases_of(app, seconds=0.9, ceiling=0.0) as short, short.stage(ref):
        wait_until(lambda: pipeline.reconcile() != [], "the lease of the one that hangs ran out", within=15)
    assert batch(sql, ref)["faults"] == 1


class Failing(WordEmbedder):
    def __init__(self, fault: Exception) -> None:
        self._fault = fault

    def chunk(self, texts: Sequence[str]) -> Any:
        raise self._fault


@pytest.mark.parametrize(
    ("fault", "faults"),
    [
        (Unavailable("the encoder is away"), 0),
        (MissingDependency("the model is gone"), 0),
        (PluginFailed("it raised"), 1),
        (InvalidContent("unreadable"), 1),
        (RuntimeError("of the plug-in's own"), 1),
    ],
)
def test_an_outage_costs_nothing_and_the_datas_fault_one_try(
    app: Database, pipeline: Pipeline, ref: BatchRef, sql: Sql, fault: Exception, faults: int
) -> None:
    ref = pipeline.extract(ref)
    pipeline.embedder = Failing(fault)
    with leases_of(app, retry_base=2) as slow:
        pipeline.leases = slow
        with pytest.raises(PluginFailed if isinstance(fault, RuntimeError) else type(fault)):
            pipeline.embed(ref)

    assert batch(sql, ref) == {"state": "open", "stage": "embed", "attempt": 2, "faults": faults, "lease": None}
    assert sql("SELECT not_before - updated_at = interval '2 seconds' FROM batches WHERE id = %s", ref.batch) == [
        (True,)
    ]
    assert pipeline.reconcile() == []  # it waits


def test_the_wait_doubles_up_to_a_minute_and_then_it_comes_back(
    app: Database, pipeline: Pipeline, ref: BatchRef, sql: Sql
) -> None:
    reply_stage = pipeline.extract(ref)
    waits = []
    with leases_of(app, retry_base=2) as slow:
        for attempt in range(1, 9):
            with (
                pytest.raises(Unavailable),
                slow.stage(BatchRef(ref.tenant, ref.batch, attempt, Stage.EMBED, ref.lane)),
            ):
                raise Unavailable("away")
            ((wait,),) = sql("SELECT not_before - updated_at FROM batches WHERE id = %s", ref.batch)
            waits.append(wait.total_seconds())
    assert waits == [2, 4, 8, 16, 32, 60, 60, 60]
    assert batch(sql, ref)["faults"] == 0

    sql("UPDATE batches SET not_before = clock_timestamp() WHERE id = %s", ref.batch)
    (again,) = pipeline.reconcile()
    assert again == BatchRef(ref.tenant, ref.batch, 9, Stage.EMBED, ref.lane)
    pipeline.index(pipeline.embed(again))
    assert reply_stage.batch == again.batch


def test_a_next_stage_has_all_its_tries(pipeline: Pipeline, ref: BatchRef, sql: Sql) -> None:
    ref = pipeline.extract(ref)
    for attempt in (1, 2):
        with (
            pytest.raises(RuntimeError),
            pipeline.leases.stage(BatchRef(ref.tenant, ref.batch, attempt, Stage.EMBED, ref.lane)),
        ):
            raise RuntimeError
    assert batch(sql, ref)["faults"] == 2
    pipeline.embed(BatchRef(ref.tenant, ref.batch, 3, Stage.EMBED, ref.lane))
    assert batch(sql, ref) == {"state": "open", "stage": "index", "attempt": 1, "faults": 0, "lease": None}


def test_cancelled_jobs_leave_before_the_stage(pipeline: Pipeline, sql: Sql) -> None:
    kept = pipeline.put("This one is wanted.")
    dropped = pipeline.put("This one is not wanted any more.")
    (ref,) = pipeline.claim()
    ref = pipeline.extract(ref)
    sql("UPDATE jobs SET cancelled = true, status = 'cancelled' WHERE id = %s", dropped.job_id)
    pipeline.index(pipeline.embed(ref))

    assert pipeline.job(kept.job_id).status is JobStatus.COMPLETED
    assert pipeline.job(dropped.job_id).status is JobStatus.CANCELLED
    assert pipeline.found("wanted") == ["This one is wanted."]
    states = sql("SELECT episode, state FROM queued_episodes WHERE tenant = %s", ref.tenant)
    assert states == [(dropped.results[0].ref.id, "cancelled")]


def test_another_model_than_the_indexs_is_refused_and_costs_no_try(pipeline: Pipeline, ref: BatchRef, sql: Sql) -> None:
    pipeline.run(ref)  # the index has its model now
    pipeline.put("Another fact to work on.")
    (ref,) = pipeline.claim()
    ref = pipeline.extract(ref)
    other = WordEmbedder()
    other.model = ModelInfo("words", "2", 64, 256)
    pipeline.embedder = other

    with pytest.raises(MissingDependency):
        pipeline.embed(ref)
    assert batch(sql, ref)["faults"] == 0
