"""Memories that say the same. Words decide; a vector only says which pairs are worth a look.

Two atoms of one speaker say the same where their words are the same but for articles, fillers, case and punctuation; or where one has all
words of the other in the same order and a few more of a closed class that takes nothing away: when or where it happened, a colour, a
size. Any other word may turn it (back, badly, almost, toy, never). The most complete one is kept; of equally complete ones the earliest.

What is true of a moment ("I am at the gym today") is folded within a day only: on another day the same words tell of something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise

from infinicon.plugins.consolidator.claims import STAND_INS
from infinicon.plugins.consolidator.clauses import Mood, is_negation
from infinicon.plugins.consolidator.limits import LIMITS, Limits
from infinicon.plugins.consolidator.places import extent
from infinicon.plugins.consolidator.statements import Statement
from infinicon.plugins.consolidator.words import BOUND, Kind, Word
from infinicon.ports import Duplicate

_A_DAY = timedelta(days=1)
_DIGITS_OF_A_YEAR = 4
_ARTICLES = frozenset({"a", "an", "the"})
_MOMENT = frozenset(
    """
    here today yesterday tomorrow tonight now currently ago this last next recently soon earlier later again here yet still so-far just
    morning evening afternoon moment
    """.split()
)
_SCENIC = frozenset(
    """
    red blue green yellow orange purple pink brown black white grey gray big large small huge tiny tall wide round square wooden
    metal plastic leather young heavy bright dark
    """.split()
)
"""Adjectives that take nothing away: a red onion is an onion. A toy gun is no gun, and a former manager none."""
_TELLING_FILLERS = frozenset("just simply so quite very also too kind sort".split())
"""Light words that say something after all: "I just have eggs", "I live here too"."""
_SPARSE = frozenset("few little".split())
"""To have a few friends is not to have few."""
_SIGNS = re.compile(r"""(?<!\w)-(?=\S)|[^\w\s.,;:!?'’‘…—–。、！？，¿¡-]|(?<!\w)['’‘]|['’‘](?!\w)""")
"""C++ and C, -5 and 5, a quotation and what is said: signs are no words, and tell them apart."""
_DID = frozenset("was had did went got saw made took came ate met ran gave bought sold wrote read sent told".split())
_STATES = frozenset(
    "had been lived loved owned liked hated needed wanted believed worked used preferred studied stayed knew kept named called".split()
)
_WITH_A_NAME = frozenset("at to from near with".split())


def subsumes(kept: Statement, folded: Statement, limits: Limits = LIMITS) -> bool:
    """Whether `folded` says nothing that `kept` does not say."""
    if kept.memory.speaker != folded.memory.speaker or not _covers(kept, folded):
        return False
    if not kept.short or not folded.short:
        return kept.flat == folded.flat and _near_in_time(kept, folded)
    long, short = kept.forms, folded.forms
    if _manner(kept) != _manner(folded):
        return False
    if long == short:
        same = bool(long) and (_near_in_time(kept, folded) or _lasts(folded))
    else:
        same = _adds_only(kept, folded, limits) and (_near_in_time(kept, folded) or _lasts(folded))
    return same


def duplicates(
    statements: Iterable[Statement], near: Mapping[str, Sequence[Statement]], limits: Limits = LIMITS
) -> list[Duplicate]:
    """`near`: by key, those that are worth a comparison, in both directions. Nothing is both kept and folded."""
    folded: set[str] = set()
    found = []
    for statement in sorted(statements, key=_completest_first):
        rank = _completest_first(statement)
        roots = [
            other
            for other in near.get(statement.key, ())
            if other.key not in folded
            and _completest_first(other) < rank
            and (other.memory.fresh or statement.memory.fresh)
            and subsumes(other, statement, limits)
        ]
        if roots:
            folded.add(statement.key)
            found.append(Duplicate(min(roots, key=_completest_first).key, statement.key))
    return sorted(found, key=lambda one: (one.kept, one.folded))


def _completest_first(statement: Statement) -> tuple[int, object, str]:
    return -len(statement.said), statement.time, statement.key


def _covers(kept: Statement, folded: Statement) -> bool:
    """Whether tags and title of the one to be folded are the other's as well."""
    return set(folded.memory.tags) <= set(kept.memory.tags) and folded.memory.title in {None, kept.memory.title}


def _adds_only(kept: Statement, folded: Statement, limits: Limits) -> bool:
    long, short = kept.forms, folded.forms
    if (
        folded.flat.endswith(":")
        or kept.flat.endswith(":")
        or len(short) < limits.least_words
        or not 0 < len(long) - len(short) <= limits.more_words
    ):
        return False
    if any(clause.mood is not Mood.ASSERTED for clause in (*kept.clauses, *folded.clauses)):
        return False
    if not kept.english or folded.said[0].said in STAND_INS or any(is_negation(word) for word in folded.said):
        # What turns a statement is known of English only; "it" may be another thing by now; and "I did not call" says more than "I did
        # not call you".
        return False
    added = _added(long, short)
    if added is None:
        return False
    if len(short) == added[0]:
        return _happened(folded) and _only_says_when_or_where([kept.said[at] for at in added])
    return len(added) == 1 and _is_scenic(kept, kept.said[added[0]])


def _manner(statement: Statement) -> tuple[object, ...]:
    """What must be the same beside the words: whether it is asked or told, signs, fillers that say something, a few or few."""
    said = [word.said for word in statement.words]
    denies = any(is_negation(word) for word in statement.words)
    return (
        tuple(clause.mood for clause in statement.clauses),
        tuple(sorted(_SIGNS.findall(statement.memory.content))),
        # "Not just a toy", "not really": what is denied is the filler.
        tuple(word.said for word in statement.words if word.kind is Kind.LIGHT and word.said not in _ARTICLES | {BOUND})
        if denies
        else tuple(word for word in said if word in _TELLING_FILLERS),
        tuple(word for word in said if word in _ARTICLES) if _SPARSE & set(said) else (),
    )


def _is_scenic(kept: Statement, word: Word) -> bool:
    """ "A red onion"; but "the black box" may be another than "the box"."""
    return word.said in _SCENIC and any(
        first.said in {"a", "an"} and second.said == word.said for first, second in pairwise(kept.words)
    )


def _happened(statement: Statement) -> bool:
    """Whether it tells of one event; of what is so, a time or a place at the end would be a condition: "on Mondays"."""
    said = {word.said for word in statement.said}
    if said & _STATES or any(word.stem in {"be", "was"} for word in statement.said):
        return False
    return any(
        word.kind is Kind.WORD and (word.said in _DID or word.said.endswith("ed")) for word in statement.said[1:4]
    )


def _only_says_when_or_where(words: Sequence[Word]) -> bool:
    """ "in May", "on Monday", "in Turin", "with Rosa": no more than one of each."""
    first, rest = words[0].said, words[1:]
    if not rest:
        return first in {"yesterday", "today"}
    if all(word.kind is Kind.CALENDAR for word in rest[:1]):
        return first in {"in", "on"} and all(word.kind is not Kind.WORD for word in rest)
    if first == "in":
        year = len(rest) == 1 and len(rest[0].said) == _DIGITS_OF_A_YEAR and rest[0].said.isdigit()
        return year or extent(" ".join(word.said for word in rest)) is not None
    return first in _WITH_A_NAME and all(word.named for word in rest)


def _added(long: Sequence[str], short: Sequence[str]) -> list[int] | None:
    """Places of the words that `long` has more, where `short` is what is left without them."""
    added = []
    at = 0
    for place, form in enumerate(long):
        if at < len(short) and form == short[at]:
            at += 1
        else:
            added.append(place)
    return added if at == len(short) else None


def _near_in_time(kept: Statement, folded: Statement) -> bool:
    return abs(kept.time - folded.time) <= _A_DAY


def _lasts(statement: Statement) -> bool:
    """Whether it tells of what is so, and not of what somebody did or is doing at that moment."""
    said = [word.said for word in statement.said]
    if not said or said[0] in STAND_INS or any(word in _MOMENT for word in said):
        return False
    if any(clause.mood is not Mood.ASSERTED for clause in statement.clauses):
        return False
    doing = any(word.stem == "be" and after.said.endswith("ing") for word, after in pairwise(statement.said))
    did = "i" in said[:2] and any(word in _DID or word.endswith("ed") for word in said[1:4])
    return not doing and not did
