"""Who or what stands in which relation to what, where it can only be one: where somebody lives or works, what the code is.

A relation is read from a clause of a plain form, subject first: "I live in Rome", "Rosa has moved from Rome to Turin", "the gate code is
now 4711", "we changed the venue to the harbour". Of any other form nothing is read. A subject is "I" or "we" of one speaker, a name, or
a noun phrase; "he", "it" and "this" stand for something else and are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from infinicon.plugins.consolidator.clauses import Clause, Mood
from infinicon.plugins.consolidator.words import Kind, Word, stem

HOME, WORK, USE, IS = "home", "work", "use", "is"
_LONGEST_SUBJECT = 7
_LONGEST_VALUE = 6
_SKIPPED = frozenset(
    """
    now already recently finally officially currently still have has be am is are was were been got presently temporarily
    permanently
    """.split()
)
_NO_SUBJECT = frozenset(
    """
    he she it they you his her its their your this that these those there who which what here everything something nothing one someone
    anyone all both each every
    """.split()
)
_ARTICLES = frozenset({"the", "a", "an"})
"""Who lives somewhere is "I", "Rosa" or "my sister", never "the boiler"."""
_STATES = {
    ("live", "in"): HOME, ("lives", "in"): HOME, ("living", "in"): HOME, ("reside", "in"): HOME, ("resides", "in"): HOME,
    ("based", "in"): HOME, ("work", "at"): WORK, ("works", "at"): WORK, ("working", "at"): WORK, ("work", "for"): WORK,
    ("works", "for"): WORK, ("working", "for"): WORK, ("employed", "at"): WORK, ("employed", "by"): WORK,
}  # fmt: skip
_MOVES = {"moved": HOME, "relocated": HOME, "joined": WORK}
_USES = frozenset("use uses using drive drives".split())
_NO_HOME = frozenset("team department company job role position office desk meeting page project tab".split())
_CHANGES = frozenset(
    "changed updated moved switched renamed set rescheduled postponed shifted transferred relocated replaced".split()
)
_PASSIVE = frozenset("was were been got".split())
_ENDS = frozenset(
    "since because for after before while when with and or so if as yesterday today tomorrow last next this now instead during "
    "until from starting beginning due per according but thanks".split()
)
_PLACES = frozenset("in at on near under behind inside by".split())
_SINGLE = frozenset(
    stem(word)
    for word in """
    code password pin address email mail phone number name title deadline budget date time day venue location lead leader
    manager boss owner captain director head chair host contact doctor dentist status colour color version price cost salary rent rate
    size height weight age capital username url link endpoint port branch region currency target goal limit threshold quota birthday
    anniversary destination gate seat platform provider supplier vendor insurer bank nickname favourite favorite passphrase
    headquarters frequency channel
    """.split()
)
"""Stems of attributes of which a thing has one."""


@dataclass(frozen=True, slots=True)
class Relation:
    """`subject` and `value` are stems; of a subject "i" and "my" are the speaker's. `before`: the value that it is said to have had.

    `single`: there can be no other value beside it.
    """

    subject: tuple[str, ...]
    kind: str
    value: tuple[str, ...]
    marked: bool
    before: tuple[str, ...] = ()
    single: bool = False
    words: tuple[Word, ...] = ()
    """Those of the value."""
    told: str = ""
    """The word that leads to the value: "in", "at", "to", "is"."""
    article: bool = False
    """Whether the value has one: "the harbour"."""


def relations_of(clauses: Sequence[Clause]) -> list[Relation]:
    return [
        relation
        for clause in clauses
        if clause.mood is Mood.ASSERTED and not clause.negated
        for relation in _relations(clause.words)
    ]


def _relations(clause: Sequence[Word]) -> Iterator[Relation]:
    words = [word for word in clause if word.kind is not Kind.LIGHT]
    person = clause[0].said not in _ARTICLES
    for at in range(1, min(len(words), _LONGEST_SUBJECT + 4)):
        found = _at(words, at)
        if found is not None:
            if person or found.kind not in {HOME, WORK}:
                yield replace(found, article=_has_article(clause, found.words))
            return


def _has_article(clause: Sequence[Word], value: Sequence[Word]) -> bool:
    return bool(value) and any(
        first.said in _ARTICLES and second.said == value[0].said for first, second in pairwise(clause)
    )


def _at(words: list[Word], at: int) -> Relation | None:
    said = words[at].said
    following = words[at + 1].said if at + 1 < len(words) else ""
    subject, marked = _subject(words[:at])
    rest = words[at + 1 :]
    found: Relation | None = None
    if not subject:
        return None
    if (said, following) in _STATES:
        found = _named(subject, _STATES[said, following], rest[1:], marked=marked, told=following)
    elif said in _USES:
        found = Relation(subject, USE, _value(rest), False, words=_value_words(rest))
    elif said == "switched" and following == "from":
        found = _switched(subject, rest[1:])
    elif said in _MOVES:
        found = _moved(subject, said, rest)
    elif said in {"is", "are", "am"}:
        found = _copula(subject, rest)
    # "Rosa moved to Turin" and "the venue moved to the harbour" begin alike.
    if found is None and said in _CHANGES:
        found = _changed(subject, rest, passive=words[at - 1].said in _PASSIVE)
    return found


def _subject(words: Sequence[Word]) -> tuple[tuple[str, ...], bool]:
    """Stems, and whether "now" stands beside it. Empty where it is no subject that can be compared."""
    marked = any(word.said == "now" for word in words)
    kept = list(words)
    while kept and kept[-1].said in _SKIPPED:
        kept.pop()
    while kept and kept[0].said in {"now", "and", "then", "also"}:
        kept.pop(0)
    if not kept or len(kept) > _LONGEST_SUBJECT or any(word.said in _NO_SUBJECT or word.stem == "be" for word in kept):
        return (), False
    if kept[0].said in {"i", "we"} and len(kept) > 1:
        return (), False
    return tuple(word.stem for word in kept), marked


def _value(words: Sequence[Word], *, named: bool = False) -> tuple[str, ...]:
    return tuple(word.stem for word in _value_words(words, named=named))


def _value_words(words: Sequence[Word], *, named: bool = False) -> tuple[Word, ...]:
    """Up to where something else begins. `named`: only as far as there are names."""
    found: list[Word] = []
    for word in words[:_LONGEST_VALUE]:
        if word.said in _ENDS or (named and not word.named) or (found and word.kind is Kind.CALENDAR):
            break
        found.append(word)
    while found and found[-1].stem in _PLACES | {"to", "of", "the"}:
        found.pop()
    return tuple(word for word in found if word.stem != "now")


def _named(subject: tuple[str, ...], kind: str, words: Sequence[Word], *, marked: bool, told: str) -> Relation | None:
    held = _value_words(words, named=True)
    value = tuple(word.stem for word in held)
    marked = marked or any(word.said == "now" for word in words[: len(value) + 2])
    return Relation(subject, kind, value, marked, single=kind == HOME, words=held, told=told) if value else None


def _moved(subject: tuple[str, ...], said: str, words: Sequence[Word]) -> Relation | None:
    kind = _MOVES[said]
    before: tuple[str, ...] = ()
    rest = list(words)
    if rest and rest[0].said == "from":
        before = _value(rest[1:], named=True)
        rest = rest[1 + len(before) :]
    if kind is HOME:
        if not rest or rest[0].said not in {"to", "into"}:
            return None
        rest = rest[1:]
    held = _value_words(rest, named=True)
    if not held or any(word.said in _NO_HOME for word in words):
        return None
    value = tuple(word.stem for word in held)
    return Relation(subject, kind, value, True, before, single=kind == HOME, words=held, told="to")


def _switched(subject: tuple[str, ...], words: Sequence[Word]) -> Relation | None:
    """Of what somebody uses there can be several: only the one that is named is over."""
    to = next((at for at, word in enumerate(words) if word.said == "to"), None)
    if not to:
        return None
    before, held = _value(words[:to]), _value_words(words[to + 1 :])
    value = tuple(word.stem for word in held)
    return Relation(subject, USE, value, True, before, words=held, told="to") if before and value else None


def _changed(subject: tuple[str, ...], words: Sequence[Word], *, passive: bool) -> Relation | None:
    """ "The venue was moved to the harbour", "I changed my number to 12 34"."""
    to = next((at for at, word in enumerate(words) if word.said == "to"), None)
    if to is None or to > _LONGEST_SUBJECT:
        return None
    said = _value_words(words[to + 1 :])
    value = tuple(word.stem for word in said)
    if subject in {("i",), ("we",)}:
        held = tuple(word.stem for word in words[:to])
        found = Relation(held, IS, value, True, single=True, words=said, told="to")
        return found if value and _is_single(held) else None
    old: tuple[str, ...] = ()
    if words[0].said == "from":
        old = _value(words[1:to])
    elif to:
        return None
    # "The bank was changed to Acme", and not "the bank switched to Linux".
    told = "to" if passive else "by itself"
    found = Relation(subject, IS, value, True, old, single=True, words=said, told=told)
    return found if value and _is_single(subject) else None


def _copula(subject: tuple[str, ...], words: Sequence[Word]) -> Relation | None:
    if subject in {("i",), ("we",)} or not words:
        return None
    marked = words[0].said == "now" or any(word.said == "now" for word in words[:_LONGEST_VALUE])
    rest = [word for word in words if word.said not in {"now", "currently", "still"}]
    held = _value_words(rest)
    value = tuple(word.stem for word in held)
    if not value:
        return None
    if rest[0].said in _PLACES:
        return Relation(subject, f"{IS} {rest[0].said}", value, marked, words=held[1:], told=rest[0].said)
    if _is_single(subject) and not rest[0].said.endswith("ing"):
        return Relation(subject, IS, value, marked, single=True, words=held, told="is")
    return None


def _is_single(subject: Sequence[str]) -> bool:
    """By the last noun of its head: "the code of the gate" is a code."""
    head = list(subject)
    if ("number", "of") in pairwise(head):
        return False  # Each talk has a number of outcomes of its own.
    if "of" in head:
        head = head[: head.index("of")]
    if "for" in head:
        head = head[: head.index("for")]
    return bool(head) and (head[-1] in _SINGLE or "favourit" in head or "favorit" in head)
