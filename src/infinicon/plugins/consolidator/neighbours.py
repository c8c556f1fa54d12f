"""Which statements are worth a comparison: never all with all.

Of every fresh one: the nearest by vector, the nearest by rare words, those of the same subject, and those of the very same text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from infinicon.plugins.consolidator.statements import Statement

NEAREST = 20
"""By vector, and as many by words: a statement and the one that it replaces are among each other's twenty nearest for 95 of 100."""
_ROWS = 1_024
_COMMON = 50
"""A word, or a text, that more statements share tells nothing of two of them."""

Matrix = NDArray[np.float32]
Pair = tuple[int, int]


def unit(vectors: NDArray[np.float16] | Matrix) -> Matrix:
    """Rows of unit length; what is no number, or has no length, is the zero row and near to nothing."""
    matrix = np.nan_to_num(np.asarray(vectors, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    found: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 1e-6)
    return found


def nearest(matrix: Matrix, rows: Sequence[int], count: int = NEAREST) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """For each of `rows` the `count` nearest others with their cosine, the nearest first; ties go to the smaller index."""
    everybody = matrix.T
    for start in range(0, len(rows), _ROWS):
        part = list(rows[start : start + _ROWS])
        cosines = np.round(matrix[part] @ everybody, 4)
        cosines[np.arange(len(part)), part] = -2.0
        wanted = min(count, matrix.shape[0] - 1)
        if wanted < 1:
            return
        least = np.partition(cosines, -wanted, axis=1)[:, -wanted]
        for row, line, bound in zip(part, cosines, least, strict=True):
            # Of equals at the bound the first are taken: a partition alone would take any.
            above = np.flatnonzero(line > bound)
            at_bound = np.flatnonzero(line == bound)[: wanted - len(above)]
            found = np.concatenate([above, at_bound])
            order = sorted(found.tolist(), key=lambda at: (-line[at], at))
            yield row, [(at, float(line[at])) for at in order if line[at] > 0]


def by_words(statements: Sequence[Statement], rows: Sequence[int]) -> Iterator[Pair]:
    """Pairs that share rare words, most of them first; and all pairs of the same subject or the same text, as far as these are few."""
    posting: dict[str, list[int]] = defaultdict(list)
    for at, statement in enumerate(statements):
        for word in (*statement.topic, *statement.numbers):
            posting[word].append(at)
    for at in rows:
        shared = Counter(
            other
            for word in (*statements[at].topic, *statements[at].numbers)
            if len(posting[word]) <= _COMMON
            for other in posting[word]
            if other != at
        )
        best = sorted(shared.items(), key=lambda one: (-one[1], one[0]))[:NEAREST]
        yield from ((at, other) for other, _ in best)


def by_identity(statements: Sequence[Statement]) -> Iterator[Pair]:
    """Pairs of the same text of one speaker, each with the first of them; and of the same subject of a relation."""
    same: dict[object, list[int]] = defaultdict(list)
    subjects: dict[object, list[int]] = defaultdict(list)
    for at, statement in enumerate(statements):
        if statement.flat:
            same[statement.memory.speaker, statement.flat].append(at)
        for relation in statement.relations:
            subjects[relation.subject, relation.kind].append(at)
    for group in same.values():
        yield from pairwise(group)
        yield from ((group[0], other) for other in group[1:])
    for group in subjects.values():
        if len(group) <= _COMMON:
            yield from combinations(group, 2)
