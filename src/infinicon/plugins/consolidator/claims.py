"""Which attribute a clause gives which value, and whether it says that the value is new.

The attribute is the noun phrase that the value belongs to: "my kneading time" in "I have increased my kneading time to 15 minutes",
"annual budget" in "my $600 annual budget". It is found by walking back from the value over the words that link the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infinicon.plugins.consolidator.clauses import Clause, Mood
from infinicon.plugins.consolidator.values import CODE, COUNT, STOP, Value, values
from infinicon.plugins.consolidator.words import BOUND, Kind, Word

MARKS = frozenset(
    """
    now increas decreas reduc rais lower extend shorten reschedul postpon move chang updat adjust upgrad revis switch grew grow grown
    drop rose risen fell fallen improv new newer reach expand push bump cut correct instead anymor longer doubl tripl halv replac
    reloc delay
    """.split()
)
"""Stems of words that say: it was otherwise before."""
_ADJECTIVES = frozenset("new newer".split())
"""New only after a determiner: "a new laptop for $1,300" replaces no laptop."""
_DETERMINERS = frozenset("the my our his her their its".split())
_PRONOUNS = frozenset("it which that".split())
STAND_INS = frozenset("it he she they this that these those there".split())
_ADVERBS = frozenset(
    "recently currently initially finally already approximately around about nearly roughly exactly total".split()
)
_LINKS = frozenset("to of at is be".split())
_FURTHEST = 9
_LONGEST = 5
_LONGEST_AFTER = 3
_REACH = 5


@dataclass(frozen=True, slots=True)
class Claim:
    """`attribute`: stems of what has the value. `marked`: something says that it is new. `before`: the value that it had, if told."""

    value: Value
    attribute: frozenset[str]
    marked: bool
    before: str | None
    about: frozenset[str]
    """Stems of its clause."""
    refers: bool
    """Its subject is a pronoun: what it stands for is told elsewhere."""
    labels: frozenset[str]
    """Other bare numbers of its clause: "room 5" is another room than "room 7"."""
    words: tuple[str, ...] = ()
    """Stems of the value as it is written: of "5 PM" both."""


def claims_of(clauses: Sequence[Clause]) -> list[Claim]:
    return [claim for at in range(len(clauses)) for claim in _claims(clauses, at)]


def is_content(word: Word) -> bool:
    return word.kind is Kind.WORD and word.stem not in STOP and word.said not in STOP and word.said not in _ADVERBS


def _is_topic(word: Word) -> bool:
    return is_content(word) and word.stem not in MARKS


def _told(clauses: Sequence[Clause], at: int, *, far: bool) -> Sequence[Clause]:
    """The clause; where its subject stands for something else (`far`), with those before it in the sentence."""
    start = at
    while far and start and not clauses[start].opens:
        start -= 1
    return clauses[start : at + 1]


def _claims(clauses: Sequence[Clause], at: int) -> Iterator[Claim]:
    clause = clauses[at]
    if clause.negated or clause.mood is Mood.REPORTED:
        return
    held = values(clause.words)
    pronoun = clause.relative or clause.words[0].said in STAND_INS
    for number, value in enumerate(held):
        before = _value_before(clause.words, held[number - 1], value) if number else None
        over = number + 1 < len(held) and _value_before(clause.words, value, held[number + 1]) is not None
        over = over or (before is None and value.start > 0 and clause.words[value.start - 1].said == "from")
        if over or (clause.mood is not Mood.ASSERTED and not _presupposed(clause.words, value)):
            continue
        found, marked, refers = _walk_back(clause.words, value, held)
        refers = not found and (refers or pronoun)
        about = frozenset(word.stem for one in _told(clauses, at, far=refers) for word in one.words if _is_topic(word))
        if refers:
            found = set(about)
        found |= _after(clause.words, value)
        marked = (marked and _linked(clause.words, value)) or _now(clause.words, value)
        labels = frozenset(one.content for one in held if one is not value and _is_label(one)) - {before}
        written = tuple(word.stem for word in clause.words[value.start : value.end])
        yield Claim(value, frozenset(found - value.unit), marked, before, about, pronoun or refers, labels, written)


def _walk_back(words: Sequence[Word], value: Value, held: Sequence[Value]) -> tuple[set[str], bool, bool]:
    """Stems of the noun phrase, whether a mark was passed, and whether a pronoun stands for it."""
    found: set[str] = set()
    marked = refers = False
    taken = {at for one in held for at in range(one.start, one.end + len(one.unit))}
    for at in range(value.start - 1, max(-1, value.start - _FURTHEST - 1), -1):
        word = words[at]
        if at in taken or word.kind is not Kind.WORD:
            continue
        if word.stem in MARKS:
            marked = marked or word.said not in _ADJECTIVES or (at > 0 and words[at - 1].said in _DETERMINERS)
        elif is_content(word):
            found.add(word.stem)
            if len(found) == _LONGEST:
                break
        elif word.said in _PRONOUNS:
            refers = True
        elif found and word.said not in {"of", "'s"}:
            # The phrase is over, unless what changed it stands before it: "increased my kneading time to".
            marked = marked or (word.said in _DETERMINERS and at > 0 and words[at - 1].stem in MARKS - _ADJECTIVES)
            break
    return found, marked, refers


def _is_label(value: Value) -> bool:
    return value.kind == CODE or (value.kind == COUNT and not value.unit)


def _linked(words: Sequence[Word], value: Value) -> bool:
    """Whether what changed has the value now: "rose to $7", "reached $7", "my new budget of $7", and not "rose $7", "raised $7"."""
    at = value.start - 1
    while at > 0 and (words[at].kind is Kind.LIGHT or words[at].said in _ADVERBS):
        at -= 1
    if at < 0:
        return False
    return words[at].said in _LINKS or words[at].stem == "reach" or _presupposed(words, value, marked=True)


def _after(words: Sequence[Word], value: Value) -> set[str]:
    """ "$600 annual budget": the phrase goes on behind the value."""
    found: set[str] = set()
    for word in words[value.end : value.end + _LONGEST_AFTER]:
        if word.said == BOUND or not is_content(word):
            break
        found.add(word.stem)
    return found


def _now(words: Sequence[Word], value: Value) -> bool:
    """Behind a bare number "now" belongs to what follows: "room 7 now has 30 seats"."""
    end = value.start if _is_label(value) else value.end + 2
    return any(word.said == "now" for word in words[max(0, value.start - _REACH) : end])


def _presupposed(words: Sequence[Word], value: Value, *, marked: bool = False) -> bool:
    """Whether the value stands in a noun phrase that takes it for granted: "the $7,000 budget", "my increased budget of $650".

    `marked`: whether the phrase also says that it is new.
    """
    for at in range(value.start - 1, max(-1, value.start - _REACH - 1), -1):
        word = words[at]
        if word.said in _DETERMINERS:
            return not marked or words[at + 1].stem in MARKS
        if word.said not in {"of", "to"} and not is_content(word) and word.stem not in MARKS:
            return False
    return False


def _value_before(words: Sequence[Word], earlier: Value, later: Value) -> str | None:
    """What the value was, in "from 8 to 12 minutes"."""
    if earlier.kind not in {later.kind, COUNT} or not earlier.start or words[earlier.start - 1].said != "from":
        return None
    between = [word.said for word in words[earlier.end : later.start]]
    return earlier.content if between[-1:] == ["to"] and len(between) <= _LONGEST_AFTER else None
