"""export: every living episode of a scope once, page by page, within what one answer may cost."""

from __future__ import annotations

from uuid import UUID

import pytest

from infinicon import cursors
from infinicon.domain import IngestEpisode, Memory, Scope
from infinicon.errors import InvalidCursor, ScopeMismatch, Unauthorized
from infinicon.operations import export as exporting
from infinicon.operations.export import export
from tests.store.conftest import Sql
from tests.store.operations.conftest import Pipeline


def pages(pipeline: Pipeline, limit: int, scope: Scope | None = None) -> list[list[Memory]]:
    found: list[list[Memory]] = []
    cursor: str | None = None
    while True:
        episodes, cursor = export(
            pipeline.app, pipeline.keyring, pipeline.caller, scope or pipeline.scope(), limit, cursor
        )
        found.append(list(episodes))
        if cursor is None:
            return found


def contents(found: list[list[Memory]]) -> list[object]:
    return [item.content for page in found for item in page]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
def test_every_episode_is_on_exactly_one_page(pipeline: Pipeline, limit: int) -> None:
    pipeline.put("one", "two", "three", "four")

    found = pages(pipeline, limit)
    assert contents(found) == ["one", "two", "three", "four"]
    assert all(found)
    assert max(map(len, found)) <= limit


def test_a_namespace_without_episodes_has_one_empty_page(pipeline: Pipeline) -> None:
    assert pages(pipeline, 10) == [[]]


def test_large_episodes_come_on_pages_of_their_own(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "PAGE_BYTES", 100)
    sizes = [300, 10, 10, 300, 300]
    pipeline.put(*["x" * size for size in sizes])

    assert [[len(str(item.content)) for item in page] for page in pages(pipeline, 10)] == [
        [300],
        [10, 10],
        [300],
        [300],
    ]


def test_what_is_gone_or_elsewhere_is_not_exported(pipeline: Pipeline, sql: Sql) -> None:
    gone, expired, kept = (result.ref.id for result in pipeline.put("gone", "expired", "kept").results)
    pipeline.put("of a session", scope=pipeline.scope(session="s"))
    pipeline.put("elsewhere", scope=pipeline.scope("other"))
    sql("UPDATE memories SET status = 'tombstoned' WHERE id = %s", gone)
    sql("UPDATE memories SET expires_at = now() WHERE id = %s", expired)

    assert contents(pages(pipeline, 10)) == ["kept", "of a session"]
    assert contents(pages(pipeline, 10, pipeline.scope(session="s"))) == ["of a session"]
    assert isinstance(kept, UUID)


def test_atoms_are_not_exported_and_values_come_as_they_went(pipeline: Pipeline) -> None:
    pipeline.ingest(
        IngestEpisode("application/json", {"a": [1, None]}, dedupe_key="k", metadata={"m": 1}, tags=["t"]),
        IngestEpisode("text/plain", "Rosa moved to Turin."),
    )
    pipeline.drain()

    first, second = pages(pipeline, 10)[0]
    assert (first.content, first.dedupe_key, dict(first.metadata), list(first.tags)) == (
        {"a": [1, None]},
        "k",
        {"m": 1},
        ["t"],
    )
    assert second.content == "Rosa moved to Turin."


def test_a_cursor_is_for_its_scope(pipeline: Pipeline) -> None:
    pipeline.put("one", "two")
    _, cursor = export(pipeline.app, pipeline.keyring, pipeline.caller, pipeline.scope(), 1, None)
    assert cursor is not None

    for scope in (pipeline.scope("other"), pipeline.scope(agent="a")):
        with pytest.raises(ScopeMismatch):
            export(pipeline.app, pipeline.keyring, pipeline.caller, scope, 1, cursor)
    foreign = cursors.seal(pipeline.keyring, "events", (1,), (7,))
    for wrong in ("zzz", cursor[:-2], foreign):
        with pytest.raises(InvalidCursor):
            export(pipeline.app, pipeline.keyring, pipeline.caller, pipeline.scope(), 1, wrong)


def test_another_tenant_is_refused(pipeline: Pipeline) -> None:
    with pytest.raises(Unauthorized):
        export(pipeline.app, pipeline.keyring, pipeline.caller, Scope("other", "notes"), 1, None)
