"""Entries for tests: put by the door, read by the door, and what list must answer, worked out by other means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from infinicon.domain import Entry, ListReply, ListRequest, PutRequest, Rank
from infinicon.operations.entries import list_entries
from infinicon.operations.put import put
from tests.store.operations.conftest import Pipeline


def put_entry(pipeline: Pipeline, content: str, ref: str = "notes", **more: Any) -> Entry:
    return put(pipeline.app, pipeline.keyring, pipeline.counters, pipeline.caller, PutRequest(ref, content, **more))


def listed(pipeline: Pipeline, ref: str | None = "notes", **wanted: Any) -> ListReply:
    request = ListRequest(ref, **wanted)
    return list_entries(pipeline.app, pipeline.embedder, pipeline.counters, pipeline.caller, request)


def relevant(pipeline: Pipeline, query: str, ref: str = "notes", **wanted: Any) -> ListReply:
    return listed(pipeline, ref, rank=Rank.RELEVANCE, query=query, **wanted)


def contents(reply: ListReply) -> list[str]:
    return [entry.content for entry in reply.entries]


@dataclass(frozen=True)
class Known:
    """An entry as the oracle sees it, in no order."""

    id: UUID
    size: int
    created_at: datetime


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
