"""Which units and questions a set has, and what recall is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from bench.retrieval.conversations import parse, read, recall

LINE = {
    "conv": "one",
    "participants": ["Ana", "Ben"],
    "units": [
        {"id": "1", "session": 1, "speaker": "Ana", "text": "Look!", "caption": "a photo of a lake"},
        {"id": "2", "session": 1, "speaker": "Ben", "text": "Nice."},
    ],
    "queries": [
        {"q": "What did Ana show?", "category": "single-hop", "gold": ["1"]},
        {"q": "Who is Carl?", "category": "adversarial", "gold": ["2"]},
        {"q": "Tell it all.", "category": "summarization", "gold": ["1", "2"]},
        {"q": "What is not there?", "category": "abstention", "gold": []},
    ],
}


def test_a_caption_is_read_with_its_message() -> None:
    assert [unit.text for unit in parse(json.dumps(LINE)).units] == ["Look! [a photo of a lake]", "Nice."]


def test_the_core_has_evidence_and_asks_for_it() -> None:
    assert [question.text for question in parse(json.dumps(LINE)).core] == ["What did Ana show?"]


def test_questions_with_evidence_are_there_with_what_they_ask_for() -> None:
    asked = parse(json.dumps(LINE)).questions

    assert [question.category for question in asked] == ["single-hop", "adversarial", "summarization"]


def test_a_file_is_read_as_far_as_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps({**LINE, "conv": name}) + "\n" for name in ("one", "two", "three"))

    assert [held.name for held in read(path, 2)] == ["one", "two"]
    assert len(list(read(path))) == 3


@pytest.mark.parametrize(("k", "share"), [(1, 0.0), (2, 0.5), (3, 0.5), (4, 1.0), (10, 1.0)])
def test_recall_is_the_share_of_the_evidence(k: int, share: float) -> None:
    assert recall(["c", "a", "d", "b"], frozenset({"a", "b"}), k) == share
