"""Namespaces, their counts, and their episodes on the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import SkipValidation
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api.wire.shared import (
    ActorRef,
    JsonObject,
    Scope,
    Time,
    actor_to_wire,
    optional_time,
    present,
    scope_to_wire,
    time_to_wire,
)
from infinicon.api.wire.validate import Body

NAMESPACES_USUAL, NAMESPACES_MOST = 100, 1_000
EXPORT_USUAL, EXPORT_MOST = 500, 1_000


class Namespace(Body):
    namespace_id: str
    created_at: Time


class NamespacesReply(Body):
    namespaces: list[Namespace]
    cursor: str | SkipJsonSchema[None] = None
    """Of the next page; absent from the last one."""


class IndexStats(Body):
    rows: int


class StatsReply(Body):
    memories: dict[str, dict[str, int]]
    """Numbers by type and status."""
    pipeline: dict[str, int]
    """Episodes on their way, or that failed on it, by state."""
    jobs: dict[str, int]
    index: IndexStats
    events: int


class ExportedEpisode(Body):
    """An IngestEpisode with the scope that it belongs to. `id`, `status` and `createdAt` are what it was here; ingest passes over them."""

    id: str
    scope: Scope
    status: str
    created_at: Time
    content_type: str
    content: SkipValidation[Any]
    created_by: ActorRef
    metadata: JsonObject
    dedupe_key: str | SkipJsonSchema[None] = None
    tags: list[str] | SkipJsonSchema[None] = None
    occurred_at: Time | SkipJsonSchema[None] = None
    expires_at: Time | SkipJsonSchema[None] = None


class ExportReply(Body):
    episodes: list[ExportedEpisode]
    cursor: str | SkipJsonSchema[None] = None
    """Of the next page; absent from the last one."""


def namespaces_to_wire(found: Sequence[domain.Namespace], cursor: str | None) -> dict[str, Any]:
    listed = [{"namespaceId": item.name, "createdAt": time_to_wire(item.created_at)} for item in found]
    return present(namespaces=listed, cursor=cursor)


def stats_to_wire(stats: domain.Stats) -> Mapping[str, Any]:
    return {
        "memories": stats.memories,
        "pipeline": stats.pipeline,
        "jobs": stats.jobs,
        "index": {"rows": stats.index_rows},
        "events": stats.events,
    }


def export_to_wire(found: Sequence[domain.Memory], cursor: str | None) -> dict[str, Any]:
    return present(episodes=[_episode(item) for item in found], cursor=cursor)


def _episode(item: domain.Memory) -> dict[str, Any]:
    wire = present(
        id=str(item.id),
        scope=scope_to_wire(item.scope),
        status=item.status.value,
        createdAt=time_to_wire(item.created_at),
        contentType=item.content_type,
        createdBy=actor_to_wire(item.created_by),
        metadata=dict(item.metadata),
        dedupeKey=item.dedupe_key,
        tags=list(item.tags) or None,
        occurredAt=optional_time(item.occurred_at),
        expiresAt=optional_time(item.expires_at),
    )
    wire["content"] = item.content  # null is a value here
    return wire
