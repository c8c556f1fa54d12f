"""Applying: a checked plan enters memory in one transaction, or nothing of it does.

What is slow comes before: redaction, counting, vectors. In the transaction every memory that the plan is about is locked and looked at
again; what is about one that has gone meanwhile is dropped, and its other sources wait for the next slice.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from uuid import UUID, uuid4

from infinicon import lexemes, rendering
from infinicon.domain import ConsolidationScope, EventType, Json, LinkType, MemoryType, ScopeKey, Stage, Status
from infinicon.errors import PluginFailed, Unavailable
from infinicon.ids import new_id
from infinicon.keyring import Keyring
from infinicon.operations import redaction
from infinicon.operations.counting import Counters
from infinicon.operations.embed import Vector, cut, encode, rendered
from infinicon.operations.plans import Checked, NewDigest, without
from infinicon.operations.redaction import Redactor
from infinicon.operations.refusing import without_refused
from infinicon.operations.selecting import Slice
from infinicon.ports import Embedder
from infinicon.store import consolidation_changes, consolidations, corrections, events, spaces, waiting
from infinicon.store.consolidation_changes import Change, Kind
from infinicon.store.consolidations import Material, NewConsolidation
from infinicon.store.corrections import Changed, Edge
from infinicon.store.database import Database, Transaction
from infinicon.store.spaces import Chunk, Unembedded

LINKED = {Kind.SUPERSEDED: LinkType.SUPERSEDES, Kind.FOLDED: LinkType.SAME_AS}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan with all that is slow about it done."""

    part: Slice
    plan: Checked
    new: Mapping[int, NewConsolidation]
    """By the place of its digest in the plan."""
    chunks: Sequence[Chunk]
    texts: Mapping[bytes, str]
    vectors: Mapping[bytes, Vector]
    producer: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a slice came to. `settled`: memories that wait no more. The counters of the index and the events are the caller's, last."""

    settled: Sequence[UUID]
    counts: Mapping[str, int]
    added: Mapping[int, tuple[int, int]]
    happened: Sequence[events.NewEvent]


def prepare(
    database: Database,
    keyring: Keyring,
    embedder: Embedder,
    counters: Counters,
    tenant: int,
    part: Slice,
    plan: Checked,
    producer: str,
) -> Prepared:
    """Redact what the plan says, count it and embed it. No transaction is open while the model runs.

    Raises:
        PluginFailed: the model takes one of the texts for none.
        Unavailable: the encoder does not answer.
    """
    with database.transaction(tenant) as tx:
        namespace = part.within.namespace
        redactor = redaction.within(tx, tenant, keyring, [namespace])[namespace]
        now = waiting.now(tx)
    material = {one.id: one for one in part.memories.values()}
    new = {
        place: _consolidation(counters, part.within, material, redacted(redactor, digest), now)
        for place, digest in enumerate(plan.digests)
    }
    memories = [
        Unembedded(one.id, part.within.namespace, MemoryType.CONSOLIDATION, None, one.content) for one in new.values()
    ]
    chunks, texts = cut(embedder, memories)
    found = dict(zip(texts, encode(embedder, list(texts.values())), strict=True))
    if any(vector is None for vector in found.values()):
        raise PluginFailed(
            "the embedder takes the text of a digest for none", details={"stage": Stage.CONSOLIDATE.value}
        )
    vectors = {digest: vector for digest, vector in found.items() if vector is not None}
    return Prepared(part, plan, new, chunks, texts, vectors, producer)


def redacted(redactor: Redactor, digest: NewDigest) -> NewDigest:
    """What it says, without known secrets."""
    return replace(digest, title=redactor.text(digest.title), content=redactor.text(digest.content))


def _consolidation(
    counters: Counters,
    within: ConsolidationScope,
    material: Mapping[UUID, Material],
    digest: NewDigest,
    now: datetime,
) -> NewConsolidation:
    """It carries the scope of the consolidation, what its sources have in common, and lives no longer than any of them."""
    own = [material[source] for source in digest.sources]
    occurred = max((one.occurred_at for one in own if one.occurred_at is not None), default=None)
    filters = _common_filters([one.filters for one in own])
    return NewConsolidation(
        id=new_id(),
        title=digest.title,
        content=digest.content,
        filters=None if filters is None else json.dumps(filters),
        tags=sorted(set[str]().union(*(one.tags for one in own)).intersection(*(one.tags for one in own))),
        fingerprint=fingerprint(within, digest),
        occurred_at=occurred,
        expires_at=min((one.expires_at for one in own if one.expires_at is not None), default=None),
        created_at=now,
        unit=counters.unit(None, occurred, now, digest.content),
        own=counters.stored(digest.content),
        sources={one.id: one.type for one in own},
    )


