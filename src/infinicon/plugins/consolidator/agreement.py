"""Whether two claims are about the same thing but for what changed: every other word of one must be in the other.

"I pay $80 for electricity" takes nothing from "I pay $50 for gas", nor does what is so "on weekends" from what is so "on weekdays". What
one of the two has more may be only words that frame a claim: to be, articles, verbs of change, the preposition before a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from infinicon.plugins.consolidator.words import Kind, Word

_BEING = frozenset("is are am".split())
_DETERMINERS = frozenset("the a an my our".split())
_HAVING = frozenset("i we have has".split())
_STATING = frozenset("lives live living resides reside based work works working use uses drive drives".split())
_BEFORE_A_WORD = frozenset("for of in on at to from".split())
_CHANGED = frozenset(
    """
    moved relocated switched changed updated renamed set rescheduled postponed shifted transferred raised lowered increased decreased
    reduced extended shortened adjusted upgraded cut rose fell grew grown risen fallen dropped improved reached
    """.split()
)
_PASSIVE = frozenset("was were has have been got".split())
"""Only beside a verb of change: "the code was now 4712" tells a story."""
_LASTING = frozenset("based employed located called named need red".split())
_DID = frozenset(
    """
    did met went got saw made took bought read wrote built ran gave found began spent sent came sold won drove flew ate drank swam led
    left lost paid put spoke told
    """.split()
)
_ADVERBS = frozenset("now currently finally officially recently already permanently just".split())
_ATTRIBUTES = frozenset(
    "budget price cost salary rent rate deadline date time limit goal target code number address password pin quota".split()
)
"""What may be "my new …" without being another thing than the old one: my new car is."""


def agree(old: Sequence[Word], new: Sequence[Word], changed_from: Sequence[str], changed_to: Sequence[str]) -> bool:
    """`changed_from`, `changed_to`: stems of the values, with what either says that it was before."""
    shared = Counter(_stems(old)) & Counter(_stems(new))
    for stem in (*changed_from, *changed_to):
        shared.pop(stem, None)
    if any(word.stem in shared and _happened(word) for word in old):
        return False
    changes = any(word.said in _CHANGED for word in new)
    framed = all(_frames_old(old, at, shared, changed_from) for at in _rest(old, shared, changed_from)) and all(
        _frames_new(new, at, shared, changed_to, changes=changes) for at in _rest(new, shared, changed_to)
    )
    return framed and (changes or any(word.said in {"now", "new"} for word in new))


def _happened(word: Word) -> bool:
    """Whether it tells of something done: who bought three eggs and then four has bought both."""
    return word.said in _DID or (
        word.kind is Kind.WORD and word.said.endswith("ed") and word.said not in _CHANGED | _LASTING
    )


def _stems(words: Sequence[Word]) -> Iterator[str]:
    return (word.stem for word in words if word.kind is not Kind.LIGHT)


def _rest(words: Sequence[Word], shared: Counter[str], values: Sequence[str]) -> Iterator[int]:
    """Places of the words that the other claim has not, and that are no value."""
    left = Counter(shared)
    for at, word in enumerate(words):
        if word.kind is Kind.LIGHT or word.stem in values:
            continue
        if left[word.stem]:
            left[word.stem] -= 1
        else:
            yield at


def _frames_old(words: Sequence[Word], at: int, shared: Counter[str], values: Sequence[str]) -> bool:
    said = words[at].said
    if said in _BEFORE_A_WORD:
        return _next(words, at) in {*shared, *values}
    # What changed once may change again: "Rosa moved to Turin".
    return said in _BEING | _DETERMINERS | _HAVING | _STATING | _CHANGED | _PASSIVE | _ADVERBS or said == "joined"


def _frames_new(words: Sequence[Word], at: int, shared: Counter[str], values: Sequence[str], *, changes: bool) -> bool:
    said = words[at].said
    if said in _BEFORE_A_WORD:
        return _next(words, at) in {*shared, *values}
    if said == "new":
        return at + 1 < len(words) and words[at + 1].said in _ATTRIBUTES
    if said in _PASSIVE and not changes:
        return said in {"has", "have"}
    return said in _BEING | _DETERMINERS | _HAVING | _STATING | _CHANGED | _PASSIVE | _ADVERBS


def _next(words: Sequence[Word], at: int) -> str:
    """The stem behind a preposition and its article: "for A" has none, as the letter reads as an article."""
    start = at + 1
    while start < len(words) and words[start].said in _DETERMINERS | _ADVERBS:
        start += 1
    return words[start].stem if start < len(words) else ""
