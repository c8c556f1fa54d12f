"""Durable memory objects, their refs and their provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from infinicon.domain.kinds import Json, MemoryType, Status
from infinicon.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class ActorRef:
    id: str
    kind: str  # user, agent, system, plugin


@dataclass(frozen=True, slots=True)
class MemoryRef:
    id: UUID
    type: MemoryType
    scope: Scope


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open character range [start, end) of a source, in Unicode code points.

    `path` is a JSON Pointer (RFC 6901) to the string that is counted, where the content is JSON; "" where it is text.
    """

    start: int
    end: int
    path: str = ""


@dataclass(frozen=True, slots=True)
class SourceRef:
    """One source of a derived object, with the span of the source's text where there is one."""

    ref: MemoryRef
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    source_refs: Sequence[SourceRef]
    produced_by: ActorRef
    created_at: datetime
    transformation: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One durable memory object: episode, atom or consolidation (`type` says which fields are set)."""

    id: UUID
    type: MemoryType
    scope: Scope
    status: Status
    created_at: datetime
    updated_at: datetime | None
    created_by: ActorRef
    content: Json
    content_type: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    tags: Sequence[str] = ()
    dedupe_key: str | None = None
    atom_type: str | None = None
    title: str | None = None
    confidence: float | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    provenance: Provenance | None = None
