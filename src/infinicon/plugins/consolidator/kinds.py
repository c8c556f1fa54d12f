"""Whether a new value is of the kind of the old one: a person for a person, a place for a place, a number for a number.

Where the kind of a name cannot be told there is no answer: "moved to Spotify" is no move, "my manager is now angry" names nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

from infinicon.plugins.consolidator.people import GIVEN_NAMES
from infinicon.plugins.consolidator.places import TOWNS, extent
from infinicon.plugins.consolidator.relations import HOME, IS, USE, WORK, Relation
from infinicon.plugins.consolidator.values import CODE, COUNT, values
from infinicon.plugins.consolidator.words import Kind, Word, stem

NAME, COLOUR, THING = "name", "colour", "thing"
_COLOURS = frozenset(
    "red blue green yellow orange purple pink brown black white grey gray turquoise violet indigo beige teal".split()
)
_PEOPLE = frozenset(
    stem(word) for word in "lead leader manager boss captain director chair doctor dentist host owner".split()
)
_NUMBERED = frozenset(
    stem(word)
    for word in """
    code password pin phone number deadline budget date time day version price cost salary rent rate size height weight age port goal
    limit threshold quota birthday anniversary seat platform passphrase frequency channel target
    """.split()
)
_NO_NAMES = frozenset(
    """
    french dutch swiss german greek welsh czech thai norse arab slovak catholic muslim jewish hindu buddhist protestant vegan republican
    democrat liberal conservative labour tory president director head chief officer ceo cto cfo coo vp hr it pm mia ooo awol ok tbd tbc
    tba partner professor minister manager chair chairman captain general doctor master senior junior emeritus mom mum dad mother father
    grandma grandpa christian christmas easter remote online offline zoom open closed full empty final free busy gone dead pregnant
    angry happy sad late sick ill retired available unavailable public private english spanish
    """.split()
)
_ADJECTIVAL = ("ish", "ese", "ian", "ean", "can", "ist", "ed", "ing", "ful", "less", "able", "ible", "ous", "ive", "ly")
_ABSTRACT = frozenset(
    "fear denial peace poverty exile sin luxury harmony hope hell heaven limbo bliss shame pain sims".split()
)
_SEVERAL = frozenset(
    stem(word)
    for word in """
    friend colleague coworker cousin neighbour neighbor classmate client student patient roommate uncle aunt nephew niece teammate
    employee customer relative guest
    """.split()
)
"""Of whom somebody has more than one: "my friend" need not be the friend of before."""
_TITLES = frozenset("dr mr mrs ms prof".split())
_NO_THINGS = frozenset(
    """
    past future top bottom list agenda end start page better worse best worst next calendar trash back side front point max minimum
    maximum limit edge point level extent death test table subject topic problem
    """.split()
)
_LONGEST_THING = 3


def same_kind(earlier: Relation, later: Relation) -> bool:
    if later.kind == HOME:
        return _same_extent(earlier, later)
    if later.kind == WORK:
        told = later.before == earlier.value
        return told or (earlier.told == later.told == "at" and _is_name(earlier.words) and _is_name(later.words))
    if later.kind == USE:
        return bool(later.before)
    if later.kind == f"{IS} in":
        first, second = extent(_text(earlier.words)), extent(_text(later.words))
        return first is not None and first is second
    return later.kind == IS and _same_value(earlier, later)


def _same_extent(earlier: Relation, later: Relation) -> bool:
    """Of "lives in" the verb says that it is a place, of "moved to" only the name can; an unknown one is a town."""
    if not (_is_place(earlier) and (_is_place(later) or later.before == earlier.value)):
        return False
    if _ABSTRACT & {word.said for word in (*earlier.words, *later.words)} or _SEVERAL & set(later.subject):
        return False
    first, second = extent(_text(earlier.words)), extent(_text(later.words))
    return (TOWNS if first is None else first) is (TOWNS if second is None else second)


def _is_place(relation: Relation) -> bool:
    return relation.told == "in" or extent(_text(relation.words)) is not None


def _same_value(earlier: Relation, later: Relation) -> bool:
    head = set(earlier.subject)
    first, second = _kind(earlier), _kind(later)
    if first is None or first != second:
        return False
    if head & _PEOPLE:
        return first == NAME and _is_person(later.words)
    if first in {NAME, COLOUR, THING} and head & _NUMBERED:
        return False
    if first == NAME and later.told == "is":
        return extent(_text(earlier.words)) is not None and extent(_text(earlier.words)) is extent(_text(later.words))
    # "The venue is now the problem" and "the bank is now Down", but "we changed the venue to the harbour".
    return later.told == "to" or first not in {NAME, THING}


def _kind(relation: Relation) -> object:
    words = relation.words
    if not words:
        return None
    if any(word.kind is not Kind.WORD for word in words):
        held = values(words)
        covered = sum(value.end - value.start for value in held)
        # "4711" counts, "P52" is a code, and a gate has either.
        return tuple(CODE if value.kind == COUNT else value.kind for value in held) if covered == len(words) else None
    if _is_name(words):
        return NAME
    if len(words) == 1 and words[0].said in _COLOURS:
        return COLOUR
    if (
        relation.article
        and len(words) <= _LONGEST_THING
        and not any(word.named or _is_no_thing(word.said) for word in words)
    ):
        return THING
    return None


def _is_name(words: Sequence[Word]) -> bool:
    telling = [word for word in words if word.said not in _TITLES]
    return bool(telling) and all(
        word.named and word.said not in _NO_NAMES and not word.said.endswith(_ADJECTIVAL) for word in telling
    )


def _is_person(words: Sequence[Word]) -> bool:
    return words[0].said in _TITLES or words[0].said in GIVEN_NAMES


def _is_no_thing(said: str) -> bool:
    return said in _NO_THINGS or said.endswith(_ADJECTIVAL)


def _text(words: Sequence[Word]) -> str:
    return " ".join(word.said for word in words)