def _common_filters(stored: Sequence[Mapping[str, Json] | None]) -> dict[str, Json] | None:
    """What the filters of all sources say alike: whoever asks for one source's filters must not be told of the others."""
    if any(one is None for one in stored):
        return None
    first, *others = [dict(one) for one in stored if one is not None]
    return {name: value for name, value in first.items() if all(name in one and one[name] == value for one in others)}


def fingerprint(within: ConsolidationScope, digest: NewDigest) -> bytes:
    """Names a consolidation by its scope, sources and text, 16 bytes. The rule's version is part of the digest: 1."""
    folded = " ".join(unicodedata.normalize("NFC", digest.content).split())
    made = blake2b(b"consolidation 1", digest_size=16)
    parts = [within.width, within.agent_id or "", within.session_id or "", *map(str, sorted(digest.sources)), folded]
    for part in parts:
        encoded = part.encode()
        made.update(len(encoded).to_bytes(4, "big") + encoded)
    return made.digest()


def apply(tx: Transaction, keyring: Keyring, scope: ScopeKey, job: UUID, prepared: Prepared) -> Outcome:
    """Write what was prepared, as far as it still holds. The job's lease is held; its own rows, and all counters, are the caller's.

    Raises:
        Unavailable: a secret became known meanwhile; the slice must be prepared again.
    """
    tenant, part = scope.tenant, prepared.part
    if any(_changes(redaction.current(tx, tenant, keyring), one) for one in prepared.new.values()):
        raise Unavailable("a secret became known while a consolidation was made; it is made again")
    stale = consolidations.stale(
        tenant, tx, part.within.namespace, {s for one in prepared.plan.digests for s in one.sources}
    )
    plan, dead, stale = _living(tx, tenant, prepared, stale)
    prints = {id(digest): prepared.new[place].fingerprint for place, digest in enumerate(prepared.plan.digests)}
    plan, refused = without_refused(tx, tenant, plan, lambda digest: prints[id(digest)])
    made = _insert(tx, tenant, prepared, plan)
    retired = _retired(prepared, plan, made, stale)
    added = _publish(tx, tenant, prepared, made)
    kinds = {one.id: one.type for one in part.memories.values()} | dict.fromkeys(stale, MemoryType.CONSOLIDATION)
    kinds |= dict.fromkeys((one.id for one in made.values()), MemoryType.CONSOLIDATION)
    _link(tx, scope, plan, retired, kinds)
    superseded = corrections.set_status(
        tenant, tx, {one.memory for one in retired}, Status.SUPERSEDED, [Status.ACTIVE, Status.DISPUTED]
    )
    ends = {end for one in plan.disputes for end in (one.first, one.second)}
    disputed = corrections.set_status(tenant, tx, ends, Status.DISPUTED, [Status.ACTIVE])
    # What only contradicted something that holds no more is contradicted by nothing.
    gone = {one.memory for one in retired}
    answered = consolidation_changes.gave_way(tenant, tx, gone) - gone
    _record(tx, tenant, job, part, plan, made, retired)
    revived = consolidation_changes.revive(tenant, tx, answered)
    settled = set(part.looked_at) - (_partners(prepared.plan, dead) & part.fresh)
    return Outcome(
        settled=sorted(settled | gone),
        counts={
            "consolidations": len(made),
            "superseded": sum(one.kind is Kind.SUPERSEDED for one in retired),
            "duplicates": sum(one.kind is Kind.FOLDED for one in retired),
            "disputed": len(disputed),
            "refused": refused,
        },
        added=added,
        happened=[
            *(_created(part.within, one.id, job) for one in made.values()),
            *(_event(EventType.MEMORY_SUPERSEDED, one, job) for one in superseded),
            *(_event(EventType.MEMORY_DISPUTED, one, job) for one in disputed),
            *(_event(EventType.MEMORY_INDEXED, one, job) for one in revived),
        ],
    )


def _changes(redactor: Redactor, one: NewConsolidation) -> bool:
    return redactor.text(one.title) != one.title or redactor.text(one.content) != one.content


def _living(
    tx: Transaction, tenant: int, prepared: Prepared, stale: Mapping[UUID, set[UUID]]
) -> tuple[Checked, set[UUID], dict[UUID, set[UUID]]]:
    """The plan without what is about memories that have gone, or say something else now; these memories; and stale ones that live."""
    used = prepared.plan.used
    said = consolidations.hold(tenant, tx, used | stale.keys(), stale.keys())
    seen = {one.id: one.content for one in prepared.part.memories.values()}
    dead = {memory for memory in used if memory not in said or said[memory] != seen[memory]}
    return without(prepared.plan, dead), dead, {one: of for one, of in stale.items() if one in said}


