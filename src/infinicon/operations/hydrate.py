"""hydrate: refs become whole objects; what cannot be shown is reported, never silently gone."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from infinicon.domain import (
    CHAIN_STEPS,
    RELATIONS,
    Caller,
    HydrateReply,
    HydrateRequest,
    Memory,
    MemoryRef,
    MemoryType,
    Permission,
    ScopeKey,
    Step,
)
from infinicon.errors import Unauthorized
from infinicon.operations import scopes
from infinicon.store import memories, provenance
from infinicon.store.database import Database, Transaction

STEPS_AT_ONCE = 20_000
"""Steps of all chains of one request, each counted once."""


def hydrate(database: Database, caller: Caller, request: HydrateRequest) -> HydrateReply:
    """Load objects of the request's scope, each once and in the order of the refs.

    A ref that is foreign, unknown, gone, of another type, or whose scope is not the request's, is missing: all alike. Deleted memories
    are missing, too, unless they are asked for by who may see what is kept of them for an audit.

    Raises:
        Unauthorized: the key may not read this scope, or may not audit.
    """
    scopes.allow(caller, request.scope, Permission.HYDRATE)
    # Whoever administers keys does not have this permission for that, and cannot give it away without it.
    if request.include_tombstoned and Permission.AUDIT not in caller.permissions:
        raise Unauthorized(f"this key lacks the permission {Permission.AUDIT.value}", authenticated=True)
    with database.transaction(caller.tenant) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.HYDRATE)
        loaded = _load(scope, tx, request)
        objects: dict[UUID, Memory] = {}
        missing: list[MemoryRef] = []
        for ref in request.refs:
            memory = loaded.get(ref.id)
            if memory is None or memory.type is not ref.type or not scopes.agrees(ref.scope, memory.scope):
                missing.append(ref)
            else:
                objects.setdefault(ref.id, memory)
        shown = _with_predecessors(scope, tx, list(objects.values()))
        return HydrateReply(_with_chains(scope, tx, shown) if request.include_provenance else shown, missing)


def _load(scope: ScopeKey, tx: Transaction, request: HydrateRequest) -> dict[UUID, Memory]:
    links = {ref.id for ref in request.refs if ref.type is MemoryType.LINK}
    wanted = {ref.id for ref in request.refs if ref.type is not MemoryType.LINK}
    loaded = memories.load(scope, tx, wanted)
    if request.include_tombstoned:
        loaded |= memories.load_tombstoned(scope, tx, wanted - loaded.keys())
    # The id of a link says nothing of a memory, whatever type a second ref gives it.
    return memories.load_links(scope, tx, links) | loaded


def _with_predecessors(scope: ScopeKey, tx: Transaction, objects: Sequence[Memory]) -> list[Memory]:
    """A consolidation names those whose place it took."""
    made = [memory.id for memory in objects if memory.type is MemoryType.CONSOLIDATION]
    old = provenance.superseded(scope, tx, made, RELATIONS)
    return [replace(memory, supersedes=old[memory.id]) if memory.id in old else memory for memory in objects]


def _with_chains(scope: ScopeKey, tx: Transaction, objects: Sequence[Memory]) -> list[Memory]:
    derived = [memory.id for memory in objects if memory.provenance is not None]
    steps = provenance.steps(scope, tx, derived, STEPS_AT_ONCE + 1)
    cut = sum(map(len, steps.values())) > STEPS_AT_ONCE
    related = provenance.related(scope, tx, [memory.id for memory in objects], RELATIONS)
    return [replace(_with_chain(memory, steps, cut=cut), related=related.get(memory.id, ())) for memory in objects]


def _with_chain(memory: Memory, steps: Mapping[UUID, Sequence[Step]], *, cut: bool) -> Memory:
    """The memory with its chain: breadth first, so that what is near comes first and a cycle ends where it began."""
    if memory.provenance is None:
        return memory
    chain: list[Step] = []
    seen, waiting = {memory.id}, deque([memory.id])
    while waiting and len(chain) <= CHAIN_STEPS:
        for step in steps.get(waiting.popleft(), ()):
            chain.append(step)
            source = step.source.ref.id
            if source not in seen:
                seen.add(source)
                waiting.append(source)
    cut = cut or len(chain) > CHAIN_STEPS
    whole = replace(memory.provenance, chain=chain[:CHAIN_STEPS], truncated=memory.provenance.truncated or cut)
    return replace(memory, provenance=whole)
