"""Episodes on their way in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from infinicon.domain.fault import ContextWarning, Fault
from infinicon.domain.kinds import IngestStatus, Json, Lane
from infinicon.domain.memory import ActorRef, MemoryRef
from infinicon.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class IngestEpisode:
    """One episode as it comes in. `content` is text for text/* and any JSON value otherwise."""

    content_type: str
    content: Json
    created_by: ActorRef | None = None
    dedupe_key: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    tags: Sequence[str] = ()
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    corrects: Sequence[MemoryRef | None] = ()
    supersedes: Sequence[MemoryRef | None] = ()
    """What it takes the place of, once it is indexed; None stands for a ref whose id cannot exist."""


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """Episodes in the order they came; a Fault stands for an episode that could not be read."""

    scope: Scope
    episodes: Sequence[IngestEpisode | Fault]
    label: str | None = None
    lane: Lane | None = None
    idempotency_key: str | None = None
    body_digest: bytes = b""  # SHA-256 of the raw body: the same Idempotency-Key with another body is a conflict


@dataclass(frozen=True, slots=True)
class IngestResult:
    ref: MemoryRef
    status: IngestStatus
    error: Fault | None = None
    warnings: Sequence[ContextWarning] = ()


@dataclass(frozen=True, slots=True)
class IngestReply:
    results: Sequence[IngestResult]
    job_id: UUID
