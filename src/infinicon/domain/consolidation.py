"""Consolidation: who asks for it, what it works on, and what a plan would do."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from infinicon.domain.filters import MemoryFilters
from infinicon.domain.memory import MemoryRef
from infinicon.domain.scope import Scope

EVERYTHING = MemoryFilters()
"""No filters."""


class Trigger(enum.StrEnum):
    """Why a consolidation starts."""

    MANUAL = "manual"
    SCHEDULED = "scheduled"
    THRESHOLD = "threshold"
    IDLE = "idle"


class Width(enum.StrEnum):
    """Within what a consolidation stays."""

    SESSION = "session"
    AGENT = "agent"
    NAMESPACE = "namespace"


@dataclass(frozen=True, slots=True)
class ConsolidateRequest:
    """Consolidate what waits in a scope. `filters`, and what the scope says beyond the policy's width, narrow what is looked at anew."""

    scope: Scope
    trigger: Trigger = Trigger.MANUAL
    filters: MemoryFilters = EVERYTHING


@dataclass(frozen=True, slots=True)
class ConsolidationScope:
    """Memories that are consolidated together. None: without an agent, or a session; what the width does not tell apart is None too."""

    id: int
    namespace: int
    width: Width
    agent_id: str | None
    session_id: str | None


@dataclass(frozen=True, slots=True)
class RunRef:
    """What a message carries: ids only. `attempt` counts the slices and tries of the job."""

    tenant: int
    job: UUID
    attempt: int


@dataclass(frozen=True, slots=True)
class ProposedDigest:
    """A consolidation that would be made."""

    title: str
    content: str
    sources: Sequence[MemoryRef]
    replaces: Sequence[MemoryRef]


@dataclass(frozen=True, slots=True)
class ProposedPair:
    """`first` would be superseded by, be a duplicate of, or contradict `second`; with what they say. `reason`: a word of the plug-in."""

    first: MemoryRef
    second: MemoryRef
    content: str
    second_content: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What consolidating the first slice would do. `memories` were looked at anew; `complete`: there are no more."""

    memories: int
    complete: bool
    digests: Sequence[ProposedDigest] = ()
    supersessions: Sequence[ProposedPair] = ()
    duplicates: Sequence[ProposedPair] = ()
    disputes: Sequence[ProposedPair] = ()
