"""Namespaces by name, and what is in one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infinicon.domain import Caller, IngestEpisode, Scope
from infinicon.errors import InvalidCursor, Unauthorized
from infinicon.operations.namespaces import count, list_namespaces
from infinicon.store import tenancy
from tests.store.operations.conftest import Pipeline


def names(pipeline: Pipeline, limit: int, caller: Caller | None = None) -> list[str]:
    asking = caller or pipeline.caller
    found: list[str] = []
    cursor: str | None = None
    while True:
        page, cursor = list_namespaces(pipeline.app, pipeline.keyring, asking, asking.tenant_name, limit, cursor)
        found += [item.name for item in page]
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_all_of_them_once_by_code_point(pipeline: Pipeline, limit: int) -> None:
    wanted = ["b", "a", "B", "ä", "a b"]
    with pipeline.app.transaction(pipeline.caller.tenant) as tx:
        for name in wanted:
            tenancy.ensure_namespace(pipeline.caller.tenant, tx, name)

    assert names(pipeline, limit) == sorted(wanted)


def test_a_limited_key_sees_its_own(pipeline: Pipeline) -> None:
    with pipeline.app.transaction(pipeline.caller.tenant) as tx:
        numbers = [tenancy.ensure_namespace(pipeline.caller.tenant, tx, name) for name in ("one", "two", "three")]

    assert names(pipeline, 1, replace(pipeline.caller, namespaces=frozenset(numbers[:2]))) == ["one", "two"]
    assert names(pipeline, 1, replace(pipeline.caller, namespaces=frozenset())) == []


def test_a_wrong_cursor_or_tenant_is_refused(pipeline: Pipeline) -> None:
    with pytest.raises(InvalidCursor):
        list_namespaces(pipeline.app, pipeline.keyring, pipeline.caller, pipeline.caller.tenant_name, 1, "zzz")
    with pytest.raises(Unauthorized):
        list_namespaces(pipeline.app, pipeline.keyring, pipeline.caller, "other", 1, None)


def test_what_a_namespace_holds(pipeline: Pipeline) -> None:
    pipeline.put("Rosa moved to Turin. Her bicycle stayed in Lyon.")
    pipeline.drain()
    pipeline.ingest(IngestEpisode("text/plain", "Not indexed yet."))
    pipeline.put("elsewhere", scope=pipeline.scope("other"))

    stats = count(pipeline.app, pipeline.caller, pipeline.scope())
    assert stats.memories == {"atom": {"active": 2}, "episode": {"active": 1, "pending": 1}}
    assert stats.pipeline == {"waiting": 1}
    assert stats.jobs == {"completed": 1, "queued": 1}
    assert stats.index_rows >= 2
    assert stats.events >= 4


def test_a_namespace_that_is_not_there_holds_nothing(pipeline: Pipeline) -> None:
    stats = count(pipeline.app, pipeline.caller, pipeline.scope("nothing here"))

    assert (stats.memories, stats.pipeline, stats.jobs, stats.index_rows, stats.events) == ({}, {}, {}, 0, 0)
    with pytest.raises(Unauthorized):
        count(pipeline.app, pipeline.caller, Scope("other", "notes"))
