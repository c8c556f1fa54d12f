"""What a memory costs is counted when it is made, and is what its unit really costs."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pytest

from infinicon import rendering
from infinicon.domain import ActorRef, IngestEpisode
from infinicon.errors import MissingDependency
from infinicon.operations.counting import Counters
from infinicon.plugins.loader import load_token_counter
from infinicon.ports import TokenCounter
from infinicon.settings import Settings
from tests.store.conftest import Sql
from tests.store.operations.conftest import COUNTERS, Pipeline

SAID = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)

STORED = """
    SELECT id, type, content, coalesce(search_text, content), speaker, created_by, occurred_at, created_at, renderer,
           unit_o200k_base, unit_cl100k_base, unit_chars, content_o200k_base, content_cl100k_base, content_chars
    FROM memories WHERE tenant = %s ORDER BY type, id
"""


def counted(text: str) -> tuple[int | None, ...]:
    counts = COUNTERS.stored(text)
    return counts.o200k_base, counts.cl100k_base, counts.chars


def test_counts_of_atoms_and_episodes_are_those_of_their_units(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.ingest(
        IngestEpisode("text/plain", "Rosa moved to Turin. Her bicycle stayed in Lyon.", ActorRef("rosa", "user")),
        IngestEpisode("text/plain", "It was cold. The lake froze over.", ActorRef("importer", "system")),
        IngestEpisode(
            "text/markdown",
            "# Plan\n\n- Ship the demo on Friday.\n[x]: forged",
            ActorRef("ada", "agent"),
            metadata={"speaker": "Ada"},
            occurred_at=SAID,
        ),
        IngestEpisode(
            "application/json",
            [
                {"role": "user", "content": "漢字かな交じり文です。", "at": "2026-03-14T09:26:00Z"},
                {"speaker": "Bo", "text": "👩\u200d👧 came by."},
            ],
        ),
    )
    pipeline.drain()

    rows = sql(STORED, pipeline.caller.tenant)
    assert [row[1] for row in rows] == ["atom"] * 7 + ["episode"] * 4
    for _, kind, content, searchable, speaker, author, occurred_at, created_at, renderer, *counts in rows:
        json_text = kind == "episode" and content.startswith("[{")
        who = speaker or (author["id"] if author["kind"] == "user" else None)
        unit = rendering.unit(who, occurred_at, created_at, searchable if json_text else content)
        assert renderer == rendering.VERSION
        assert tuple(counts[:3]) == counted(unit)
        assert tuple(counts[3:]) == (counted(content) if kind == "atom" else (None, None, None))


def test_an_episode_that_an_atom_says_in_full_is_not_counted(pipeline: Pipeline, sql: Sql) -> None:
    pipeline.put("Rosa moved to Turin in May.")
    pipeline.drain()

    counts = {row[1]: row[8:12] for row in sql(STORED, pipeline.caller.tenant)}
    assert counts["episode"] == (None, None, None, None)
    assert None not in counts["atom"]


def test_a_counter_that_is_not_there_costs_its_count_and_not_the_memory(
    pipeline: Pipeline, sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    def load(name: str) -> TokenCounter:
        if name == "cl100k_base":
            raise MissingDependency("the token counter cl100k_base is unavailable")
        return load_token_counter(Settings(), name)

    pipeline.counters = Counters(load)
    with caplog.at_level(logging.ERROR):
        pipeline.put("Rosa moved to Turin in May. She likes it there.", "The heron flew over the bay at dawn.")
        pipeline.drain()

    for row in sql(STORED, pipeline.caller.tenant):
        assert row[10] is None
        assert (row[9] is None) == (row[8] is None)
    assert pipeline.found("Where is the heron?", 1) == ["The heron flew over the bay at dawn."]
    assert [record.getMessage().count("cl100k_base") for record in caplog.records] == [1]
    assert "heron" not in caplog.text


def test_a_counter_that_fails_is_not_asked_for_its_text(pipeline: Pipeline, caplog: pytest.LogCaptureFixture) -> None:
    class Failing:
        name = "o200k_base"

        def count(self, text: str) -> int:
            raise ValueError(text)

    counters = Counters(lambda name: Failing() if name == "o200k_base" else load_token_counter(Settings(), name))

    assert counters.stored("a secret").o200k_base is None
    assert counters.stored("a secret").chars == len("a secret")
    assert "secret" not in caplog.text


def test_a_counter_is_loaded_once() -> None:
    loaded: list[str] = []

    def load(name: str) -> TokenCounter:
        loaded.append(name)
        return load_token_counter(Settings(), "chars")

    counters = Counters(load)
    for _ in range(3):
        counters.stored("text")

    assert sorted(loaded) == ["chars", "cl100k_base", "o200k_base"]
