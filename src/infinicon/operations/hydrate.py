"""hydrate: refs become whole objects; what cannot be shown is reported, never silently gone."""

from __future__ import annotations

from infinicon.domain import Caller, HydrateReply, HydrateRequest, Memory, MemoryRef, Permission
from infinicon.operations import scopes
from infinicon.store import memories
from infinicon.store.database import Database


def hydrate(database: Database, caller: Caller, request: HydrateRequest) -> HydrateReply:
    """Load objects of the request's scope, each once and in the order of the refs.

    A ref that is foreign, unknown, gone, of another type, or whose scope is not the request's, is missing: all alike.

    Raises:
        Unauthorized: the key may not read this scope.
    """
    with database.transaction(caller.tenant) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.HYDRATE)
        loaded = memories.load(scope, tx, {ref.id for ref in request.refs})
    objects: list[Memory] = []
    missing: list[MemoryRef] = []
    shown = set()
    for ref in request.refs:
        memory = loaded.get(ref.id)
        if memory is None or memory.type is not ref.type or not scopes.agrees(ref.scope, memory.scope):
            missing.append(ref)
        elif ref.id not in shown:
            shown.add(ref.id)
            objects.append(memory)
    return HydrateReply(objects, missing)
