"""Ranking: what of a scope fits a text best. Meaning and words are searched side by side, and each can make a memory certain
(docs/decisions/0009). query lists what comes out of here, assembleContext fills a budget with it: there is one ranker in the house.

Scores are combined, not ranks: reciprocal rank fusion falls below its better leg where the legs differ.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from infinicon import lexemes
from infinicon.domain import MemoryFilters, MemoryType, ScopeKey, Status
from infinicon.ports import Embedder
from infinicon.store import search, selection
from infinicon.store.database import Transaction
from infinicon.store.selection import Candidate

POOL = 200
"""Rows that each leg contributes at least; a request for more gets more."""

MEANING = 0.95
WORDS = 0.9
"""How certain a memory is by the same meaning alone, and by all the words of the query alone. Both are below one, so that the other
still counts: to a model that cannot read a script all its texts mean the same."""

WORD = re.compile(r"\w+(?:[.,]\w+)*")

QUOTED = 10
"""Words of the query that a reason names; more are counted."""

SIMILAR = 0.25
"""Cosine similarity from which on a reason mentions it: unrelated sentences of the built-in model mostly stay below."""

ACTIVE = MemoryFilters()
"""What is asked for where nothing is said."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A text as both legs take it: its vector, and its lexemes by id, each as the text has it."""

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


@dataclass(frozen=True, slots=True)
class Order:
    """The best memories, the best first. `complete`: there are no others. `sources`: the episodes of the atoms among them, as far as
    these are among them as well, or were listed before."""

    found: Sequence[Ranked]
    complete: bool
    sources: Mapping[UUID, Collection[UUID]]


def ask(embedder: Embedder, text: str) -> Asked:
    """Read a question. Raises Unavailable where the encoder does not answer."""
    return Asked(embedder.embed_query(text)[0], terms(text))


def terms(text: str) -> dict[int, str]:
    """The lexemes of a question by id, each as the word that the question has for it."""
    found = lexemes.analyse(text)
    written: dict[str, str] = {}
    for word in WORD.findall(text):
        own = lexemes.analyse(word)
        if len(own) == 1:
            written.setdefault(own[0], word)
    return {lexemes.lexeme_id(lexeme): written.get(lexeme, lexeme) for lexeme in found}


def ranked(scope: ScopeKey, tx: Transaction, asked: Asked, limit: int, filters: MemoryFilters = ACTIVE) -> list[Ranked]:
    """The memories of a scope that fit best and pass the filters, at most `limit`; otherwise as `order`."""
    return list(order(scope, tx, asked, limit, filters).found[:limit])


def order(
    scope: ScopeKey,
    tx: Transaction,
    asked: Asked,
    enough: int,
    filters: MemoryFilters = ACTIVE,
    listed: Sequence[UUID] = (),
    *,
    doubles: bool = False,
) -> Order:
    """The memories of a scope that fit best, at least `enough` or all there are, the best first; equal scores are ordered newest
    first. Of an atom and the episode that it comes from one is there, and those that were listed before stay away with what says the
    same; with `doubles` all of them are there but what was listed itself.

    What may not be shown leaves the pool after it was filled: the pool grows until there are enough, or until it holds every row of the
    scope that either leg finds. Under filters there must be more than enough, for what ranks low in the pool of all may rank high
    among those that pass; and where the filters let only some pass, those are ranked instead, each of them.
    """
    sifted = filters.narrow or Status.ACTIVE not in filters.statuses or scope.named.filters is not None
    wanted = 4 * enough if sifted else enough
    pool = max(POOL, 4 * (enough + len(listed)))
    while True:
        rows = _evidence(scope, tx, asked, pool)
        found, sources = _shown(scope, tx, rows, filters, listed, doubles=doubles)
        if len(rows) < pool:
            return Order(found, complete=True, sources=sources)
        if len(found) >= wanted:
            return Order(found, complete=False, sources=sources)
        if sifted:
            few = selection.selected(scope, tx, filters)
            if few is not None:
                rows = _evidence(scope, tx, asked, len(few), few)
                found, sources = _shown(scope, tx, rows, filters, listed, doubles=doubles)
                return Order(found, complete=True, sources=sources)
            sifted = False
        pool *= 4


def _evidence(
    scope: ScopeKey, tx: Transaction, asked: Asked, limit: int, among: Collection[int] | None = None
) -> dict[int, Evidence]:
    """What both legs know of their best rows, or of those `among` which they look. A row that one leg alone found gets its
    similarity too."""
    matches = {match.row: match for match in search.matching(scope, tx, list(asked.terms), limit, among)}
    model = search.current_model(scope, tx, len(asked.vector))
    near: dict[int, float] = {}
    if model is not None:
        if among is None:
            near = search.nearest(scope, tx, model, asked.vector, limit)
            among = [row for row in matches if row not in near]
        near |= search.similarities(scope, tx, model, asked.vector, among)
    evidence = {}
    for row in near.keys() | matches.keys():
        words = matches[row].score if row in matches else 0.0
        shared = matches[row].lexemes if row in matches else frozenset()
        evidence[row] = Evidence(score(near.get(row), words), near.get(row), shared)
    return evidence


