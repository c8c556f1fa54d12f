"""A sentence as clauses, and what each of them claims. English; of other languages nothing is claimed but the words.

Only what is ASSERTED can retire another statement or contradict it. A question, a wish, a plan, a condition, a guess and what somebody
else is said to have said assert nothing. Where it is not clear, nothing is asserted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from infinicon.plugins.consolidator.words import BOUND, Kind, Word


class Mood(Enum):
    ASSERTED = "asserted"
    ASKED = "asked"
    SUPPOSED = "supposed"
    """A condition, a wish, a plan, a guess."""
    REPORTED = "reported"


@dataclass(frozen=True, slots=True)
class Clause:
    words: tuple[Word, ...]
    mood: Mood
    negated: bool
    opens: bool = True
    """Whether it is the first of its sentence."""
    relative: bool = False
    """Whether "which" begins it: its subject is in the clause before it."""

    @property
    def said(self) -> tuple[str, ...]:
        return tuple(word.said for word in self.words)


_QUESTION = frozenset("what why how who whom whose where when which".split())
_AUXILIARY = frozenset(
    "is are am was were do does did can could will would shall should may might must have has had isn aren don".split()
)
_SUBJECT = frozenset(
    "i you he she it we they this that these those there the a an my your our his her their any anyone someone".split()
)
_SUPPOSING = frozenset(
    """
    if unless whether suppose supposing imagine hypothetically would could might maybe perhaps probably possibly likely should may wish
    hope hopefully hoping guess doubt unsure wonder wondering considering thinking planning plan plans intend intending want wants
    wanted wanting will shall trying try let assuming assume assumes seems seem seemed appears appear aim aiming aims goal
    estimate estimated expect expects expecting expected worried afraid almost pretend dream dreamed fantasy when whenever until once
    propose proposed consider example joke joking kidding
    """.split()
)
_REPORTING = frozenset(
    """
    said says say saying told tells tell telling thinks thought believes believed believe claims claimed claim heard hear according
    reportedly supposedly apparently allegedly mentioned mentions suggested suggests recommended recommends insists insisted
    announced announces denies denied admits admitted argues argued reports reported asked asks quoted rumour rumor rumoured
    """.split()
)
_NEGATIONS = frozenset("not no never none nobody nothing neither nor without hardly barely nowhere".split())
_SPLITS_ALWAYS = frozenset("but because although though whereas while which so".split())
_SPLITS_BEFORE_A_SUBJECT = frozenset("and since that as".split())
_GRANTED = frozenset({"remind", "know", "remember"})
"""Who asks to be reminded of something says that it is so."""
_PASSES_ON = frozenset({Mood.ASKED, Mood.SUPPOSED, Mood.REPORTED})


def clauses(words: Sequence[Word]) -> list[Clause]:
    """The clauses of one or more sentences, in order."""
    return [clause for sentence in _sentences(words) for clause in _of_sentence(sentence)]


def is_negation(word: Word) -> bool:
    return word.said in _NEGATIONS


def _sentences(words: Sequence[Word]) -> Iterator[list[Word]]:
    held: list[Word] = []
    for word in words:
        held.append(word)
        if word.said == BOUND and word.stem in ".!?…\n":
            yield held
            held = []
    if held:
        yield held


def _of_sentence(words: list[Word]) -> Iterator[Clause]:
    asked = words[-1].said == BOUND and words[-1].stem == "?"
    parts = list(_parts(words))
    before = Mood.ASSERTED
    for at, (part, splitter) in enumerate(parts):
        joined = splitter == "that"
        mood = _mood(part, alone=asked and len(parts) == 1)
        # "She said that …", "I hope that …": what governs a clause without a break governs its claim.
        if joined and mood is Mood.ASSERTED and before in _PASSES_ON:
            mood = before
        takes_for_granted = (
            mood is Mood.ASKED and part[-1].said in _GRANTED | {"me", "us"} and _GRANTED & {w.said for w in part}
        )
        before = Mood.ASSERTED if takes_for_granted else mood
        yield Clause(tuple(part), mood, any(is_negation(word) for word in part), at == 0, splitter == "which")


def _parts(words: list[Word]) -> Iterator[tuple[list[Word], str]]:
    """Each part, and the word or mark that parts it from the one before it."""
    held: list[Word] = []
    splitter = BOUND
    for word, following in pairwise([*words, words[-1]]):
        if not _splits(word, following):
            held.append(word)
            continue
        if held:
            yield held, splitter
        held, splitter = [], word.said
    if held:
        yield held, splitter


def _splits(word: Word, following: Word) -> bool:
    if word.said == BOUND or word.said in _SPLITS_ALWAYS:
        return True
    return word.said in _SPLITS_BEFORE_A_SUBJECT and (following.said in _SUBJECT or following.named)


def _mood(part: Sequence[Word], *, alone: bool) -> Mood:
    said = [word.said for word in part if word.kind not in {Kind.LIGHT, Kind.CALENDAR}]
    if not said:
        return Mood.SUPPOSED
    if alone or _asks(said):
        return Mood.ASKED
    if any(word in _REPORTING for word in said):
        return Mood.REPORTED
    if any(word in _SUPPOSING for word in said) or "going to" in " ".join(said):
        return Mood.SUPPOSED
    return Mood.ASSERTED


def _asks(said: Sequence[str]) -> bool:
    if said[0] in _QUESTION:
        return True
    return said[0] in _AUXILIARY and len(said) > 1 and (said[1] in _SUBJECT or said[1] == "not")
