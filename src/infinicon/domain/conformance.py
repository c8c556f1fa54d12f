"""Runs of the conformance seam: workflows of OpenWOP's suite, played over the real memory."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from infinicon.domain.entries import Entry
from infinicon.domain.fault import Fault


class RunStatus(enum.StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Written:
    """An entry that a run wrote."""

    memory_ref: str
    entry: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class Seen:
    """Where something is that a run saw. `whole` False: its content alone is meant."""

    memory_ref: str
    entry: UUID
    whole: bool = True


Plain: TypeAlias = "str | int | bool | Sequence[str] | None"
Variable: TypeAlias = "Plain | Seen | Sequence[Seen]"
"""What a run says, at rest."""

Shown: TypeAlias = "Plain | Entry | Sequence[Entry]"
"""The same with what it saw, as that is now; what is gone is missing."""


@dataclass(frozen=True, slots=True)
class ConformanceRun:
    """`source`: of a replay, the run whose record it repeats."""

    id: UUID
    workflow: str
    status: RunStatus
    created_at: datetime
    source: UUID | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    written: Sequence[Written] = ()
    variables: Mapping[str, Variable] | None = None
    fault: Fault | None = None
