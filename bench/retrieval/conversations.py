"""Retrieval sets: JSON lines, gzipped, one conversation a line. They are read from --data and never become part of the project.

A line is {conv, units: [{id, date?, speaker, text, caption?}], queries: [{q, category, gold: [unit ids]}]}.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

BESIDE_THE_CORE = frozenset({"adversarial", "summarization", "event_ordering"})
"""Categories whose questions ask for what is not there, or for everything at once: recall says nothing of them."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One message. `text` is what is ingested and what the baselines read: the words, and the caption of a picture in brackets."""

    id: str
    speaker: str
    text: str
    date: str | None = None
    """As the set writes it."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    gold: frozenset[str]
    """Ids of the units that hold the evidence; never empty."""
    category: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    units: tuple[Unit, ...]
    questions: tuple[Question, ...]
    """All that have evidence."""

    @property
    def core(self) -> tuple[Question, ...]:
        return tuple(question for question in self.questions if question.category not in BESIDE_THE_CORE)


def read(path: Path, at_most: int | None = None) -> Iterator[Conversation]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in islice(lines, at_most):
            yield parse(line)


def parse(line: str) -> Conversation:
    held = json.loads(line)
    units = tuple(Unit(unit["id"], unit["speaker"], _text(unit), unit.get("date")) for unit in held["units"])
    questions = tuple(
        Question(asked["q"], frozenset(asked["gold"]), asked["category"]) for asked in held["queries"] if asked["gold"]
    )
    return Conversation(held["conv"], units, questions)


def _text(unit: dict[str, str]) -> str:
    return f"{unit['text']} [{unit['caption']}]" if unit.get("caption") else unit["text"]


def recall(ranked: list[str], gold: frozenset[str], k: int) -> float:
    """The share of the evidence that is among the first k."""
    return len(gold.intersection(ranked[:k])) / len(gold)