def _shown(
    scope: ScopeKey,
    tx: Transaction,
    rows: Mapping[int, Evidence],
    filters: MemoryFilters,
    listed: Sequence[UUID],
    *,
    doubles: bool,
) -> tuple[list[Ranked], Mapping[UUID, Collection[UUID]]]:
    """What may be shown of what stands behind the rows, the best first, without what was listed before; and the atoms' sources."""
    best = _best(selection.candidates(scope, tx, list(rows), filters), rows)
    atoms = [one.candidate.memory for one in best if one.candidate.type is MemoryType.ATOM]
    episodes = [one.candidate.memory for one in best if one.candidate.type is MemoryType.EPISODE]
    sources = search.told(scope, tx, [*listed, *atoms], [*listed, *episodes])
    before = set(listed)
    new = [one.candidate.memory for one in best if one.candidate.memory not in before]
    kept = set(new if doubles else _without_doubles([*listed, *new], sources)) - before
    return [one for one in best if one.candidate.memory in kept], sources


def score(similarity: float | None, words: float) -> float:
    """0..1 from a cosine similarity (None: no vector) and a share of the query's words, as two witnesses of whom one is enough.

    Neither is scaled over the other candidates: what fits nothing in the query stays low even where nothing fits better.
    """
    meaning = min(max(similarity or 0.0, 0.0), 1.0)
    return 1 - (1 - MEANING * meaning) * (1 - WORDS * min(words, 1.0))


def _best(found: Sequence[tuple[int, Candidate]], rows: Mapping[int, Evidence]) -> list[Ranked]:
    """Each memory once, under its best chunk, the best memory first."""
    ordered = sorted(found, key=lambda pair: (-rows[pair[0]].score, -pair[1].memory.int))
    best: dict[UUID, Ranked] = {}
    for row, candidate in ordered:
        best.setdefault(candidate.memory, Ranked(candidate, rows[row]))
    return list(best.values())


class Told:
    """What is said already. An atom and the episode that it comes from say the same: whichever comes first stands for both.

    `quotes` are the memories that consolidations are made of: a consolidation says what they say, and says nothing new beside one of
    them, or beside an episode of one of them, or another consolidation that is made of one of them.
    """

    def __init__(
        self, sources: Mapping[UUID, Collection[UUID]], quotes: Mapping[UUID, Collection[UUID]] | None = None
    ) -> None:
        self._sources = sources
        self._quotes = quotes or {}
        self._listed: set[UUID] = set()
        self._told: set[UUID] = set()

    def has(self, memory: UUID) -> bool:
        if memory in self._listed or memory in self._told:
            return True
        if memory in self._quotes:
            return any(self._says(part) for part in self._quotes[memory])
        return not self._listed.isdisjoint(self._sources.get(memory, ()))

    def _says(self, part: UUID) -> bool:
        return part in self._listed or part in self._told or not self._listed.isdisjoint(self._sources.get(part, ()))

    def add(self, memory: UUID) -> None:
        self._listed.add(memory)
        self._told.update(self._quotes.get(memory, self._sources.get(memory, ())))

    def exclude(self, memory: UUID) -> None:
        """It is not wanted, nor what says the same; what it is made of may be told all the same."""
        self._listed.add(memory)
        self._told.update(self._sources.get(memory, ()))


def _without_doubles(best: Sequence[UUID], sources: Mapping[UUID, Collection[UUID]]) -> list[UUID]:
    told = Told(sources)
    kept = []
    for memory in best:
        if not told.has(memory):
            told.add(memory)
            kept.append(memory)
    return kept


def reason(asked: Asked, evidence: Evidence) -> str:
    """For a person: which words of the query it has, and how near it is in meaning. It quotes the query, and never the memory."""
    return because(asked.terms, evidence.lexemes, evidence.similarity)


def because(terms: Mapping[int, str], shared: Collection[int], similarity: float | None) -> str:
    """The same from its parts."""
    words = sorted({terms[lexeme] for lexeme in shared if lexeme in terms})
    parts = []
    if words:
        more = f" and {len(words) - QUOTED} more" if len(words) > QUOTED else ""
        parts.append("has " + ", ".join(f"“{word}”" for word in words[:QUOTED]) + more)
    if similarity is not None and similarity >= SIMILAR:
        parts.append(f"similar in meaning ({similarity:.2f})")
    return "; ".join(parts) or "the nearest there is"
