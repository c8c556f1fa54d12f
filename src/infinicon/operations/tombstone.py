"""tombstone: memories go, at once and for good, and what was derived from them as the request says.

Cascades follow provenance to any depth; a memory is looked at once, so cycles and diamonds end.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from infinicon.domain import (
    Caller,
    Cascade,
    EventType,
    Fault,
    Lane,
    MemoryRef,
    MemoryType,
    Permission,
    Scope,
    ScopeKey,
    Status,
    TombstoneReply,
    TombstoneRequest,
    TombstoneResult,
    TombstoneStatus,
)
from infinicon.errors import InvalidRequest
from infinicon.ids import new_id
from infinicon.keyring import Keyring
from infinicon.operations import redaction, scopes
from infinicon.operations.corrections import visible_again
from infinicon.store import backlog, consolidation_changes, corrections, events, jobs, policies, spaces, tombstones
from infinicon.store.corrections import Changed
from infinicon.store.database import Database, Transaction, retry_conflicts
from infinicon.store.tombstones import Held, Mark

AT_ONCE = 2_000
"""So many memories lose content and index rows within the request. Beyond it they are hidden within it, and emptied by a job."""

SLICE = 500
PURGE_SECONDS = 20.0
"""Then another task goes on: no worker's thread is held for long."""


@dataclass(slots=True)
class Reached:
    """What a cascade found: locked rows by id, who is derived from whom, who goes, and what comes back because its successor goes."""

    held: dict[UUID, Held] = field(default_factory=dict)
    sources: dict[UUID, set[UUID]] = field(default_factory=dict)
    going: set[UUID] = field(default_factory=set)
    stale: set[UUID] = field(default_factory=set)
    revived: list[Changed] = field(default_factory=list)


@retry_conflicts
def tombstone(database: Database, keyring: Keyring, caller: Caller, request: TombstoneRequest) -> TombstoneReply:
    """Tombstone memories of a scope. One transaction: from its commit on no read returns them, and nothing late brings them back.

    Raises:
        Unauthorized: the key may not delete in this scope.
    """
    with database.transaction(caller.tenant) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.TOMBSTONE)
        wanted = {ref.id for ref in request.refs if ref is not None and ref.type is not MemoryType.LINK}
        held = tombstones.hold(scope, tx, tombstones.find(scope, tx, wanted), queued=True)
        named = [_named(request.scope, ref, held) for ref in request.refs]
        roots = {memory.id for memory in named if memory is not None}
        reason = redaction.in_scope(scope, tx, keyring).text(request.reason)
        mark = Mark(reason, request.cascade, caller.key, policies.audit_seconds(scope, tx))
        reached = reach(scope, tx, {root: held[root] for root in roots}, request.cascade)
        job = take_away(scope, tx, reached, roots, mark)
    return TombstoneReply(_results(request, named, reached), job)


def _named(scope: Scope, ref: MemoryRef | None, held: Mapping[UUID, Held]) -> Held | None:
    """The memory that a ref means: what it says of type and scope must be true, and it may say less than there is."""
    found = None if ref is None else held.get(ref.id)
    if ref is None or found is None or found.type is not ref.type:
        return None
    own = Scope(scope.tenant_id, scope.namespace_id, found.agent_id, found.session_id)
    return found if scopes.agrees(ref.scope, own) else None


def reach(scope: ScopeKey, tx: Transaction, roots: Mapping[UUID, Held], cascade: Cascade) -> Reached:
    """Lock what the cascade reaches from these, and decide what goes."""
    reached = Reached(held=dict(roots))
    reached.going = {root for root, memory in roots.items() if memory.status is not Status.TOMBSTONED}
    frontier = set(roots)
    while frontier and cascade is not Cascade.NONE:
        edges = tombstones.derived(scope, tx, frontier)
        for found, source in edges:
            reached.sources.setdefault(found, set()).add(source)
        # A memory that was reached before and stays may lose its last source only now.
        again = {found for found, _ in edges if found not in reached.going and found not in roots}
        new = tombstones.hold(scope, tx, again - reached.held.keys(), queued=False)
        reached.held |= new
        living = {
            found for found in again if found in reached.held and reached.held[found].status is not Status.TOMBSTONED
        }
        if cascade is Cascade.MARK_DERIVED_STALE:
            frontier = living - reached.stale
            reached.stale |= frontier
        else:
            frontier = _losing_ground(scope, tx, reached, living)
            reached.going |= frontier
    return reached


def _losing_ground(scope: ScopeKey, tx: Transaction, reached: Reached, derived: Collection[UUID]) -> set[UUID]:
    """A consolidation goes with any of its sources; an atom when nobody who stays says the same."""
    atoms = {found for found in derived if reached.held[found].type is MemoryType.ATOM}
    told = tombstones.told_elsewhere(scope, tx, atoms, reached.going) if atoms else set()
    return set(derived) - told


