"""Whether a later statement takes the place of an earlier one, or contradicts it. One pair at a time; nothing where it is not clear.

- A relation that can be only one ("Rosa lives in Rome", "the gate code is 4711") with another value.
- An amount, date, time or count of the same attribute ("my $600 budget", "my increased budget of $650").
- The same words with a negation more or less, or with a word that says that it is over ("I no longer work at Acme").
- "I have never …" after something that says when.

What is later and says that something changed supersedes; what does not say so disputes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from itertools import pairwise

from infinicon.plugins.consolidator.agreement import agree
from infinicon.plugins.consolidator.claims import Claim, claims_of, is_content
from infinicon.plugins.consolidator.clauses import Clause, Mood, is_negation
from infinicon.plugins.consolidator.kinds import same_kind
from infinicon.plugins.consolidator.limits import LIMITS, Limits
from infinicon.plugins.consolidator.moments import without_moment
from infinicon.plugins.consolidator.plain import claim_of
from infinicon.plugins.consolidator.relations import USE, Relation, relations_of
from infinicon.plugins.consolidator.statements import Statement
from infinicon.plugins.consolidator.values import COUNT, PERCENT
from infinicon.plugins.consolidator.words import Kind, Word


class Verdict(Enum):
    SUPERSEDES = "supersedes"
    DISPUTES = "disputes"


@dataclass(frozen=True, slots=True)
class Finding:
    verdict: Verdict
    reason: str


_DID = frozenset(
    """
    have had was did been met went got saw made took bought read wrote built ran gave found began spent sent came sold taught thought
    learnt won drove flew ate drank swam led left lost paid put set spoke told wore
    """.split()
)
_LEAST_DISPUTED = 3
"""Words: "order matters" and "order does not matter" are about whatever is at hand."""
_FIRST_PERSON = frozenset({"i", "we"})
_OVER = frozenset("anymore longer stopped quit ceased".split())
_STOPPED = frozenset("stopped quit ceased".split())
_AUXILIARY = frozenset("be was been being do does did have has had".split())
_PAST = frozenset("was were had did been used".split())


def judged(old: Statement, new: Statement, limits: Limits = LIMITS) -> Finding | None:
    """`new` is not earlier than `old`. Both are short."""
    found = (
        _relations(old, new, limits) or _amounts(old, new, limits) or _polarity(old, new) or _never(old, new, limits)
    )
    if found is None or found.verdict is Verdict.DISPUTES:
        return found
    if old.time == new.time:
        return Finding(Verdict.DISPUTES, found.reason)
    return found if old.memory.speaker == new.memory.speaker else None  # Nobody takes back what another has said.


def _same_voice(old: Statement, new: Statement, subject: frozenset[str]) -> bool:
    """Whether both mean the same by "I", "my", "we"."""
    return old.memory.speaker == new.memory.speaker or not subject & {"i", "we", "my", "our", "me", "us"}


def _relations(old: Statement, new: Statement, limits: Limits) -> Finding | None:
    for earlier in old.relations:
        for later in new.relations:
            if not _rival(earlier, later) or not _same_voice(old, new, frozenset(earlier.subject)):
                continue
            bare = _nothing_left(old, new, frozenset((*earlier.subject, *earlier.value)), limits)
            if later.marked and bare and same_kind(earlier, later) and _plainly(old, new, earlier, later):
                return Finding(Verdict.SUPERSEDES, "changed")
            bare = bare and _nothing_left(new, old, frozenset((*later.subject, *later.value)), limits)
            if earlier.single and later.single and bare and not later.marked and not earlier.marked:
                return Finding(Verdict.DISPUTES, "contradicts")
    return None


def _plainly(old: Statement, new: Statement, earlier: Relation | Claim, later: Relation | Claim) -> bool:
    """Whether both are plain, what is new is what the newer one claims, and all their other words agree."""
    before, after = claim_of(old), claim_of(new)
    if before is None or after is None or earlier not in _told(before) or later not in _told(after):
        return False
    held = _timeless(before, earlier, datetime.min.replace(tzinfo=UTC), old.time)
    left = _timeless(after, later, old.time, new.time)
    return held is not None and left is not None and agree(held, left, _stems(earlier), _stems(later))


def _timeless(clause: Clause, told: Relation | Claim, before: datetime, now: datetime) -> Sequence[Word] | None:
    """Its words without the time of the change; a time that is the value stays: "the meeting is on Monday"."""
    left = without_moment(clause.words, before, now)
    if left is None or {word.stem for word in left}.issuperset(_stems(told)):
        return left
    return clause.words


def _told(clause: Clause) -> list[Relation | Claim]:
    return [*relations_of([clause]), *claims_of([clause])]


def _stems(told: Relation | Claim) -> list[str]:
    """Of its value, and of the one that it says was before."""
    if isinstance(told, Relation):
        return [*told.value, *told.before]
    return [*told.words, *(told.before or "").split()]


def _rival(earlier: Relation, later: Relation) -> bool:
    if earlier.subject != later.subject or earlier.kind != later.kind:
        return False
    if later.before and later.before != earlier.value:
        return False
    if later.kind is USE and not later.before:
        return False
    if any(stem[0].isdigit() for stem in earlier.value) != any(stem[0].isdigit() for stem in later.value):
        return False  # "The rooms are $99" and "the rooms are now booked" tell of two things.
    return not (set(earlier.value) <= set(later.value) or set(later.value) <= set(earlier.value))


def _amounts(old: Statement, new: Statement, limits: Limits) -> Finding | None:
    if not _same_thing(old, new, limits):
        return None
    for later in new.claims:
        for earlier in old.claims:
            if (
                later.marked
                and _same_attribute(earlier, later, limits)
                and (later.attribute <= old.topic or earlier.attribute <= new.topic)
                and _changed(old, new, earlier, later)
                and _plainly(old, new, earlier, later)
            ):
                return Finding(Verdict.SUPERSEDES, "updated")
    return None


def _same_thing(old: Statement, new: Statement, limits: Limits) -> bool:
    """Whether nothing tells apart what the two are about: whose it is, which of several."""
    if old.possessors != new.possessors or old.distinguishers != new.distinguishers:
        return False
    if bool(old.owners & _FIRST_PERSON) != bool(new.owners & _FIRST_PERSON):
        return False
    if not _same_voice(old, new, old.owners | new.owners):
        return False
    return new.names <= old.names or len(old.topic & new.topic) >= limits.shared


def _same_attribute(earlier: Claim, later: Claim, limits: Limits) -> bool:
    if earlier.value.kind != later.value.kind or earlier.value.content == later.value.content:
        return False
    if later.before is not None and later.before != earlier.value.content:
        return False
    if earlier.value.kind == COUNT and earlier.value.unit != later.value.unit:
        return False
    if (earlier.refers or later.refers) and len(earlier.about & later.about) < limits.shared:
        return False
    return earlier.labels == later.labels and bool(earlier.attribute & later.attribute)


def _changed(old: Statement, new: Statement, earlier: Claim, later: Claim) -> bool:
    """Whether neither of them gives both values, unless it says which of them is over."""
    if later.before == earlier.value.content:
        return True
    return _number(earlier) not in new.numbers and (earlier.before is not None or _number(later) not in old.numbers)


def _number(claim: Claim) -> str:
    return f"{claim.value.content}%" if claim.value.kind == PERCENT else claim.value.content.split()[-1]


def _nothing_left(old: Statement, new: Statement, changed: frozenset[str], limits: Limits) -> bool:
    return len(old.asserted - new.topic - changed) <= limits.left


def _polarity(old: Statement, new: Statement) -> Finding | None:
    """The same words, and one of the two says no."""
    before, after = _core(old), _core(new)
    if before is None or after is None or before.words != after.words or len(before.words) < 2:
        return None
    if before.negated == after.negated or (before.past != after.past and not after.over):
        return None
    if not _same_voice(old, new, old.owners | new.owners):
        return None
    if (after.over or after.now) and _says_so(old, new):
        return Finding(Verdict.SUPERSEDES, "ended" if after.negated else "changed")
    if (
        before.over
        or before.now
        or after.over
        or after.now
        or before.past != after.past
        or len(before.words) < _LEAST_DISPUTED
    ):
        return None
    return Finding(Verdict.DISPUTES, "contradicts")


def _says_so(old: Statement, new: Statement) -> bool:
    """Whether "no longer", "not … anymore", "not … now" or "stopped …ing" is all that there is between the two."""
    before, after = claim_of(old), claim_of(new)
    if before is None or after is None or {"was", "had", "were", "did", "been"} & {*before.said, *after.said}:
        return False
    said = list(after.said)
    if ("no", "longer") in pairwise(said):
        return True
    if said[-1:] == ["anymore"] or said[-2:] == ["any", "more"] or said[-2:] == ["any", "longer"]:
        return "not" in said
    if any(first in _STOPPED and second.endswith("ing") for first, second in pairwise(said)):
        return "not" not in said
    # "I am not working now" and "the office is not open now" tell of the moment.
    if any(word.stem == "be" for word in (*before.words, *after.words)):
        return False
    return "now" in said and not _OVER & set(said) and (("not" in said) != ("not" in before.said))


@dataclass(frozen=True, slots=True)
class _Core:
    words: tuple[str, ...]
    negated: bool
    past: bool
    over: bool
    now: bool


def _core(statement: Statement) -> _Core | None:
    """Of a statement that is one asserted clause."""
    if len(statement.clauses) != 1 or statement.clauses[0].mood is not Mood.ASSERTED:
        return None
    clause = statement.clauses[0]
    said = [word for word in clause.words if word.kind is not Kind.LIGHT]
    negations = sum(1 for word in said if is_negation(word))
    over = any(word.said in _OVER for word in said) or ("any", "more") in pairwise(clause.said)
    if negations > 1 or (any(word.said == "without" for word in said)):
        return None
    ended = over and not negations  # "I stopped smoking"; "I no longer smoke" has its negation.
    # "More meat" is not "any more".
    core = said[:-1] if clause.said[-2:] == ("any", "more") else said
    kept = tuple(word.stem for word in core if not _is_frame(word))
    return _Core(
        kept,
        bool(negations) or ended,
        any(word.said in _PAST or (word.said.endswith("ed") and not ended) for word in said if word.said not in _OVER),
        over,
        any(word.said == "now" for word in said),
    )


def _is_frame(word: Word) -> bool:
    return (
        is_negation(word)
        or word.said in _OVER
        or word.said in {"now", "any", "still"}
        or word.said in _AUXILIARY
        or word.stem == "be"
    )


def _never(old: Statement, new: Statement, limits: Limits) -> Finding | None:
    """ "I have never been there" after, or beside, "I went there": what comes later may well be the first time."""
    if old.memory.speaker != new.memory.speaker:
        return None
    for clause in new.clauses:
        denied = _denied(clause, limits)
        if denied is None:
            continue
        for told in old.clauses:
            if told.mood is Mood.ASSERTED and not told.negated and _did(told.said):
                shared = denied & {word.stem for word in told.words}
                if len(shared) >= limits.never_words and len(shared) >= limits.never * len(denied):
                    return Finding(Verdict.DISPUTES, "contradicts")
    return None


def _did(said: tuple[str, ...]) -> bool:
    """Whether the clause tells what "I" did."""
    if "i" not in said:
        return False
    after = [
        word for word in said[said.index("i") + 1 :] if word not in {"just", "already", "recently", "also", "finally"}
    ][:1]
    return bool(after) and (after[0] in _DID or after[0].endswith("ed"))


def _denied(clause: Clause, limits: Limits) -> frozenset[str] | None:
    """Stems of what an "I have never …" denies."""
    said = clause.said
    if clause.mood is not Mood.ASSERTED or "never" not in said or "i" not in said[: said.index("never")]:
        return None
    after = clause.words[said.index("never") + 1 :]
    stems = frozenset(word.stem for word in after if is_content(word))
    return stems if len(stems) >= limits.never_words else None
