"""What happened, and how a reader asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from infinicon.domain.kinds import EventType
from infinicon.domain.memory import MemoryRef
from infinicon.domain.scope import Scope

MEMORY_EVENTS = (
    EventType.EPISODE_INGESTED,
    EventType.ATOM_EXTRACTED,
    EventType.MEMORY_INDEXED,
    EventType.CONSOLIDATION_STARTED,
    EventType.CONSOLIDATION_COMPLETED,
    EventType.CONSOLIDATION_FAILED,
    EventType.MEMORY_DISPUTED,
    EventType.MEMORY_SUPERSEDED,
    EventType.MEMORY_TOMBSTONED,
)
"""What the contract knows. Whatever else a feed may hold one day is for the house alone, and has to be named here to leave it."""


@dataclass(frozen=True, slots=True)
class SubscribeRequest:
    """Events of these types after `cursor`, at most `limit`; without a cursor from the oldest one that is kept."""

    scope: Scope
    types: Sequence[EventType] = MEMORY_EVENTS
    cursor: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """What happened to a memory or a job: ids only, never content. `scope` is that of the memory."""

    type: EventType
    scope: Scope
    cursor: str
    occurred_at: datetime
    ref: MemoryRef | None = None
    job: UUID | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in commit order. `next_cursor` stands behind all that was looked at, also where it did not fit the request; `position`
    is the same place as a number. `more`: the feed went on behind it."""

    events: Sequence[MemoryEvent]
    next_cursor: str
    position: int
    more: bool
