"""Closed sets of words, and JSON."""

from __future__ import annotations

import enum
from typing import TypeAlias
from uuid import UUID

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


class LinkType(enum.StrEnum):
    DERIVED_FROM = "derived_from"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    MENTIONS = "mentions"
    SAME_AS = "same_as"
    CORRECTS = "corrects"
    INVALIDATES = "invalidates"


class Cascade(enum.StrEnum):
    """What happens to what was derived from a memory that is tombstoned."""

    NONE = "none"
    MARK_DERIVED_STALE = "mark_derived_stale"
    TOMBSTONE_DERIVED = "tombstone_derived"


class TombstoneStatus(enum.StrEnum):
    TOMBSTONED = "tombstoned"
    ALREADY_TOMBSTONED = "already_tombstoned"
    NOT_FOUND = "not_found"
    REJECTED = "rejected"
