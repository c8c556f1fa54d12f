"""Domain values with every field set, for tests of what goes out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from infinicon.domain import (
    NIL_ID,
    ActorRef,
    Cascade,
    ContextBudget,
    ContextSegment,
    ContextWarning,
    EventPage,
    EventType,
    Fault,
    Hit,
    HydrateReply,
    IngestReply,
    IngestResult,
    IngestStatus,
    Job,
    JobsPage,
    JobsSummary,
    JobStatus,
    LinkEnds,
    LinkType,
    Memory,
    MemoryEvent,
    MemoryRef,
    MemoryType,
    Progress,
    Provenance,
    QueryReply,
    Scope,
    SourceRef,
    Span,
    Stage,
    Status,
    Step,
    Tombstone,
    WorkingContext,
)

SCOPE = Scope("acme", "notes", "agent-1", "session-1", {"project": "apollo"})
WHEN = datetime(2026, 11, 30, 10, 0, 0, 120000, tzinfo=UTC)
EPISODE = MemoryRef(UUID("019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3d"), MemoryType.EPISODE, SCOPE)
ATOM = MemoryRef(UUID("019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3e"), MemoryType.ATOM, SCOPE)
FAULT = Fault(
    "too_large", "content must not be larger than 1048576 bytes", retryable=False, details={"field": "content"}
)
WARNING = ContextWarning("tombstoned", "this episode was deleted", [EPISODE])

INGEST_REPLY = IngestReply(
    [
        IngestResult(EPISODE, IngestStatus.CREATED),
        IngestResult(EPISODE, IngestStatus.DEDUPLICATED, warnings=[WARNING]),
        IngestResult(MemoryRef(NIL_ID, MemoryType.EPISODE, SCOPE), IngestStatus.REJECTED, FAULT),
    ],
    UUID(int=9),
)
QUERY_REPLY = QueryReply(
    [Hit(ATOM, 0.5, "semantic", [EPISODE], [WARNING]), Hit(EPISODE, 0.25, "lexical")], [WARNING], "cursor-2"
)
CONTEXT = WorkingContext(
    scope=SCOPE,
    task="Open the gate.",
    budget=ContextBudget(100, 5, 10),
    segments=[
        ContextSegment(
            ref=ATOM,
            content="The gate code is on the blue tag.",
            who="Ada",
            when=WHEN,
            score=0.5,
            reason="has “gate”",
            provenance=Provenance(
                [SourceRef(EPISODE, Span(3, 9, "/0/text"))], ActorRef("builtin@1", "plugin"), WHEN, "extract", 0.5
            ),
            tokens=20,
            unit="[Ada, 2026-11-30 10:00] The gate code is on the blue tag.\n",
        ),
        ContextSegment(
            ref=EPISODE,
            content="It rains.",
            who=None,
            when=WHEN,
            score=0.0,
            reason="",
            provenance=Provenance([SourceRef(EPISODE)], ActorRef("u-1", "user"), WHEN, "ingest"),
            tokens=12,
            unit="[2026-11-30 10:00] It rains.\n",
        ),
    ],
    token_estimate=32,
    truncated=True,
    warnings=[ContextWarning("required_ref_omitted", "it is stale", [ATOM], {"reason": "stale"})],
    generated_at=WHEN,
)
EPISODE_OBJECT = Memory(
    id=EPISODE.id,
    type=MemoryType.EPISODE,
    scope=SCOPE,
    status=Status.ACTIVE,
    created_at=WHEN,
    updated_at=WHEN,
    created_by=ActorRef("ann", "user"),
    content=None,
    content_type="application/json",
    metadata={"mood": None},
    tags=["blue"],
    dedupe_key="note-1",
    occurred_at=WHEN,
    expires_at=WHEN,
)
ATOM_OBJECT = Memory(
    id=ATOM.id,
    type=MemoryType.ATOM,
    scope=SCOPE,
    status=Status.ACTIVE,
    created_at=WHEN,
    updated_at=None,
    created_by=ActorRef("builtin", "plugin"),
    content="The gate code is on the blue tag.",
    atom_type="statement",
    confidence=0.5,
    provenance=Provenance([SourceRef(EPISODE, Span(0, 33))], ActorRef("builtin", "plugin"), WHEN, "extract", 0.5),
)
LINK = MemoryRef(UUID("019a5b5e-7a3c-7cc2-9d8e-2f1f0a1b2c3f"), MemoryType.LINK, SCOPE)
LINK_OBJECT = Memory(
    id=LINK.id,
    type=MemoryType.LINK,
    scope=SCOPE,
    status=Status.ACTIVE,
    created_at=WHEN,
    updated_at=None,
    created_by=ActorRef("builtin", "plugin"),
    content=None,
    ends=LinkEnds(LinkType.DERIVED_FROM, ATOM, EPISODE),
)
CHAINED_OBJECT = replace(
    ATOM_OBJECT,
    provenance=Provenance(
        [SourceRef(EPISODE, status=Status.TOMBSTONED)],
        ActorRef("builtin", "plugin"),
        WHEN,
        "extract",
        chain=[Step(LINK, ATOM, SourceRef(EPISODE, Span(0, 33), Status.TOMBSTONED))],
        truncated=True,
    ),
)
GONE_OBJECT = replace(
    ATOM_OBJECT,
    status=Status.TOMBSTONED,
    content=None,
    tombstone=Tombstone(WHEN, "asked for", Cascade.NONE, UUID(int=7), WHEN),
)
HYDRATE_REPLY = HydrateReply([EPISODE_OBJECT, ATOM_OBJECT, LINK_OBJECT, CHAINED_OBJECT, GONE_OBJECT], [])
JOB = (
    SCOPE,
    Job(
        UUID(int=9),
        "ingest",
        JobStatus.FAILED,
        WHEN,
        WHEN,
        Progress(1, 1, 3, 0, 0, 1, 0),
        Stage.EMBED,
        "back-fill",
        FAULT,
        {"episodes": 3},
    ),
)
EVENT = MemoryEvent(EventType.MEMORY_INDEXED, SCOPE, "cursor-1", WHEN, ATOM, UUID(int=9))
EVENT_PAGE = EventPage(
    [EVENT, MemoryEvent(EventType.CONSOLIDATION_STARTED, SCOPE, "cursor-2", WHEN)], "cursor-7", 7, more=True
)
JOBS_PAGE = JobsPage(
    [JOB[1]],
    "c",
    JobsSummary(dict(zip(JobStatus, range(1, 6), strict=True)), Progress(9, 1, 20, 4, 1, 2, 3)),
)
