"""Gathering: which memories of a scope go into a context. They are ranked as query ranks them, and offered in that order.

Of an atom and its episode one is taken. A short episode is taken whole in the place of any of its atoms: what stands around a sentence
helps to read it, and costs little. A long one gives way to its atoms, where one of them ranks near it: so the budget holds many places
instead of one. What gave way and is not told by an atom in the end is offered last. (docs/decisions/0011) So it is with a
consolidation and what it is made of: never both use up the budget.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from infinicon import rendering
from infinicon.domain import (
    MOST_SEGMENTS,
    AssembleRequest,
    ContextConstraints,
    MemoryFilters,
    MemoryType,
    ScopeKey,
)
from infinicon.errors import MissingDependency, PluginFailed, Unavailable
from infinicon.operations import ranking
from infinicon.operations.counting import Counters
from infinicon.operations.filling import PATIENCE, Filling
from infinicon.operations.ranking import Asked, Order, Ranked, Told
from infinicon.store import contexts, selection
from infinicon.store.contexts import Described, Said, Source
from infinicon.store.database import Transaction

SIZING = 64
"""Tokens of the budget for which the first pool has a memory: it has some rows for each, and grows where they are not enough."""

COUNTED_AT_ONCE = 64
"""Memories without a stored count are loaded and counted so many at a time, for most of them may not be needed."""

SHORT = 128
SHORT_CHARACTERS = 512
"""What an episode costs, rendered, that is taken in the place of its atoms, in tokens and where characters are counted."""

LONG = 0.1
"""The share of the budget from which on an episode that is not short gives way to its atoms."""

NEAR = 0.5
"""The share of an episode's score that one of its atoms has, for which it gives way."""

HALF_LIFE = 30 * 86_400.0
AGED = 0.75
"""preferRecency leaves this much of an old memory's score at least; half of what it takes it takes in so many seconds."""

UNSURE = 0.5
"""preferHighConfidence leaves this much of the score of a memory that is not sure at all."""


