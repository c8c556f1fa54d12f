"""Two plain rankers over whole messages: BM25, and cosine similarity of the same model's vectors. Both read `speaker: text`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bench.retrieval.conversations import Conversation
from infinicon import lexemes
from infinicon.operations.embed import rendered
from infinicon.ports import Embedder

K1 = 1.2
B = 0.75


class Bm25:
    """Robertson's BM25 in its usual form, idf = ln(1 + (N - df + .5) / (df + .5)), over the lexemes that Infinicon itself uses."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(lexemes.analyse(text)) for text in texts]
        lengths = [sum(count.values()) for count in self._counts]
        mean = sum(lengths) / len(lengths)
        self._norms = [K1 * (1 - B + B * length / mean) for length in lengths]
        self._found_in = Counter(word for count in self._counts for word in count)

    def scores(self, query: str) -> list[float]:
        """One for each text, in order."""
        words = {word: self._idf(word) for word in set(lexemes.analyse(query)) if word in self._found_in}
        return [
            sum(idf * count[word] * (K1 + 1) / (count[word] + norm) for word, idf in words.items() if word in count)
            for count, norm in zip(self._counts, self._norms, strict=True)
        ]

    def _idf(self, word: str) -> float:
        return math.log(1 + (len(self._counts) - self._found_in[word] + 0.5) / (self._found_in[word] + 0.5))


def by_words(conversation: Conversation) -> list[list[str]]:
    """For each question of the core, ids of the units, the best first."""
    index = Bm25(_rendered(conversation))
    return [_order(conversation, index.scores(question.text)) for question in conversation.core]


def by_meaning(conversation: Conversation, embedder: Embedder) -> list[list[str]]:
    """For each question of the core, ids of the units, the best first. The model cuts a long message where it does."""
    stored = embedder.embed(_rendered(conversation)).astype(np.float32)
    asked = [embedder.embed_query(question.text)[0].astype(np.float32) for question in conversation.core]
    return [_order(conversation, (stored @ vector).tolist()) for vector in asked]


def _rendered(conversation: Conversation) -> list[str]:
    return [rendered(unit.speaker, unit.text) for unit in conversation.units]


def _order(conversation: Conversation, scores: Sequence[float]) -> list[str]:
    """Equal scores stay in the order of the conversation."""
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    return [conversation.units[at].id for at in order]