def _partners(plan: Checked, dead: Collection[UUID]) -> set[UUID]:
    """Living memories about which something was dropped: they are looked at again."""
    left = without(plan, dead)
    return plan.used - left.used - set(dead)


def _insert(tx: Transaction, tenant: int, prepared: Prepared, plan: Checked) -> dict[int, NewConsolidation]:
    """The new consolidations by the place of their digests; one that is there already is not made again."""
    kept = {id(digest) for digest in plan.digests}
    made = {}
    for place, digest in enumerate(prepared.plan.digests):
        new = prepared.new[place]
        if id(digest) in kept and consolidations.insert(
            tenant, tx, prepared.part.within, prepared.producer, rendering.VERSION, new
        ):
            made[place] = new
    return made


def _retired(
    prepared: Prepared, plan: Checked, made: Mapping[int, NewConsolidation], stale: Mapping[UUID, Collection[UUID]]
) -> list[Change]:
    """What gives way: as the plan says, and stale consolidations of whose living sources a new one was made."""
    material = {one.id: one for one in prepared.part.memories.values()}
    changes = [Change(one.kind, one.old, one.new, material[one.old].status, one.reason) for one in plan.retired]
    gone = {one.memory for one in changes}
    for place, new in made.items():
        for old in prepared.plan.digests[place].replaces:
            changes.append(Change(Kind.SUPERSEDED, old, new.id, material[old].status, "newer_version"))
            gone.add(old)
        for old, living in stale.items():
            if old not in gone and not set(living).isdisjoint(new.sources):
                changes.append(Change(Kind.SUPERSEDED, old, new.id, Status.ACTIVE, "regenerated"))
                gone.add(old)
    return changes


def _publish(
    tx: Transaction, tenant: int, prepared: Prepared, made: Mapping[int, NewConsolidation]
) -> Mapping[int, tuple[int, int]]:
    """New consolidations enter the index as every memory does: staged, and then published, here in one transaction."""
    ids = {one.id for one in made.values()}
    chunks = [chunk for chunk in prepared.chunks if chunk.memory in ids]
    if not chunks:
        return {}
    batch = uuid4()
    spaces.stage(tenant, tx, batch, prepared.part.model, chunks, prepared.vectors)
    terms = {
        (chunk.memory, chunk.chunk): lexemes.lexeme_ids(rendered(None, prepared.texts[chunk.digest]))
        for chunk in chunks
    }
    _, _, added = spaces.publish(tenant, tx, batch, terms)
    return added


def _link(
    tx: Transaction,
    scope: ScopeKey,
    plan: Checked,
    retired: Sequence[Change],
    kinds: Mapping[UUID, MemoryType],
) -> None:
    edges = [Edge(LINKED[one.kind], one.other, kinds[one.other], one.memory, kinds[one.memory]) for one in retired] + [
        Edge(LinkType.CONTRADICTS, one.first, kinds[one.first], one.second, kinds[one.second]) for one in plan.disputes
    ]
    corrections.insert(scope, tx, edges, Status.ACTIVE)


def _record(
    tx: Transaction,
    tenant: int,
    job: UUID,
    part: Slice,
    plan: Checked,
    made: Mapping[int, NewConsolidation],
    retired: Sequence[Change],
) -> None:
    status = {one.id: one.status for one in part.memories.values()}
    changes = [
        Change(Kind.CREATED, new.id, new.id, Status.ACTIVE, fingerprint=new.fingerprint) for new in made.values()
    ]
    changes += retired
    for one in plan.disputes:
        changes.append(Change(Kind.DISPUTED, one.first, one.second, status[one.first], one.reason))
        changes.append(Change(Kind.DISPUTED, one.second, one.first, status[one.second], one.reason))
    consolidation_changes.record(tenant, tx, job, changes)


def _created(within: ConsolidationScope, memory: UUID, job: UUID) -> events.NewEvent:
    return events.NewEvent(
        within.namespace,
        EventType.MEMORY_INDEXED,
        memory,
        MemoryType.CONSOLIDATION,
        job,
        within.agent_id,
        within.session_id,
    )


def _event(kind: EventType, memory: Changed, job: UUID | None) -> events.NewEvent:
    return events.NewEvent(memory.namespace, kind, memory.id, memory.type, job, memory.agent_id, memory.session_id)
