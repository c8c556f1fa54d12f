"""Groups of memories about one thing: near to one another both ways, and with a word in common.

Pairs join in the order of their cosine, the nearest first; two groups join where their members are near on average, so that a chain of
neighbours does not lead from one topic to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from infinicon.plugins.consolidator.neighbours import Matrix, nearest
from infinicon.plugins.consolidator.statements import Statement

MUTUAL = 8
"""Both are among so many nearest of the other."""
NEAR = 0.5
"""Least cosine of two that join."""
TOGETHER = 0.5
"""Least mean cosine between the members of two groups that join."""
LARGEST = 16
SMALLEST = 3


def topics(statements: Sequence[Statement], matrix: Matrix) -> list[list[int]]:
    """Groups that hold something fresh, each in ascending order, in the order of their first member."""
    fresh = [at for at, one in enumerate(statements) if one.memory.fresh]
    groups = _Groups(matrix)
    for _, first, second in sorted(_edges(statements, matrix, fresh)):
        groups.join(first, second)
    found = [sorted(group) for group in groups.members() if len(group) >= SMALLEST]
    return sorted(group for group in found if any(statements[at].memory.fresh for at in group))


def _edges(statements: Sequence[Statement], matrix: Matrix, fresh: Sequence[int]) -> Iterator[tuple[float, int, int]]:
    near = {row: dict(others) for row, others in nearest(matrix, fresh, MUTUAL)}
    around = sorted({other for others in near.values() for other in others} - near.keys())
    near |= {row: dict(others) for row, others in nearest(matrix, around, MUTUAL)}
    for row in sorted(near):
        for other, cosine in near[row].items():
            if (
                row < other
                and cosine >= NEAR
                and row in near.get(other, {})
                and _related(statements[row], statements[other])
            ):
                yield -cosine, row, other


def _related(first: Statement, second: Statement) -> bool:
    """Whether a word is in both. Texts that are too long for words are left to their vectors."""
    return not first.short or not second.short or bool(first.topic & second.topic)


class _Groups:
    """Union of sets, with the sum of the vectors of each."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._of: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._sums: dict[int, Matrix] = {}

    def join(self, first: int, second: int) -> None:
        one, other = self._group(first), self._group(second)
        if one == other or len(self._members[one]) + len(self._members[other]) > LARGEST:
            return
        mean = float(self._sums[one] @ self._sums[other]) / (len(self._members[one]) * len(self._members[other]))
        if round(mean, 4) < TOGETHER:
            return
        kept, gone = min(one, other), max(one, other)
        self._sums[kept] = self._sums[kept] + self._sums.pop(gone)
        for member in self._members[gone]:
            self._of[member] = kept
        self._members[kept] += self._members.pop(gone)

    def members(self) -> Iterator[list[int]]:
        yield from self._members.values()

    def _group(self, member: int) -> int:
        if member not in self._of:
            self._of[member] = member
            self._members[member] = [member]
            self._sums[member] = self._matrix[member]
        return self._of[member]


def centrality(matrix: Matrix, members: Sequence[int]) -> Mapping[int, float]:
    """How near each member is to the middle of all."""
    middle = matrix[list(members)].mean(axis=0)
    return dict(zip(members, np.round(matrix[list(members)] @ middle, 4).tolist(), strict=True))