def take_away(
    scope: ScopeKey,
    tx: Transaction,
    reached: Reached,
    roots: Collection[UUID],
    mark: Mark,
    reviving: Collection[UUID] = (),
    *,
    undone: bool = False,
) -> UUID | None:
    """Apply what `reach` decided; the job that empties what is too much for one transaction. Last but for the commit.

    What had given way to what goes comes back, and so do those of `reviving` that have no successor left. What consolidations were made
    of that go waits for another one; with `undone` it waits until a person asks.
    """
    job = new_id() if len(reached.going) > AT_ONCE else None
    tombstones.mark_stale(scope.tenant, tx, reached.stale)
    if not reached.going and not reviving:
        _regenerate(scope, tx, reached, undone=undone)
        return None
    left = tombstones.hide(scope.tenant, tx, reached.going, roots, mark, job)
    removed: dict[int, tuple[int, int]] = {}
    if job is None:
        removed = tombstones.purge(scope.tenant, tx, reached.going)
    else:
        jobs.insert(scope, tx, job, jobs.TOMBSTONE, Lane.BULK, None, len(reached.going))
    gave_way = consolidation_changes.gave_way(scope.tenant, tx, reached.going) | set(reviving)
    gave_way |= corrections.answered(scope.tenant, tx, reached.going)
    reached.revived = consolidation_changes.revive(scope.tenant, tx, gave_way - reached.going)
    again = corrections.stated(scope.tenant, tx, {one.id for one in reached.revived})
    reached.revived += consolidation_changes.revive(scope.tenant, tx, again)
    jobs.count(scope.tenant, tx, left, {}, {})
    backlog.leave(scope.tenant, tx, reached.going)
    _regenerate(scope, tx, reached, undone=undone)
    # Also where nothing leaves the index: the counter's row is locked before that of another namespace could be.
    spaces.add_to_counters(scope.tenant, tx, {scope.namespace: (0, 0)} | removed)
    gone = [_event(scope, reached.held[memory], job) for memory in sorted(reached.going)]
    events.append(scope.tenant, tx, gone + [visible_again(one) for one in reached.revived])
    return job


def _regenerate(scope: ScopeKey, tx: Transaction, reached: Reached, *, undone: bool) -> None:
    """What consolidations were made of that are gone now, or stale, waits for another one; so does what had given way to what is gone."""
    left = reached.going | reached.stale
    made = {memory for memory in left if reached.held[memory].type is MemoryType.CONSOLIDATION}
    again = backlog.material(scope.tenant, tx, made) | {one.id for one in reached.revived}
    backlog.add(scope.tenant, tx, again, undone=undone)


def _event(scope: ScopeKey, memory: Held, job: UUID | None) -> events.NewEvent:
    return events.NewEvent(
        scope.namespace,
        EventType.MEMORY_TOMBSTONED,
        memory.id,
        memory.type,
        job,
        memory.agent_id,
        memory.session_id,
    )


def purge(database: Database, tenant: int, job: UUID) -> int:
    """Empty what the job's request has hidden, for at most `PURGE_SECONDS`; how many memories that were."""
    began, emptied = time.monotonic(), 0
    while time.monotonic() - began < PURGE_SECONDS:
        number = _purge_slice(database, tenant, job)
        emptied += number
        if not number:
            break
    return emptied


@retry_conflicts
def _purge_slice(database: Database, tenant: int, job: UUID) -> int:
    """0: nothing is left, or others have it in hand."""
    with database.transaction(tenant) as tx:
        ids = tombstones.purgeable(tenant, tx, job, SLICE)
        if ids:
            removed = tombstones.purge(tenant, tx, ids)
            jobs.count(tenant, tx, {job: len(ids)}, {}, {})
            spaces.add_to_counters(tenant, tx, removed)
    return len(ids)


def _results(request: TombstoneRequest, named: list[Held | None], reached: Reached) -> list[TombstoneResult]:
    affected = reached.stale if request.cascade is Cascade.MARK_DERIVED_STALE else reached.going
    children = _children(reached.sources)
    results = []
    for ref, memory in zip(request.refs, named, strict=True):
        if memory is None:
            results.append(_absent(ref))
            continue
        gone = memory.status is Status.TOMBSTONED
        status = TombstoneStatus.ALREADY_TOMBSTONED if gone else TombstoneStatus.TOMBSTONED
        below = sorted(_below(memory.id, children) & affected)
        results.append(TombstoneResult(status, [_ref(request.scope, reached.held[found]) for found in below]))
    return results


def _absent(ref: MemoryRef | None) -> TombstoneResult:
    if ref is not None and ref.type is MemoryType.LINK:
        refusal = InvalidRequest("a link is not deleted: tombstone what it joins", details={"field": "refs"})
        return TombstoneResult(TombstoneStatus.REJECTED, error=Fault.of(refusal))
    return TombstoneResult(TombstoneStatus.NOT_FOUND)


def _children(sources: Mapping[UUID, Collection[UUID]]) -> dict[UUID, set[UUID]]:
    children: dict[UUID, set[UUID]] = {}
    for found, origins in sources.items():
        for origin in origins:
            children.setdefault(origin, set()).add(found)
    return children


def _below(root: UUID, children: Mapping[UUID, Collection[UUID]]) -> set[UUID]:
    """All that the cascade reached from this memory, itself not."""
    seen: set[UUID] = set()
    frontier = {root}
    while frontier:
        frontier = {child for parent in frontier for child in children.get(parent, ())} - seen
        seen |= frontier
    return seen - {root}


def _ref(scope: Scope, memory: Held) -> MemoryRef:
    own = Scope(scope.tenant_id, scope.namespace_id, memory.agent_id, memory.session_id)
    return MemoryRef(memory.id, memory.type, own)
