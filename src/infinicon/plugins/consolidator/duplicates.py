"""Memories that say the same. Words decide; a vector only says which pairs are worth a look.

Two atoms of one speaker say the same where their words are the same but for articles, fillers, case and punctuation; or where one has all
words of the other in the same order and a few more, none of which turns the meaning ("not", "maybe", "only", "said"). The most complete
one is kept; of equally complete ones the earliest.

What is true of a moment ("I am at the gym today") is folded within a day only: on another day the same words tell of something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise

from infinicon.plugins.consolidator.claims import STAND_INS
from infinicon.plugins.consolidator.clauses import Mood, is_negation
from infinicon.plugins.consolidator.limits import LIMITS, Limits
from infinicon.plugins.consolidator.statements import Statement
from infinicon.plugins.consolidator.words import Kind, Word
from infinicon.ports import Duplicate

_A_DAY = timedelta(days=1)
_MOMENT = frozenset(
    """
    here today yesterday tomorrow tonight now currently ago this last next recently soon earlier later again here yet still so-far just
    morning evening afternoon moment
    """.split()
)
_TURNING = frozenset(
    """
    not no never none nobody nothing neither nor without hardly barely only if unless whether would could might may maybe perhaps
    probably possibly should must can will say says said tell told think thinks thought believe heard almost nearly but except however
    used former formerly fake false wrong instead until before after when while because sometimes often rarely seldom usually always
    try tried trying want wants wanted hope wish plan plans planned all every each some most few many any both half than or more less
    """.split()
)
_DID = frozenset("was had did went got saw made took came ate met ran".split())
_PREPOSITIONS = frozenset(
    "of to on in at by for with from into onto over under about against between through as off up down out toward towards".split()
)


def subsumes(kept: Statement, folded: Statement, limits: Limits = LIMITS) -> bool:
    """Whether `folded` says nothing that `kept` does not say."""
    if kept.memory.speaker != folded.memory.speaker or not _covers(kept, folded):
        return False
    if not kept.short or not folded.short:
        return kept.flat == folded.flat and _near_in_time(kept, folded)
    long, short = kept.forms, folded.forms
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
    if added is None or any(_turns(kept.said[at]) for at in added):
        return False
    tail = len(short) == added[0]
    # Within the statement one word alone, and none that makes another object of what follows: "cutting [the tape on] the box".
    return tail or (len(added) == 1 and added[0] > 0 and long[added[0]] not in _PREPOSITIONS)


def _turns(word: Word) -> bool:
    return word.said in _TURNING and word.kind is Kind.WORD


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
