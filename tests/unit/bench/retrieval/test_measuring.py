"""From hits to messages, and from rankings to the numbers of a round."""

from __future__ import annotations

from typing import Any

from bench.retrieval.conversations import Conversation, Question, Unit
from bench.retrieval.measuring import as_round, chart, mean_recall, units_of

UNITS = {"e1": "D1:1", "e2": "D1:2", "e3": "D1:3"}


def test_a_hit_stands_for_its_episode_and_an_atom_for_its_sources() -> None:
    hits: list[dict[str, Any]] = [
        {"ref": {"id": "a1", "type": "atom"}, "sources": [{"id": "e2"}, {"id": "e3"}]},
        {"ref": {"id": "e2", "type": "episode"}},
        {"ref": {"id": "a2", "type": "atom"}, "sources": [{"id": "e3"}]},
        {"ref": {"id": "e1", "type": "episode"}},
    ]

    assert units_of(hits, UNITS) == ["D1:2", "D1:3", "D1:1"]


def test_recall_is_averaged_over_questions_and_not_over_conversations() -> None:
    unit = (Unit("1", "Ana", "x"),)
    one, two = Question("q", frozenset({"1"})), Question("r", frozenset({"2"}))
    talks = [Conversation("a", unit, (one, two)), Conversation("b", unit, (one,))]

    assert mean_recall(talks, lambda talk: [["1"] for _ in talk.core]) == {5: 2 / 3, 10: 2 / 3, 20: 2 / 3}


def test_ours_stands_beside_the_better_baseline() -> None:
    found = {
        "Infinicon": {5: 0.5, 10: 0.6, 20: 0.7},
        "BM25": {5: 0.1, 10: 0.2, 20: 0.3},
        "dense": {5: 0.4, 10: 0.5, 20: 0.6},
    }

    made = as_round([Conversation("a", (), ())], found, 0.0)

    assert (made.ours, made.baseline) == (0.6, 0.5)
    assert chart([made]).series == {name: list(by_cut.values()) for name, by_cut in found.items()}
