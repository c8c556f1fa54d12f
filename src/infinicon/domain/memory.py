"""Durable memory objects, their refs and their provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from infinicon.domain.kinds import Cascade, Json, LinkType, MemoryType, Status
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
    """One source of a derived object, with the span of the source's text where there is one. Its status may be tombstoned."""

    ref: MemoryRef
    span: Span | None = None
    status: Status = Status.ACTIVE


@dataclass(frozen=True, slots=True)
class Step:
    """One edge of a provenance chain: `derived` comes from `source`; `link` is the edge itself."""

    link: MemoryRef
    derived: MemoryRef
    source: SourceRef


@dataclass(frozen=True, slots=True)
class Provenance:
    """The newest sources of a derived object, and who derived it.

    `chain`, where it was asked for, has every edge that leads from the object back to its episodes, nearest first, each once.
    `truncated`: there are more sources, or steps, than are shown.
    """

    source_refs: Sequence[SourceRef]
    produced_by: ActorRef
    created_at: datetime
    transformation: str
    confidence: float | None = None
    chain: Sequence[Step] | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class LinkEnds:
    """What a link joins."""

    type: LinkType
    start: MemoryRef
    end: MemoryRef


@dataclass(frozen=True, slots=True)
class Relation:
    """A link by which one memory gives way to another, corrects it, contradicts it or says the same. A contradiction that was settled has
    the status superseded."""

    link: MemoryRef
    type: LinkType
    status: Status
    start: MemoryRef
    end: MemoryRef


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of a memory that was deleted: when, why, how far it went. `key` None: its time was over. `kept_until`: an audit
    sees the content until then."""

    created_at: datetime
    reason: str
    cascade: Cascade
    key: UUID | None
    kept_until: datetime | None


@dataclass(frozen=True, slots=True)
class Memory:
    """One durable memory object: episode, atom, consolidation or link (`type` says which fields are set). `related` is there where
    provenance was asked for. `stale`: a source was tombstoned under mark_derived_stale. `supersedes`, of a consolidation: earlier
    memories whose place it took, the newest first."""

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
    related: Sequence[Relation] = ()
    stale: bool = False
    supersedes: Sequence[MemoryRef] = ()
    ends: LinkEnds | None = None
    tombstone: Tombstone | None = None
