"""Corrections: what a person or an agent says of memory that is there, at ingest or by name.

A memory that is superseded keeps its provenance and its links; queries return it where a filter asks for it. What only superseded
episodes say is superseded with them, and what only disputed ones say is disputed. An episode that says what was superseded, disputed or
tombstoned by itself is not shown whole where that may not be shown (docs/decisions/0018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from infinicon.domain import (
    RELATIONS,
    Caller,
    EventType,
    Fault,
    IngestEpisode,
    LinkType,
    MemoryRef,
    MemoryType,
    Permission,
    Relation,
    Scope,
    ScopeKey,
    Status,
)
from infinicon.errors import InvalidRequest, NotFound
from infinicon.operations import refusing, scopes
from infinicon.store import backlog, consolidation_changes, corrections, events, provenance, refusals
from infinicon.store.corrections import Changed, Edge
from infinicon.store.database import Database, Transaction, retry_conflicts

Target: TypeAlias = "tuple[LinkType, UUID, MemoryType]"

_OPEN = (Status.ACTIVE, Status.DISPUTED)


@dataclass(frozen=True, slots=True)
class Standing:
    """A memory, the status that it has now, and the links by which it stands to others, the newest first."""

    ref: MemoryRef
    status: Status
    related: Sequence[Relation] = ()


def read(scope: ScopeKey, tx: Transaction, episodes: Sequence[IngestEpisode | Fault]) -> list[Sequence[Target] | Fault]:
    """For each episode what it takes the place of, or the fault that rejects it: a ref to nothing that the scope has."""
    wanted = {ref.id for episode in episodes for _, ref in _refs(episode) if ref is not None}
    known = corrections.known(scope, tx, wanted) if wanted else {}
    return [_targets(scope, episode, {found: kind for found, (kind, _) in known.items()}) for episode in episodes]


def _refs(episode: IngestEpisode | Fault) -> list[tuple[LinkType, MemoryRef | None]]:
    if isinstance(episode, Fault):
        return []
    corrected = [(LinkType.CORRECTS, ref) for ref in episode.corrects]
    return corrected + [(LinkType.SUPERSEDES, ref) for ref in episode.supersedes]


def _targets(
    scope: ScopeKey, episode: IngestEpisode | Fault, known: dict[UUID, MemoryType]
) -> Sequence[Target] | Fault:
    targets: list[Target] = []
    for link, ref in _refs(episode):
        if ref is None or known.get(ref.id) is not ref.type or not scopes.names(scope, ref.scope):
            field = "corrects" if link is LinkType.CORRECTS else "supersedes"
            details = {"field": field, "rule": "must name memories of the scope"}
            return Fault.of(
                InvalidRequest(f"{field} names a memory that the scope does not have", details=dict(details))
            )
        targets.append((link, ref.id, ref.type))
    return targets


def propose(scope: ScopeKey, tx: Transaction, stated: Sequence[tuple[UUID, Sequence[Target]]]) -> None:
    """Keep what new episodes correct until they are indexed."""
    edges = [
        Edge(link, episode, MemoryType.EPISODE, target, kind)
        for episode, targets in stated
        for link, target, kind in dict.fromkeys(targets)
    ]
    corrections.insert(scope, tx, edges, Status.PENDING)


@retry_conflicts
def dispute(database: Database, caller: Caller, scope: Scope, refs: Sequence[MemoryRef | None]) -> list[Standing]:
    """Two memories of the scope contradict each other: both are disputed from now on, joined by a contradicts link.

    Raises:
        InvalidRequest: they are one and the same, or one of them holds no more.
        NotFound: one of them is not in the scope; unknown, foreign and malformed refs are all the same answer.
        Unauthorized: the key may not write to this scope.
    """
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.INGEST)
        corrections.take_turn(key, tx)
        first, second = _held(key, tx, refs)
        if first.id == second.id:
            raise InvalidRequest("a memory does not contradict itself", details={"field": "refs"})
        if any(status not in _OPEN for status in (first.status, second.status)):
            raise InvalidRequest("what is pending, failed or superseded is not disputed", details={"field": "refs"})
        edge = Edge(LinkType.CONTRADICTS, first.id, first.type, second.id, second.type)
        corrections.insert(key, tx, [edge], Status.ACTIVE)
        ends = {first.id, second.id}
        ends |= corrections.stated(key.tenant, tx, ends)
        corrections.hold(key.tenant, tx, ends)
        changed = corrections.set_status(key.tenant, tx, ends, Status.DISPUTED, [Status.ACTIVE])
        events.append(key.tenant, tx, [_event(EventType.MEMORY_DISPUTED, one) for one in changed])
        return _standing(key, tx, refs)


@retry_conflicts
def resolve(
    database: Database, caller: Caller, scope: Scope, refs: Sequence[MemoryRef | None], holds: MemoryRef | None
) -> list[Standing]:
    """End the contradictions of these memories. With `holds`, one of the memories in them, the others are superseded by it.

    Whatever is in no other open contradiction is active again. Where all this is so already, nothing changes. Where a consolidation had
    one of these memories give way to another one, that is taken back instead, for good; with `holds`, the other one gives way to it.

    Raises:
        InvalidRequest: `holds` is in none of the contradictions.
        NotFound: a memory is not in the scope.
        Unauthorized: the key may not write to this scope.
    """
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.INGEST)
        corrections.take_turn(key, tx)
        named = _held(key, tx, refs)
        merges = refusals.between(key.tenant, tx, {one.id for one in named})
        wrong = [one for one in merges if holds is None or one.memory == holds.id]
        if wrong:
            revived, retired = refusing.repair(key, tx, wrong, holds)
            events.append(key.tenant, tx, [*map(visible_again, revived), *map(superseded, retired)])
            return _standing(key, tx, refs)
        open_links = corrections.contradictions(key, tx, {one.id for one in named})
        ends = {end: kind for edge in open_links.values() for end, kind in _ends(edge)}
        corrections.hold(key.tenant, tx, ends)
        if holds is not None and ends.get(holds.id) is not holds.type:
            if any(one.other == holds.id for one in merges) or _settled_for(key, tx, named, holds):
                return _standing(key, tx, refs)
            raise InvalidRequest("what holds is in none of these contradictions", details={"field": "holds"})
        corrections.settle(key.tenant, tx, open_links)
        retired = []
        if holds is not None:
            losers = {end: kind for end, kind in ends.items() if end != holds.id}
            edges = [Edge(LinkType.SUPERSEDES, holds.id, holds.type, end, kind) for end, kind in losers.items()]
            corrections.insert(key, tx, edges, Status.ACTIVE)
            retired = corrections.retire(key.tenant, tx, losers)
        still = {end for edge in corrections.contradictions(key, tx, ends).values() for end, _ in _ends(edge)}
        corrections.set_status(key.tenant, tx, ends.keys() - still, Status.ACTIVE, [Status.DISPUTED])
        consolidation_changes.revive(key.tenant, tx, corrections.stated(key.tenant, tx, ends.keys() - still))
        backlog.leave(key.tenant, tx, {one.id for one in retired})
        events.append(key.tenant, tx, [superseded(one) for one in retired])
        return _standing(key, tx, refs)


def _settled_for(scope: ScopeKey, tx: Transaction, named: Sequence[_Held], holds: MemoryRef) -> bool:
    """Whether this one has superseded all others of these."""
    related = provenance.related(scope, tx, {one.id for one in named}, RELATIONS)
    won = {
        end.id
        for relations in related.values()
        for link, start, end in ((one.type, one.start, one.end) for one in relations)
        if link is LinkType.SUPERSEDES and (start.id, start.type) == (holds.id, holds.type)
    }
    return bool(won) and {one.id for one in named} <= {*won, holds.id}


@dataclass(frozen=True, slots=True)
class _Held:
    id: UUID
    type: MemoryType
    status: Status


def _held(scope: ScopeKey, tx: Transaction, refs: Sequence[MemoryRef | None]) -> list[_Held]:
    """What the refs name, locked, in their order. Raises NotFound."""
    known = corrections.known(scope, tx, {ref.id for ref in refs if ref is not None})
    held = corrections.hold(scope.tenant, tx, known)
    found = []
    for ref in refs:
        if ref is None or ref.id not in held or held[ref.id][0] is not ref.type or not scopes.names(scope, ref.scope):
            raise NotFound("there is no such memory in this scope")
        found.append(_Held(ref.id, *held[ref.id]))
    return found


def _ends(edge: Edge) -> tuple[tuple[UUID, MemoryType], tuple[UUID, MemoryType]]:
    return (edge.start, edge.start_type), (edge.end, edge.end_type)


def _standing(scope: ScopeKey, tx: Transaction, refs: Sequence[MemoryRef | None]) -> list[Standing]:
    known = corrections.known(scope, tx, {ref.id for ref in refs if ref is not None})
    related = provenance.related(scope, tx, known, RELATIONS)
    return [
        Standing(ref, known[ref.id][1], related.get(ref.id, ())) for ref in refs if ref is not None and ref.id in known
    ]


def superseded(memory: Changed) -> events.NewEvent:
    """The event of a memory that was superseded."""
    return _event(EventType.MEMORY_SUPERSEDED, memory)


def visible_again(memory: Changed) -> events.NewEvent:
    """The event of a memory that had given way, and is active again."""
    return _event(EventType.MEMORY_INDEXED, memory)


def _event(kind: EventType, memory: Changed) -> events.NewEvent:
    return events.NewEvent(memory.namespace, kind, memory.id, memory.type, None, memory.agent_id, memory.session_id)
