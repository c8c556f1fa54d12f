"""Memories on their way out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from infinicon.domain.fault import Fault
from infinicon.domain.kinds import Cascade, TombstoneStatus
from infinicon.domain.memory import MemoryRef
from infinicon.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class TombstoneRequest:
    """Refs to tombstone; a ref whose id cannot exist is None, and is not found."""

    scope: Scope
    refs: Sequence[MemoryRef | None]
    reason: str
    cascade: Cascade


@dataclass(frozen=True, slots=True)
class TombstoneResult:
    """What became of one ref. `affected` are derived memories: marked stale, or tombstoned with it."""

    status: TombstoneStatus
    affected: Sequence[MemoryRef] = ()
    error: Fault | None = None


@dataclass(frozen=True, slots=True)
class TombstoneReply:
    """One result for each ref, in their order. With a job, content and index rows are still going; nothing is visible any more."""

    results: Sequence[TombstoneResult]
    job_id: UUID | None = None
