"""Ranking: what of a scope fits a text best. Meaning and words are searched side by side, and each can make a memory certain
(docs/decisions/0009). query lists what comes out of here, assembleContext fills a budget with it: there is one ranker in the house.

Scores are combined, not ranks: reciprocal rank fusion falls below its better leg where the legs differ.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from infinicon import lexemes
from infinicon.domain import MemoryType, ScopeKey, Status
from infinicon.ports import Embedder
from infinicon.store import search
from infinicon.store.database import Transaction
from infinicon.store.search import Candidate

POOL = 200
"""Rows that each leg contributes at least; a request for more gets more."""

MEANING = 0.95
WORDS = 0.9
"""How certain a memory is by the same meaning alone, and by all the words of the query alone. Both are below one, so that the other
still counts: to a model that cannot read a script all its texts mean the same."""

SIMILAR = 0.25
"""Cosine similarity from which on a reason mentions it: unrelated sentences of the built-in model mostly stay below."""

VISIBLE = (Status.ACTIVE,)


@dataclass(frozen=True, slots=True)
class Asked:
    """A text as both legs take it: its vector, and its lexemes by id."""

    vector: NDArray[np.float16]
    terms: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a row is a candidate: its score, its cosine similarity, and the query's lexemes that it has."""

    score: float
    similarity: float | None
    lexemes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory, and what speaks for it."""

    candidate: Candidate
    evidence: Evidence


def ask(embedder: Embedder, text: str) -> Asked:
    """Read a question. Raises Unavailable where the encoder does not answer."""
    terms = {lexemes.lexeme_id(lexeme): lexeme for lexeme in lexemes.analyse(text)}
    return Asked(embedder.embed_query(text)[0], terms)


def ranked(
    scope: ScopeKey, tx: Transaction, asked: Asked, limit: int, statuses: Sequence[Status] = VISIBLE
) -> list[Ranked]:
    """The memories of a scope that fit best, at most `limit`, the best first; equal scores are ordered newest first. Of an atom and the
    episode that it comes from one is there.

    What may not be shown (expired, under other filters) leaves the pool after it was filled: the pool grows until there are enough,
    or until it holds every row of the scope that either leg finds.
    """
    filters = None if scope.named.filters is None else json.dumps(scope.named.filters)
    pool = max(POOL, 4 * limit)
    while True:
        rows = _evidence(scope, tx, asked, pool)
        best = _best(search.candidates(scope, tx, list(rows), statuses, filters), rows)
        atoms = [candidate.memory for candidate in best if candidate.type is MemoryType.ATOM]
        episodes = [candidate.memory for candidate in best if candidate.type is MemoryType.EPISODE]
        kept = _without_doubles(best, search.told(scope, tx, atoms, episodes))[:limit]
        if len(kept) == limit or len(rows) < pool:
            return [Ranked(candidate, rows[candidate.row]) for candidate in kept]
        pool *= 4


def _evidence(scope: ScopeKey, tx: Transaction, asked: Asked, limit: int) -> dict[int, Evidence]:
    """What both legs know of their best rows. A row that one leg alone found gets its similarity too."""
    matches = {match.row: match for match in search.matching(scope, tx, list(asked.terms), limit)}
    model = search.current_model(scope, tx, len(asked.vector))
    near: dict[int, float] = {}
    if model is not None:
        near = search.nearest(scope, tx, model, asked.vector, limit)
        near |= search.similarities(scope, tx, model, asked.vector, [row for row in matches if row not in near])
    evidence = {}
    for row in near.keys() | matches.keys():
        words = matches[row].score if row in matches else 0.0
        shared = matches[row].lexemes if row in matches else frozenset()
        evidence[row] = Evidence(score(near.get(row), words), near.get(row), shared)
    return evidence


def score(similarity: float | None, words: float) -> float:
    """0..1 from a cosine similarity (None: no vector) and a share of the query's words, as two witnesses of whom one is enough.

    Neither is scaled over the other candidates: what fits nothing in the query stays low even where nothing fits better.
    """
    meaning = min(max(similarity or 0.0, 0.0), 1.0)
    return 1 - (1 - MEANING * meaning) * (1 - WORDS * min(words, 1.0))


def _best(found: Sequence[Candidate], rows: Mapping[int, Evidence]) -> list[Candidate]:
    """Each memory once, under its best chunk, the best memory first."""
    ordered = sorted(found, key=lambda c: (-rows[c.row].score, -c.memory.int))
    seen: set[UUID] = set()
    best = []
    for candidate in ordered:
        if candidate.memory not in seen:
            seen.add(candidate.memory)
            best.append(candidate)
    return best


def _without_doubles(best: Sequence[Candidate], sources: Mapping[UUID, Collection[UUID]]) -> list[Candidate]:
    """An atom and the episode that it comes from say the same: whichever ranks higher stands for both."""
    listed: set[UUID] = set()
    told: set[UUID] = set()
    kept = []
    for candidate in best:
        own = sources.get(candidate.memory, [])
        if candidate.memory in told or not listed.isdisjoint(own):
            continue
        listed.add(candidate.memory)
        told.update(own)
        kept.append(candidate)
    return kept


def reason(asked: Asked, evidence: Evidence) -> str:
    """For a person: which words of the query it has, and how near it is in meaning."""
    words = sorted({asked.terms[lexeme] for lexeme in evidence.lexemes if lexeme in asked.terms})
    parts = []
    if words:
        parts.append("has " + ", ".join(f"“{word}”" for word in words))
    if evidence.similarity is not None and evidence.similarity >= SIMILAR:
        parts.append(f"similar in meaning ({evidence.similarity:.2f})")
    return "; ".join(parts) or "the nearest there is"
