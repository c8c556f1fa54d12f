"""What Infinicon talks about: frozen values that do nothing. Names as in docs/architecture.md, "Words"."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from infinicon.errors import Detail, InfiniconError

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

NIL_ID = UUID(int=0)


class MemoryType(enum.StrEnum):
    EPISODE = "episode"
    ATOM = "atom"
    CONSOLIDATION = "consolidation"
    LINK = "link"


class Status(enum.StrEnum):
    """LifecycleStatus of a memory."""

    ACTIVE = "active"
    DISPUTED = "disputed"
    SUPERSEDED = "superseded"
    TOMBSTONED = "tombstoned"
    PENDING = "pending"
    FAILED = "failed"


class Permission(enum.StrEnum):
    INGEST = "ingest"
    QUERY = "query"
    HYDRATE = "hydrate"
    ASSEMBLE = "assemble"
    CONSOLIDATE = "consolidate"
    TOMBSTONE = "tombstone"
    SUBSCRIBE = "subscribe"
    JOBS = "jobs"
    AUDIT = "audit"
    ADMIN = "admin"


class Lane(enum.StrEnum):
    INTERACTIVE = "interactive"
    BULK = "bulk"


class Stage(enum.StrEnum):
    EXTRACT = "extract"
    EMBED = "embed"
    INDEX = "index"
    CONSOLIDATE = "consolidate"


class JobStatus(enum.StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class IngestStatus(enum.StrEnum):
    CREATED = "created"
    DEDUPLICATED = "deduplicated"
    REJECTED = "rejected"


class EventType(enum.StrEnum):
    EPISODE_INGESTED = "episode.ingested"
    ATOM_EXTRACTED = "atom.extracted"
    MEMORY_INDEXED = "memory.indexed"
    CONSOLIDATION_STARTED = "consolidation.started"
    CONSOLIDATION_COMPLETED = "consolidation.completed"
    CONSOLIDATION_FAILED = "consolidation.failed"
    MEMORY_DISPUTED = "memory.disputed"
    MEMORY_SUPERSEDED = "memory.superseded"
    MEMORY_TOMBSTONED = "memory.tombstoned"


# --- Scope ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope as callers name it. Names may be personal data: they stay in Postgres and in answers."""

    tenant_id: str
    namespace_id: str
    agent_id: str | None = None
    session_id: str | None = None
    filters: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class ScopeKey:
    """A scope as the store knows it: integers for tenant and namespace. `named` is what answers repeat to the caller.

    A namespace of 0 means that the namespace does not exist yet: reads find nothing in it.
    """

    tenant: int
    namespace: int
    named: Scope

    @property
    def agent_id(self) -> str | None:
        return self.named.agent_id

    @property
    def session_id(self) -> str | None:
        return self.named.session_id


@dataclass(frozen=True, slots=True)
class Caller:
    """Who holds the key: one tenant, some permissions, and all namespaces (None) or some."""

    tenant: int
    tenant_name: str
    key: UUID
    permissions: frozenset[Permission]
    namespaces: frozenset[int] | None = None


# --- Memories -------------------------------------------------------------------------------------------------------


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


# --- Ingest ---------------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class Fault:
    """A MemoryApiError at rest: in a result, in a job row."""

    code: str
    message: str
    retryable: bool
    details: Mapping[str, Detail] = field(default_factory=dict)

    @classmethod
    def of(cls, error: InfiniconError, **details: Detail) -> Fault:
        """An error put to rest, with more details where there are some."""
        return cls(error.code, error.message, error.retryable, {**error.details, **details})


@dataclass(frozen=True, slots=True)
class ContextWarning:
    """A ContextWarning."""

    code: str
    message: str
    refs: Sequence[MemoryRef] = ()


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


# --- Query and hydrate ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueryRequest:
    scope: Scope
    query: str
    limit: int = 10


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked ref. `score` compares within one answer only.

    `sources` are the episodes an atom comes from, newest first, at most 8.
    """

    ref: MemoryRef
    score: float
    reason: str
    sources: Sequence[MemoryRef] = ()
    warnings: Sequence[ContextWarning] = ()


@dataclass(frozen=True, slots=True)
class QueryReply:
    hits: Sequence[Hit]
    warnings: Sequence[ContextWarning] = ()


@dataclass(frozen=True, slots=True)
class HydrateRequest:
    scope: Scope
    refs: Sequence[MemoryRef]
    include_provenance: bool = False


@dataclass(frozen=True, slots=True)
class HydrateReply:
    """Objects in the order of the request's refs, each once; every other ref is in `missing`, as it was sent."""

    objects: Sequence[Memory]
    missing: Sequence[MemoryRef]


# --- Jobs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Progress:
    """Episodes of a job: finished, failed, all, and where the others are."""

    done: int
    failed: int
    total: int
    waiting: int = 0
    extract: int = 0
    embed: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    id: UUID
    type: str
    status: JobStatus
    created_at: datetime
    updated_at: datetime
    progress: Progress
    stage: Stage | None = None
    label: str | None = None
    error: Fault | None = None
    result: Json = None


@dataclass(frozen=True, slots=True)
class BatchRef:
    """What a Celery message carries: ids only. `attempt` counts from 1, for the stage that the batch is at."""

    tenant: int
    batch: UUID
    attempt: int
    stage: Stage
    lane: Lane


# --- Administration -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Key:
    """An API key as its tenant may know it. The key itself is shown once, when it is made. `namespaces` None: all of them."""

    id: UUID
    label: str | None
    permissions: frozenset[Permission]
    namespaces: Sequence[str] | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """What a key shall be allowed to do. `namespaces` None: all of them."""

    permissions: frozenset[Permission]
    namespaces: Sequence[str] | None = None
    label: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Namespace:
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a namespace: memories by type and status, episodes on their way by state, jobs by status."""

    memories: Mapping[str, Mapping[str, int]]
    pipeline: Mapping[str, int]
    jobs: Mapping[str, int]
    index_rows: int
    events: int
