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
    """Adds the chain that leads from each derived object back to its episodes, and `related`."""
    include_tombstoned: bool = False
    """Deleted memories come as objects, with what the namespace's policy keeps of them for an audit. Needs the permission `audit`, which
    `admin` does not stand for."""


LifecycleStatus = Literal["active", "disputed", "superseded", "tombstoned", "pending", "failed"]
LinkTypeName = Literal[
    "derived_from", "supports", "contradicts", "supersedes", "mentions", "same_as", "corrects", "invalidates"
]


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
    status: LifecycleStatus
    """Of the source. One that is tombstoned, or whose time is over, is named here and cannot be hydrated."""


class ProvenanceStep(Body):
    """One edge of a chain: what was derived, and a source of it."""

    link: MemoryRef
    derived: MemoryRef
    source: SourceRef


class Provenance(Body):
    source_refs: Annotated[list[SourceRef], Field(min_length=1)]
    """What it was made of: the newest 1,000, the oldest of them first."""
    produced_by: ActorRef
    """The plug-in that made it."""
    created_at: Time
    transformation: str
    """What was done: `extract` for an atom."""
    confidence: float | SkipJsonSchema[None] = None
    chain: list[ProvenanceStep] | SkipJsonSchema[None] = None
    """With includeProvenance: every edge that leads from here back to episodes, at any depth, nearest first and each once."""
    truncated: bool | SkipJsonSchema[None] = None
    """true where there are more sources than are shown, or more steps than `chainSteps`."""


class Relation(Body):
    """A link of the type supersedes, corrects, contradicts or same_as, and what it joins. It is an object, too: hydrate its ref."""

    link: MemoryRef
    link_type: LinkTypeName
    status: LifecycleStatus
    """`superseded`: of a contradiction that was settled."""
    start: Annotated[MemoryRef, Field(alias="from")]
    """What supersedes or corrects."""
    end: Annotated[MemoryRef, Field(alias="to")]
    """What is superseded or corrected."""


class Tombstone(Body):
    """What is left of a deleted memory."""

    created_at: Time
    """When it was deleted."""
    reason: str
    """As the request gave it."""
    cascade_policy: Literal["none", "mark_derived_stale", "tombstone_derived"]
    key_id: str | SkipJsonSchema[None] = None
    """Whose key asked for it; absent where its time was over."""
    kept_until: Time | SkipJsonSchema[None] = None
    """Until when an audit sees its content; absent where nothing was kept."""


class Memory(Body):
    """An episode, atom, consolidation or link; the fields of one kind are absent from the others."""

    id: str
    type: Literal["episode", "atom", "consolidation", "link"]
    scope: Scope
    status: LifecycleStatus
    """`pending` until it is indexed."""
    stale: Literal[True] | SkipJsonSchema[None] = None
    """true: a source was tombstoned under `mark_derived_stale`. Queries do not return it, contexts only with allowStale."""
    created_at: Time
    updated_at: Time | SkipJsonSchema[None] = None
    created_by: ActorRef
    """Who stored it."""
    metadata: JsonObject
    content: SkipValidation[Any] = None
    """A string, or the JSON value that was sent. A link has none; of a tombstoned memory it is null where nothing is kept."""
    tags: list[str] | SkipJsonSchema[None] = None
    content_type: str | SkipJsonSchema[None] = None
    """Of an episode."""
    dedupe_key: str | SkipJsonSchema[None] = None
    """Of an episode."""
    atom_type: str | SkipJsonSchema[None] = None
    """Of an atom: what kind of claim it is."""
    title: str | SkipJsonSchema[None] = None
    """Of a consolidation."""
    source_refs: list[SourceRef] | SkipJsonSchema[None] = None
    """Of a consolidation: what it was made of, as `provenance` says it."""
    supersedes: list[MemoryRef] | SkipJsonSchema[None] = None
    """Of a consolidation: the memories whose place it took, the newest 100, newest first."""
    confidence: float | SkipJsonSchema[None] = None
    """0 to 1, where its maker says it."""
    occurred_at: Time | SkipJsonSchema[None] = None
    expires_at: Time | SkipJsonSchema[None] = None
    provenance: Provenance | SkipJsonSchema[None] = None
    """Of derived objects: an atom always carries it, any other where includeProvenance asks for it and it has one."""
    related: list[Relation] | SkipJsonSchema[None] = None
    """With includeProvenance: the links of corrections and contradictions that lead here or away, the newest 100, newest first."""
    link_type: LinkTypeName | SkipJsonSchema[None] = None
    """Of a link."""
    start: Annotated[MemoryRef | SkipJsonSchema[None], Field(alias="from")] = None
    """Of a link: where it begins, such as the memory that was derived."""
    end: Annotated[MemoryRef | SkipJsonSchema[None], Field(alias="to")] = None
    """Of a link: where it ends, such as the source."""
    tombstone: Tombstone | SkipJsonSchema[None] = None
    """Of a tombstoned memory, for who may audit."""


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
        include_tombstoned=checked.include_tombstoned,
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
        stale=memory.stale or None,
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
        related=relations_to_wire(memory.related) or None,
        tombstone=None if memory.tombstone is None else _tombstone_to_wire(memory.tombstone),
    )
    if memory.type is domain.MemoryType.CONSOLIDATION and memory.provenance is not None:
        wire["sourceRefs"] = [_source_to_wire(source) for source in memory.provenance.source_refs]
        wire |= present(supersedes=[ref_to_wire(ref) for ref in memory.supersedes] or None)
    if memory.ends is not None:
        ends = memory.ends
        return {**wire, "linkType": ends.type.value, "from": ref_to_wire(ends.start), "to": ref_to_wire(ends.end)}
    wire["content"] = memory.content  # null is a value here
    return wire


def _tombstone_to_wire(tombstone: domain.Tombstone) -> dict[str, Any]:
    return present(
        createdAt=time_to_wire(tombstone.created_at),
        reason=tombstone.reason,
        cascadePolicy=tombstone.cascade.value,
        keyId=None if tombstone.key is None else str(tombstone.key),
        keptUntil=optional_time(tombstone.kept_until),
    )


def provenance_to_wire(provenance: domain.Provenance) -> dict[str, Any]:
    return present(
        sourceRefs=[_source_to_wire(source) for source in provenance.source_refs],
        producedBy=actor_to_wire(provenance.produced_by),
        createdAt=time_to_wire(provenance.created_at),
        transformation=provenance.transformation,
        confidence=provenance.confidence,
        chain=None if provenance.chain is None else [_step_to_wire(step) for step in provenance.chain],
        truncated=provenance.truncated or None,
    )


def relations_to_wire(relations: Sequence[domain.Relation]) -> list[dict[str, Any]]:
    return [
        {
            "link": ref_to_wire(relation.link),
            "linkType": relation.type.value,
            "status": relation.status.value,
            "from": ref_to_wire(relation.start),
            "to": ref_to_wire(relation.end),
        }
        for relation in relations
    ]


def _step_to_wire(step: domain.Step) -> dict[str, Any]:
    return {
        "link": ref_to_wire(step.link),
        "derived": ref_to_wire(step.derived),
        "source": _source_to_wire(step.source),
    }


def _source_to_wire(source: domain.SourceRef) -> dict[str, Any]:
    wire = {**ref_to_wire(source.ref), "status": source.status.value}
    if source.span is not None:
        wire["span"] = {"start": source.span.start, "end": source.span.end, "path": source.span.path}
    return wire
