"""What Infinicon talks about: frozen values that do nothing. Names as in docs/architecture.md, "Words"."""

from __future__ import annotations

from infinicon.domain.administration import (
    Key,
    Namespace,
    NewKey,
    Stats,
)
from infinicon.domain.context import (
    DEFAULT_TOKENIZER,
    MOST_SEGMENTS,
    AssembleRequest,
    ContextBudget,
    ContextConstraints,
    ContextSegment,
    TokenCounts,
    WorkingContext,
)
from infinicon.domain.deletion import (
    TombstoneReply,
    TombstoneRequest,
    TombstoneResult,
)
from infinicon.domain.event import (
    MEMORY_EVENTS,
    EventPage,
    MemoryEvent,
    SubscribeRequest,
)
from infinicon.domain.fault import (
    ContextWarning,
    Fault,
)
from infinicon.domain.filters import (
    SEARCHABLE,
    MemoryFilters,
)
from infinicon.domain.ingest import (
    IngestEpisode,
    IngestReply,
    IngestRequest,
    IngestResult,
)
from infinicon.domain.job import (
    BatchRef,
    Job,
    JobFilter,
    JobsPage,
    JobsRequest,
    JobsSummary,
    Progress,
)
from infinicon.domain.kinds import (
    NIL_ID,
    Cascade,
    EventType,
    IngestStatus,
    JobStatus,
    Json,
    Lane,
    LinkType,
    MemoryType,
    Permission,
    Stage,
    Status,
    TombstoneStatus,
)
from infinicon.domain.memory import (
    ActorRef,
    LinkEnds,
    Memory,
    MemoryRef,
    Provenance,
    SourceRef,
    Span,
    Step,
    Tombstone,
)
from infinicon.domain.policy import (
    Policy,
)
from infinicon.domain.query import (
    CHAIN_STEPS,
    QUERY_DEPTH,
    QUERY_SECONDS,
    Hit,
    HydrateReply,
    HydrateRequest,
    QueryReply,
    QueryRequest,
)
from infinicon.domain.scope import (
    Caller,
    Scope,
    ScopeKey,
)

__all__ = [
    "CHAIN_STEPS",
    "DEFAULT_TOKENIZER",
    "MEMORY_EVENTS",
    "MOST_SEGMENTS",
    "NIL_ID",
    "QUERY_DEPTH",
    "QUERY_SECONDS",
    "SEARCHABLE",
    "ActorRef",
    "AssembleRequest",
    "BatchRef",
    "Caller",
    "Cascade",
    "ContextBudget",
    "ContextConstraints",
    "ContextSegment",
    "ContextWarning",
    "EventPage",
    "EventType",
    "Fault",
    "Hit",
    "HydrateReply",
    "HydrateRequest",
    "IngestEpisode",
    "IngestReply",
    "IngestRequest",
    "IngestResult",
    "IngestStatus",
    "Job",
    "JobFilter",
    "JobStatus",
    "JobsPage",
    "JobsRequest",
    "JobsSummary",
    "Json",
    "Key",
    "Lane",
    "LinkEnds",
    "LinkType",
    "Memory",
    "MemoryEvent",
    "MemoryFilters",
    "MemoryRef",
    "MemoryType",
    "Namespace",
    "NewKey",
    "Permission",
    "Policy",
    "Progress",
    "Provenance",
    "QueryReply",
    "QueryRequest",
    "Scope",
    "ScopeKey",
    "SourceRef",
    "Span",
    "Stage",
    "Stats",
    "Status",
    "Step",
    "SubscribeRequest",
    "TokenCounts",
    "Tombstone",
    "TombstoneReply",
    "TombstoneRequest",
    "TombstoneResult",
    "TombstoneStatus",
    "WorkingContext",
]
