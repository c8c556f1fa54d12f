"""From pairs that are worth a comparison to what the plan says of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from infinicon.plugins.consolidator.changes import Finding, Verdict, judged
from infinicon.plugins.consolidator.duplicates import duplicates
from infinicon.plugins.consolidator.limits import LIMITS, Limits
from infinicon.plugins.consolidator.neighbours import Matrix, Pair, by_identity, by_words, nearest
from infinicon.plugins.consolidator.statements import Statement
from infinicon.ports import Dispute, Duplicate, Supersession


@dataclass(frozen=True, slots=True)
class Judgement:
    supersessions: list[Supersession] = field(default_factory=list)
    disputes: list[Dispute] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)

    @property
    def unfit(self) -> frozenset[str]:
        """Keys that no digest may rest on: superseded, folded, or in dispute."""
        return frozenset(
            [one.old for one in self.supersessions]
            + [one.folded for one in self.duplicates]
            + [key for one in self.disputes for key in (one.first, one.second)]
        )


def judge(statements: Sequence[Statement], matrix: Matrix, limits: Limits = LIMITS) -> Judgement:
    pairs = sorted(_pairs(statements, matrix))
    supersessions, disputes = _changes(statements, pairs, limits)
    # What changed, or is in doubt, is no echo: "I live in Rome", said again after a move, is news.
    changed = {key for one in supersessions for key in (one.old, one.new)}
    changed |= {key for one in disputes for key in (one.first, one.second)}
    near: dict[str, list[Statement]] = defaultdict(list)
    for first, second in pairs:
        one, other = statements[first], statements[second]
        if one.key not in changed and other.key not in changed and not (one.memory.disputed or other.memory.disputed):
            near[one.key].append(other)
            near[other.key].append(one)
    return Judgement(supersessions, disputes, duplicates([one for one in statements if one.key in near], near, limits))


def _changes(
    statements: Sequence[Statement], pairs: Sequence[Pair], limits: Limits
) -> tuple[list[Supersession], list[Dispute]]:
    """Each old one with the next that takes its place, and disputes between those that stay."""
    found = [
        one for first, second in pairs if (one := _ordered(statements[first], statements[second], limits)) is not None
    ]
    next_ones: dict[str, tuple[Statement, str]] = {}
    for old, new, finding in found:
        if finding.verdict is Verdict.SUPERSEDES and (
            old.key not in next_ones or _rank(new) < _rank(next_ones[old.key][0])
        ):
            next_ones[old.key] = (new, finding.reason)
    taken = Counter(new.key for new, _ in next_ones.values())
    supersessions = [
        Supersession(old, new.key, reason)
        for old, (new, reason) in sorted(next_ones.items(), key=lambda one: one[0])
        if taken[new.key] <= limits.superseded
    ]
    gone = {one.old for one in supersessions}
    disputes = [
        Dispute(min(old.key, new.key), max(old.key, new.key), finding.reason)
        for old, new, finding in found
        if finding.verdict is Verdict.DISPUTES
        and gone.isdisjoint({old.key, new.key})
        and not (old.memory.disputed and new.memory.disputed)
    ]
    sides = Counter(key for one in disputes for key in (one.first, one.second))
    return supersessions, [one for one in disputes if max(sides[one.first], sides[one.second]) <= limits.disputed]


def _rank(statement: Statement) -> tuple[object, str]:
    return statement.time, statement.key


def _ordered(first: Statement, second: Statement, limits: Limits) -> tuple[Statement, Statement, Finding] | None:
    """The pair in order of time with what is found; of a pair without an order both ways are looked at."""
    if not first.short or not second.short:
        return None
    old, new = (first, second) if (first.time, first.key) <= (second.time, second.key) else (second, first)
    found = judged(old, new, limits)
    if found is None and old.time == new.time:
        found = judged(new, old, limits)
    return (old, new, found) if found is not None else None


def _pairs(statements: Sequence[Statement], matrix: Matrix) -> set[Pair]:
    """Each with the smaller index first; at least one of the two is fresh."""
    rows = [at for at, statement in enumerate(statements) if statement.memory.fresh]
    found: Iterator[Pair] = (
        pair
        for pairs in (
            ((row, other) for row, others in nearest(matrix, rows) for other, _ in others),
            by_words(statements, rows),
            by_identity(statements),
        )
        for pair in pairs
    )
    return {
        (min(pair), max(pair)) for pair in found if statements[pair[0]].memory.fresh or statements[pair[1]].memory.fresh
    }
