"""What list must answer, worked out by other means than its own."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID


def expected(
    ranked: Sequence[tuple[UUID, int]], budget: int | None, limit: int, cap: int = 1_000
) -> tuple[list[UUID], int, bool]:
    """Ids, oversized entries before the end, and whether budget or cap cut it: by trying every length of the prefix."""
    rest = [pair for pair in ranked if budget is None or pair[1] <= budget]
    most = min([cap, *([limit] if limit else [])])
    best = 0
    for length in range(min(most, len(rest)) + 1):
        if budget is None or sum(size for _, size in rest[:length]) <= budget:
            best = length
    answer = [one for one, _ in rest[:best]]
    by_limit = 0 < limit <= cap and best == limit
    cut = best < len(rest) and not by_limit
    if by_limit:
        end = [one for one, _ in ranked].index(answer[-1])
    else:
        end = [one for one, _ in ranked].index(rest[best][0]) if best < len(rest) else len(ranked)
    oversized = sum(budget is not None and size > budget for _, size in ranked[:end])
    return answer, oversized, cut