@dataclass(frozen=True, slots=True)
class Work:
    """One request, in the transaction that answers it."""

    scope: ScopeKey
    tx: Transaction
    counters: Counters
    request: AssembleRequest
    filters: MemoryFilters

    @property
    def room(self) -> int:
        return self.request.budget.max_tokens - self.request.budget.reserved_tokens

    @property
    def segments(self) -> int:
        bounds = (self.request.budget.max_segments, self.request.constraints.max_segments, MOST_SEGMENTS)
        return min(bound for bound in bounds if bound is not None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What goes into the context, whether something else would have with more room, and how what was gathered ranked; what stands for
    an atom has its rank."""

    filling: Filling
    truncated: bool
    ranked: Mapping[UUID, Ranked]
    scores: Mapping[UUID, float]


class Prices:
    """What memories cost. What was not counted when it was made is counted now, some at a time in the order that is given."""

    def __init__(self, work: Work, ordered: Collection[UUID]) -> None:
        self._work = work
        self._name = work.request.budget.tokenizer
        self.known: Mapping[UUID, Described] = contexts.described(work.scope, work.tx, rendering.VERSION, ordered)
        self._tokens: dict[UUID, int] = {}
        self._missing: dict[UUID, None] = {}
        for memory in ordered:
            about = self.known.get(memory)
            tokens = None if about is None or about.unit is None else about.unit.of(self._name)
            if tokens is None:
                self._missing[memory] = None
            else:
                self._tokens[memory] = tokens

    def of(self, memory: UUID) -> int:
        """Raises Unavailable where a counter is needed that cannot count."""
        if memory not in self._tokens:
            part = [memory, *(other for other in self._missing if other != memory)][:COUNTED_AT_ONCE]
            for one, said in contexts.said(self._work.scope, self._work.tx, part).items():
                self._tokens[one] = self._count(unit_of(said))
                del self._missing[one]
        return self._tokens[memory]

    def _count(self, unit: str) -> int:
        try:
            return self._work.counters.count(self._name, unit)
        except (MissingDependency, PluginFailed) as fault:
            why = f"the token counter cannot count: {fault.message}"
            raise Unavailable(why, details={"tokenizer": self._name}) from None


def unit_of(said: Said) -> str:
    return rendering.unit(said.who, said.occurred_at, said.created_at, said.text)


def gather(work: Work, asked: Asked, required: Filling) -> Chosen:
    """Fill what is left of the budget by rank. The pool grows until nothing more is wanted, or there is no more."""
    away = [*(ref.id for ref in work.request.constraints.excluded), *required.chosen]
    enough = min(work.segments, work.room // SIZING) + PATIENCE
    while True:
        order = ranking.order(work.scope, work.tx, asked, enough, work.filters, away, doubles=True)
        pool = Pool(work, order, away, required.copy())
        pool.offer_all(complete=order.complete)
        if pool.filling.full or order.complete:
            return Chosen(pool.filling, pool.truncated, pool.ranked, pool.scores)
        enough *= 4


class Pool:
    """What was ranked at once, and the budget that it is offered to."""

    def __init__(self, work: Work, order: Order, away: Sequence[UUID], filling: Filling) -> None:
        self.filling = filling
        self.ranked = {one.candidate.memory: one for one in order.found}
        atoms = [memory for memory, one in self.ranked.items() if one.candidate.type is MemoryType.ATOM]
        quotes = contexts.quotes(work.scope, work.tx, [*self.ranked, *away])
        parts = {part for of in quotes.values() for part in of}
        sources = contexts.sources(work.scope, work.tx, {*atoms, *away, *parts})
        self._episode = self._only_episodes(work, atoms, sources)
        self._prices = Prices(work, self.ranked)
        self.scores = scored(self.ranked, self._prices.known, work.request.constraints)
        self._order = sorted(
            (one.candidate.memory for one in order.found), key=lambda memory: (-self.scores[memory], -memory.int)
        )
        own = {atom: {source.episode for source in found} for atom, found in sources.items()}
        wanted = {*atoms, *away, *parts}
        self._told = Told({one: own.get(one, set()).union(order.sources.get(one, ())) for one in wanted}, quotes)
        for memory in away:
            if memory in filling.chosen:
                self._told.add(memory)
            else:
                self._told.exclude(memory)
        self._nearest: dict[UUID, float] = {}
        for atom in atoms:
            for episode in own.get(atom, ()):
                self._nearest[episode] = max(self._nearest.get(episode, 0.0), self.scores[atom])
        for whole, of in quotes.items():
            self._nearest[whole] = max((self.scores.get(part, 0.0) for part in of), default=0.0)
        self._short = SHORT_CHARACTERS if work.request.budget.tokenizer == "chars" else SHORT
        self._long = max(self._short, LONG * work.room)

    def _only_episodes(
        self, work: Work, atoms: Sequence[UUID], sources: Mapping[UUID, Sequence[Source]]
    ) -> dict[UUID, UUID]:
        """For atoms that come from one episode, and say a part of it: that episode, if it may be shown. What is not in the pool by
        itself comes in with the evidence of its best atom."""
        only = {
            atom: found[0].episode for atom in atoms if len(found := sources.get(atom, ())) == 1 and not found[0].whole
        }
        absent = {episode for episode in only.values() if episode not in self.ranked}
        shown = selection.listed(work.scope, work.tx, absent, work.filters) if absent else {}
        for atom, episode in only.items():  # in the order of rank
            if episode in shown and episode not in self.ranked:
                self.ranked[episode] = Ranked(shown[episode], self.ranked[atom].evidence)
        return {atom: episode for atom, episode in only.items() if episode in self.ranked}

    def offer_all(self, *, complete: bool) -> None:
        """In the order of rank; at the end, where this is all there is, what gave way."""
        late = []
        for memory in self._order:
            if self._told.has(memory):
                continue
            if self._gives_way(memory):
                late.append(memory)
            else:
                self._offer(self._stand_in(memory))
            if self.filling.full:
                return
        for memory in late if complete else ():
            if not self._told.has(memory):
                self._offer(memory)

    @property
    def truncated(self) -> bool:
        """What was passed over and is told by what was taken after it is not missing."""
        return self.filling.cut or not all(self._told.has(memory) for memory in self.filling.passed_over)

    def _offer(self, memory: UUID) -> None:
        if self.filling.offer(memory, self._prices.of(memory)):
            self._told.add(memory)

    def _gives_way(self, memory: UUID) -> bool:
        """A long episode, or consolidation, to its atoms: one of them ranks near it."""
        nearest = self._nearest.get(memory, 0.0)
        return nearest >= NEAR * self.scores[memory] > 0 and self._prices.of(memory) > self._long

    def _stand_in(self, memory: UUID) -> UUID:
        """A short episode for one of its atoms, while none of them is there and it fits; else the memory itself."""
        episode = self._episode.get(memory)
        if episode is None or self._told.has(episode):
            return memory
        tokens = self._prices.of(episode)
        if tokens > self._short or not self.filling.fits(tokens):
            return memory
        self.scores[episode] = max(self.scores[episode], self.scores[memory])
        return episode


def scored(
    ranked: Mapping[UUID, Ranked], known: Mapping[UUID, Described], constraints: ContextConstraints
) -> dict[UUID, float]:
    """The score by which each memory is offered. preferRecency takes some of it for its age, measured from the newest of them;
    preferHighConfidence for the confidence that it lacks, where it says how sure it is."""
    newest = max((about.when for about in known.values()), default=None)
    scores = {}
    for memory, one in ranked.items():
        about = known[memory]
        score = one.evidence.score
        if constraints.prefer_recency and newest is not None:
            score *= AGED + (1 - AGED) * 0.5 ** ((newest - about.when).total_seconds() / HALF_LIFE)
        if constraints.prefer_high_confidence and about.confidence is not None:
            score *= UNSURE + (1 - UNSURE) * about.confidence
        scores[memory] = score
    return scores
