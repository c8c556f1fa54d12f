"""The plain rankers."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import pytest

from bench.retrieval.baselines import Bm25, by_meaning, by_words
from bench.retrieval.conversations import Conversation, Question, Unit
from infinicon.ports import Embedder

TALK = Conversation(
    "talk",
    (Unit("1", "Ana", "apples and pears"), Unit("2", "Ben", "a bicycle"), Unit("3", "Ana", "pears, pears, pears")),
    (Question("Who has pears?", frozenset({"3"})), Question("bicycle", frozenset({"2"}))),
)


class Embedding:
    """By the letters a, b and p."""

    def embed(self, texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float16]]:
        counts = np.array([[text.count(letter) for letter in "abp"] for text in texts], np.float64) + 1e-3
        return cast(
            "np.ndarray[tuple[int, int], np.dtype[np.float16]]",
            (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float16),
        )

    def embed_query(self, text: str) -> np.ndarray[tuple[int, int], np.dtype[np.float16]]:
        return self.embed([text])


def test_bm25_is_the_formula() -> None:
    scores = Bm25(["pear", "bicycle bicycle bicycle", "apple"]).scores("a pear")

    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    assert scores == [pytest.approx(idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / (5 / 3)))), 0, 0]


def test_words_rank_by_bm25_and_equals_stay_in_order() -> None:
    assert by_words(TALK) == [["3", "1", "2"], ["2", "1", "3"]]


def test_vectors_rank_by_similarity() -> None:
    assert by_meaning(TALK, cast(Embedder, Embedding()))[1] == ["2", "1", "3"]
