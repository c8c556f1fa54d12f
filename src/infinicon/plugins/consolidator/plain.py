"""Whether a memory is the plain word of its speaker about now, and what of it is its one claim.

Only a plain one may retire another: one clause first, and behind it nothing but what is known to leave it as it is. Words that turn a
claim have no end (kidding, in a game, for the weekend, or so he thinks), so it is not they that are listed but what does no harm.
"""

from __future__ import annotations

import re
from datetime import UTC, timedelta

from infinicon.plugins.consolidator.clauses import Clause, Mood
from infinicon.plugins.consolidator.statements import Statement
from infinicon.plugins.consolidator.words import Kind

_UNCOMMON = re.compile(r"[^\w\s.,;:!?'’$€£¥₹%/@-]|_|(?<!\w)['’]|['’](?!\w)")
"""Quotation marks, brackets, marks of a markup, arrows, emoji: any of them may say that it is not meant so."""
_SIGN = re.compile(r"(?<!\w)-(?=\S)")
_CLOCKS = timedelta(minutes=5)
"""By so much the clock of who tells may be ahead of the one of who stores."""
_OPENERS = frozenset("update updated news good note fyi reminder correction yes yep hello hi hey okay ok".split())
_MILD = frozenset(
    "a an the really well okay ok oh ah yeah actually hey hi hello thanks anyway definitely certainly indeed".split()
)
"""Light words that leave what they stand beside as it is; "too", "also", "quite" and "kind of" do not."""
_WHO = frozenset("i we it he she they".split())
_PRESENT = frozenset("like love enjoy hate prefer likes loves enjoys need".split())
_AT_EASE = frozenset("it there here that this so far much lot very more".split())
_WISE = frozenset("wise good fine enough reasonable realistic okay ok".split())
_ASKED_TO = frozenset("help suggest recommend adjust explain remind update show".split())


def claim_of(statement: Statement) -> Clause | None:
    """The first clause of a plain memory; None of one that is not plain. Of its words the openers are not."""
    if not statement.short or _lies_ahead(statement) or _UNCOMMON.search(statement.memory.content):
        return None
    if _SIGN.search(statement.memory.content):
        return None
    held = list(statement.clauses)
    while held and all(word.said in _OPENERS or word.kind is Kind.LIGHT for word in held[0].words):
        held.pop(0)
    if not held or held[0].mood is not Mood.ASSERTED or not all(_does_no_harm(clause) for clause in held[1:]):
        return None
    claim = held[0]
    if claim.words[0].said in {"a", "an"}:
        return None  # "A meeting" is any of them.
    if claim.words[0].said in {"that", "as", "since", "because", "but", "although", "which", "so"}:
        return None
    return claim if all(word.said in _MILD for word in claim.words if word.kind is Kind.LIGHT) else None


def _lies_ahead(statement: Statement) -> bool:
    """Whether it is dated later than it was stored: it has not come to pass, and may not."""
    stored = statement.memory.created_at
    stored = stored if stored.tzinfo is not None else stored.replace(tzinfo=UTC)
    return statement.time > stored + _CLOCKS


def _does_no_harm(clause: Clause) -> bool:
    """ "I like it there", "is that wise?", "can you help me …?" """
    said = [word.said for word in clause.words if word.said not in {"and", "a", "the"}]
    if clause.mood is Mood.ASKED:
        if said[0] in {"can", "could"} and said[1:2] == ["you"]:
            return len(said) > 2 and said[2] in _ASKED_TO
        return len(said) == 3 and said[0] == "is" and said[1] in {"that", "it", "this"} and said[2] in _WISE
    return (
        clause.mood is Mood.ASSERTED
        and len(said) > 1
        and said[0] in _WHO
        and said[1] in _PRESENT
        and all(word in _AT_EASE for word in said[2:])
    )
