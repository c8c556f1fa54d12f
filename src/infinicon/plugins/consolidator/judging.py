"""From pairs that are worth a comparison to what the plan says of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from infinicon.plugins.consolidator.changes import Finding, Verdict, judged
from infinicon.plugins.consolidator.duplicates import duplicates
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


def judge(statements: Sequence[Statement], matrix: Matrix) -> Judgement:
    pairs = sorted(_pairs(statements, matrix))
    superseded: dict[str, tuple[Statement, str]] = {}
    disputes: dict[Pair, str] = {}
    for first, second in pairs:
        found = _ordered(statements[first], statements[second])
        if found is None:
            continue
        old, new, finding = found
        if finding.verdict is Verdict.DISPUTES:
            if not (old.memory.disputed and new.memory.disputed):
                disputes[first, second] = finding.reason
        elif old.key not in superseded or (new.time, new.key) < _rank(superseded[old.key][0]):
            superseded[old.key] = (new, finding.reason)
    changed = {*superseded, *(new.key for new, _ in superseded.values())}
    contested = [
        Dispute(statements[first].key, statements[second].key, reason)
        for (first, second), reason in disputes.items()
        if statements[first].key not in superseded and statements[second].key not in superseded
    ]
    changed |= {key for one in contested for key in (one.first, one.second)}
    near: dict[str, list[Statement]] = defaultdict(list)
    for first, second in pairs:
        if statements[first].key not in changed and statements[second].key not in changed:
            near[statements[first].key].append(statements[second])
            near[statements[second].key].append(statements[first])
    free = [one for one in statements if one.key in near and not one.memory.disputed]
    return Judgement(
        [
            Supersession(old, new.key, reason)
            for old, (new, reason) in sorted(superseded.items(), key=lambda one: one[0])
        ],
        contested,
        duplicates(free, near),
    )


def _rank(statement: Statement) -> tuple[object, str]:
    return statement.time, statement.key


def _ordered(first: Statement, second: Statement) -> tuple[Statement, Statement, Finding] | None:
    """The pair in order of time with what is found; of a pair without an order both ways are looked at."""
    if not first.short or not second.short:
        return None
    old, new = (first, second) if (first.time, first.key) <= (second.time, second.key) else (second, first)
    found = judged(old, new)
    if found is None and old.time == new.time:
        found = judged(new, old)
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
