"""What a run sees of memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from infinicon.domain import Rank
from infinicon.errors import IndexTimeout
from infinicon.operations import entries, run_memory
from infinicon.operations.run_memory import secret_of, wait_until_indexed
from infinicon.operations.runs import get_run
from tests.store.operations.conformance import begun, parts_of
from tests.store.operations.conftest import Pipeline
from tests.store.operations.entry_worlds import contents, put_entry


def test_what_others_write_meanwhile_is_not_seen_and_what_was_there_and_is_its_own_is(pipeline: Pipeline) -> None:
    before = put_entry(pipeline, "heron before")
    _, memory = begun(pipeline, parts_of(pipeline))
    _, rival = begun(pipeline, parts_of(pipeline))
    theirs = rival.put("notes", "heron of another run")
    later = put_entry(pipeline, "heron later")
    own = memory.put("notes", "heron own")
    pipeline.drain()

    assert contents(memory.list("notes")) == ["heron own", "heron before"]
    assert contents(memory.list("notes", token_budget=6)) == ["heron own", "heron before"]
    assert set(contents(memory.list("notes", rank=Rank.RELEVANCE, query="heron"))) == {"heron own", "heron before"}
    assert [memory.get("notes", one.id) is not None for one in (before, own, theirs, later)] == [
        True,
        True,
        False,
        False,
    ]
    assert contents(rival.list("notes")) == ["heron of another run", "heron before"]


def test_it_is_not_seen_behind_many_that_are_too_large_either(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "OVERSIZED_COUNTED", 2)
    put_entry(pipeline, "small before")
    _, memory = begun(pipeline, parts_of(pipeline))
    put_entry(pipeline, "small later")
    for _ in range(3):
        memory.put("notes", "an entry that is larger than the whole of the budget that is asked for")

    assert contents(memory.list("notes", token_budget=5)) == ["small before"]


def test_what_it_writes_is_recorded_in_order(pipeline: Pipeline) -> None:
    run, memory = begun(pipeline, parts_of(pipeline))
    written = [memory.put(ref, "Something.") for ref in ("one", "other")]
    record = get_run(pipeline.app, pipeline.caller, str(run)).written

    assert [(one.memory_ref, one.entry, one.at) for one in record] == [
        ("one", written[0].id, written[0].created_at),
        ("other", written[1].id, written[1].created_at),
    ]


def test_a_pipeline_that_stands_still_ends_the_wait(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_memory, "PATIENCE_SECONDS", 0.1)
    parts = replace(parts_of(pipeline), wake=lambda: None)
    _, memory = begun(pipeline, parts)
    memory.put("notes", "Nobody indexes this.")

    with pytest.raises(IndexTimeout):
        wait_until_indexed(parts, "notes", pipeline.caller)


def test_the_secret_is_the_same_for_all_runs_of_a_tenant(
    pipeline: Pipeline, new_pipeline: Callable[[], Pipeline]
) -> None:
    stranger = new_pipeline()

    assert secret_of(parts_of(pipeline), pipeline.caller) == secret_of(parts_of(pipeline), pipeline.caller)
    assert secret_of(parts_of(pipeline), pipeline.caller)[1] != secret_of(parts_of(stranger), stranger.caller)[1]
