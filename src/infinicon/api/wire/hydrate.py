"""hydrate: refs in, whole objects out, and every ref that leads to none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, SkipValidation
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.shared import (
    ActorRef,
    JsonObject,
    MemoryRef,
    Scope,
    Time,
    actor_to_wire,
    optional_time,
    present,
    ref_to_wire,
    scope_of,
    scope_to_wire,
    time_to_wire,
)
from infinicon.api.wire.validate import Body, check

CANONICAL_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class HydrateRequest(Body):
    scope: Scope
    refs: Annotated[list[MemoryRef], Field(min_length=1, max_length=limits.REFS)]
    include_provenance: bool = False


class Span(Body):
    """Half-open range of Unicode code points in the string that `path` (a JSON Pointer; "" for text) leads to."""

    start: int
    """Of its first character."""
    end: int
    """Behind its last."""
    path: str


class SourceRef(MemoryRef):
    span: Span | SkipJsonSchema[None] = None
    """Where in the source it stands."""


class Provenance(Body):
    source_refs: Annotated[list[SourceRef], Field(min_length=1)]
    """What it was made of."""
    produced_by: ActorRef
    """The plug-in that made it."""
    created_at: Time
    transformation: str
    """What was done: `extract` for an atom."""
    confidence: float | SkipJsonSchema[None] = None


class Memory(Body):
    """An episode, atom or consolidation; the fields of one kind are absent from the others."""

    id: str
    type: Literal["episode", "atom", "consolidation"]
    scope: Scope
    status: Literal["active", "disputed", "superseded", "tombstoned", "pending", "failed"]
    """`pending` until it is indexed."""
    created_at: Time
    updated_at: Time | SkipJsonSchema[None] = None
    created_by: ActorRef
    """Who stored it."""
    metadata: JsonObject
    content: SkipValidation[Any]
    """A string, or the JSON value that was sent."""
    tags: list[str] | SkipJsonSchema[None] = None
    content_type: str | SkipJsonSchema[None] = None
    """Of an episode."""
    dedupe_key: str | SkipJsonSchema[None] = None
    """Of an episode."""
    atom_type: str | SkipJsonSchema[None] = None
    """Of an atom: what kind of claim it is."""
    title: str | SkipJsonSchema[None] = None
    """Of a consolidation."""
    confidence: float | SkipJsonSchema[None] = None
    """0 to 1, where its maker says it."""
    occurred_at: Time | SkipJsonSchema[None] = None
    expires_at: Time | SkipJsonSchema[None] = None
    provenance: Provenance | SkipJsonSchema[None] = None
    """Of derived objects: an atom always carries it, any other where includeProvenance asks for it and it has one."""


class HydrateReply(Body):
    objects: list[Memory]
    """In the order of the refs, each once."""
    missing: list[MemoryRef]
    """Every other ref, as it was sent: unknown, foreign, of another scope or type, or malformed."""


@dataclass(frozen=True, slots=True)
class Hydrate:
    """A request as the operation takes it, and each ref as it was sent beside what it was read as (None: no such id can exist)."""

    request: domain.HydrateRequest
    sent: Sequence[tuple[dict[str, Any], domain.MemoryRef | None]]


def parse(body: bytes) -> Hydrate:
    """Read a request. A ref whose id is no UUID is not sent on: it is missing. Raises InvalidRequest."""
    checked = check(HydrateRequest, strict_json.loads(body))
    sent = [(echo(ref), read_ref(ref)) for ref in checked.refs]
    request = domain.HydrateRequest(
        scope=scope_of(checked.scope),
        refs=[ref for _, ref in sent if ref is not None],
        include_provenance=checked.include_provenance,
    )
    return Hydrate(request, sent)


def echo(sent: MemoryRef) -> dict[str, Any]:
    """A ref as it was sent."""
    return {"id": sent.id, "type": sent.type, "scope": scope_to_wire(scope_of(sent.scope))}


def read_ref(sent: MemoryRef) -> domain.MemoryRef | None:
    """Only the canonical form is an id; UUID() itself would also take braces, prefixes and missing hyphens."""
    if not CANONICAL_UUID.fullmatch(sent.id):
        return None
    return domain.MemoryRef(UUID(sent.id), domain.MemoryType(sent.type), scope_of(sent.scope))


def to_wire(asked: Hydrate, reply: domain.HydrateReply) -> dict[str, Any]:
    missing = {_key(ref) for ref in reply.missing}
    echoed = {strict_json.dumps(echo): echo for echo, ref in asked.sent if ref is None or _key(ref) in missing}
    return {"objects": [_memory_to_wire(memory) for memory in reply.objects], "missing": list(echoed.values())}


def _key(ref: domain.MemoryRef) -> bytes:
    return strict_json.dumps(ref_to_wire(ref))


def _memory_to_wire(memory: domain.Memory) -> dict[str, Any]:
    wire = present(
        id=str(memory.id),
        type=memory.type.value,
        scope=scope_to_wire(memory.scope),
        status=memory.status.value,
        createdAt=time_to_wire(memory.created_at),
        updatedAt=optional_time(memory.updated_at),
        createdBy=actor_to_wire(memory.created_by),
        metadata=dict(memory.metadata),
        tags=list(memory.tags),
        contentType=memory.content_type,
        dedupeKey=memory.dedupe_key,
        atomType=memory.atom_type,
        title=memory.title,
        confidence=memory.confidence,
        occurredAt=optional_time(memory.occurred_at),
        expiresAt=optional_time(memory.expires_at),
        provenance=None if memory.provenance is None else provenance_to_wire(memory.provenance),
    )
    wire["content"] = memory.content  # null is a value here
    return wire


def provenance_to_wire(provenance: domain.Provenance) -> dict[str, Any]:
    return present(
        sourceRefs=[_source_to_wire(source) for source in provenance.source_refs],
        producedBy=actor_to_wire(provenance.produced_by),
        createdAt=time_to_wire(provenance.created_at),
        transformation=provenance.transformation,
        confidence=provenance.confidence,
    )


def _source_to_wire(source: domain.SourceRef) -> dict[str, Any]:
    wire = ref_to_wire(source.ref)
    if source.span is not None:
        wire["span"] = {"start": source.span.start, "end": source.span.end, "path": source.span.path}
    return wire
