"""A memory as the rules see it: its words, its clauses, and what they claim of which value. Read on demand, and once."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise

from infinicon.plugins.consolidator.claims import MARKS, Claim, claims_of, is_content
from infinicon.plugins.consolidator.clauses import Clause, Mood, clauses
from infinicon.plugins.consolidator.relations import Relation, relations_of
from infinicon.plugins.consolidator.words import BOUND, Kind, Word, words
from infinicon.plugins.extractor.languages import language_of
from infinicon.ports import SourceMemory

LONGEST = 1_200
"""Characters: what is longer is no statement but a text, and is compared as a whole only."""
_TELLING = 3
_ENGLISH = frozenset(
    "the is are was were of to and with my your his their has have had this that for i you he she they we".split()
)
_DISTINGUISHERS = frozenset(
    """
    first second third fourth fifth last next previous other another former latter old older left right upper lower minimum maximum
    """.split()
)
_OWNERS = {
    "my": "i",
    "our": "we",
    "i": "i",
    "we": "we",
    "your": "you",
    "you": "you",
    "his": "he",
    "her": "she",
    "their": "they",
}


class Statement:
    def __init__(self, memory: SourceMemory) -> None:
        self.memory = memory
        self.key = memory.key
        self.time = _utc(memory.occurred_at or memory.created_at)
        self.short = len(memory.content) <= LONGEST

    @cached_property
    def flat(self) -> str:
        """The text in one case and without breaks: what is compared of a text of any length."""
        return " ".join(self.memory.content.split()).casefold()

    @cached_property
    def words(self) -> list[Word]:
        return words(self.memory.content) if self.short else []

    @cached_property
    def said(self) -> list[Word]:
        """The words without punctuation and without those that say nothing."""
        return [word for word in self.words if word.said != BOUND and word.kind is not Kind.LIGHT]

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """Words as they stand, but for the forms of "to be" and the writing of numbers."""
        return tuple(
            word.stem if word.kind is not Kind.WORD or word.stem in {"be", "was"} else word.said for word in self.said
        )

    @cached_property
    def clauses(self) -> list[Clause]:
        return clauses(self.words)

    @cached_property
    def english(self) -> bool:
        """Whether its function words say so; no function words say nothing."""
        return any(word.said in _ENGLISH for word in self.words) and language_of(self.memory.content) == "en"

    @cached_property
    def topic(self) -> frozenset[str]:
        """Stems of what it is about: without values, and without words of change."""
        return frozenset(word.stem for word in self.said if is_content(word) and word.stem not in MARKS)

    @cached_property
    def telling(self) -> bool:
        """Whether it says enough to stand in a digest: three words of a topic besides names, and no mere question or announcement."""
        if self.flat.endswith(":") or (self.clauses and all(clause.mood is Mood.ASKED for clause in self.clauses)):
            return False
        named = {word.stem for word in self.said if word.named}
        return not self.short or not self.flat.isascii() or len(self.topic - named) >= _TELLING

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(word.said for word in self.said if word.named and word.kind is Kind.WORD)

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(word.stem for word in self.said if word.kind is not Kind.WORD)

    @cached_property
    def owners(self) -> frozenset[str]:
        return frozenset(_OWNERS[word.said] for word in self.said if word.said in _OWNERS)

    @cached_property
    def possessors(self) -> frozenset[str]:
        return frozenset(first.stem for first, second in pairwise(self._told) if second.said == "'s")

    @cached_property
    def distinguishers(self) -> frozenset[str]:
        """Which of several it is about, where it says so."""
        return frozenset(
            word.said
            for clause in self.clauses
            if clause.mood is Mood.ASSERTED
            for word in clause.words
            if word.said in _DISTINGUISHERS
        )

    @cached_property
    def _told(self) -> list[Word]:
        """The words outside of questions."""
        return [word for clause in self.clauses if clause.mood is not Mood.ASKED for word in clause.words]

    @cached_property
    def claims(self) -> list[Claim]:
        return claims_of(self.clauses)

    @cached_property
    def relations(self) -> list[Relation]:
        return relations_of(self.clauses)

    @cached_property
    def asserted(self) -> frozenset[str]:
        """Stems of what it asserts, in whatever clause."""
        return frozenset(
            word.stem
            for clause in self.clauses
            if clause.mood is Mood.ASSERTED
            for word in clause.words
            if is_content(word) and word.stem not in MARKS
        )


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
