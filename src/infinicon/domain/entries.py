"""Memory as RFC 0113 reads it: entries under a memoryRef, as many as a budget has room for."""

from __future__ import annotations

import enum
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from infinicon.domain.fault import ContextWarning
from infinicon.domain.scope import Scope

MOST_ENTRIES = 1_000
"""An answer has no more, whatever was asked for."""

OVERSIZED_COUNTED = 1_000
"""Entries that are larger than the whole budget are counted up to here; the number then means so many or more."""


class Rank(enum.StrEnum):
    RECENCY = "recency"
    RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True)
class Entry:
    """An atom or a consolidation, and nothing of it that is not here."""

    id: UUID
    content: str
    tags: Sequence[str]
    created_at: datetime
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Sight:
    """What a run sees: what was there when it began, and what it wrote itself."""

    began_at: datetime
    own: Set[UUID] = frozenset()

    def has(self, entry: UUID, created_at: datetime) -> bool:
        return created_at <= self.began_at or entry in self.own


@dataclass(frozen=True, slots=True)
class ListRequest:
    """`memory_ref` None: one that cannot be anybody's. `limit` 0: as many as there are. `query` where the rank is relevance. `sight`: of
    the run that asks; without it all is seen."""

    memory_ref: str | None
    limit: int = 0
    tag: str | None = None
    token_budget: int | None = None
    rank: Rank = Rank.RECENCY
    query: str = ""
    sight: Sight | None = None


@dataclass(frozen=True, slots=True)
class ListReply:
    """`tokens_used`, in units of `token_counter`; both are None where the host cannot count. `oversized` entries were passed over before
    the answer ended, since each is larger than the whole budget. `truncated`: the budget or MOST_ENTRIES cut it."""

    entries: Sequence[Entry]
    tokens_used: int | None
    oversized: int
    truncated: bool
    token_counter: str | None


@dataclass(frozen=True, slots=True)
class PutRequest:
    """What one entry is made of. `memory_ref` as it was sent, and fit to be a name."""

    memory_ref: str
    content: str
    tags: Sequence[str] = ()
    expires_at: datetime | None = None
    idempotency_key: str | None = None
    body_digest: bytes = b""


@dataclass(frozen=True, slots=True)
class PutReply:
    """The entry that was made, now or under the same Idempotency-Key before."""

    entry: Entry
    warnings: Sequence[ContextWarning] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    """The scope for which a memoryRef stands."""

    memory_ref: str
    scope: Scope
    created_at: datetime
