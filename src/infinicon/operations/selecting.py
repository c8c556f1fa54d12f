"""Selecting: what one slice of a consolidation looks at. Memories that nobody has looked at yet, and what they are to be compared with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from infinicon.domain import (
    ConsolidateRequest,
    ConsolidationScope,
    MemoryFilters,
    MemoryType,
    Scope,
    ScopeKey,
    Status,
)
from infinicon.operations.counting import Counters
from infinicon.ports import ConsolidationInput, ModelInfo, SourceMemory
from infinicon.store import backlog, consolidations, selection, spaces
from infinicon.store.consolidations import Material
from infinicon.store.database import Database, Transaction
from infinicon.store.spaces import Vector

NEAREST = 8
"""Of each memory that is new, so many of the nearest are compared with it."""

NEAR = 0.4
"""Cosine similarity from which on a memory is near enough to be compared: unrelated sentences of the built-in model stay below."""

COUNTER = "o200k_base"
"""Counts the token budget of a consolidation."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one slice has: memories looked at anew, and as many again for comparison; tokens of one digest."""

    memories: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Slice:
    """What a plug-in is shown, and what stands behind its keys. `looked_at`: places in the backlog that this slice settles; `after`:
    the last of them, and of those that the filters passed over. `last`: nothing is behind it now."""

    within: ConsolidationScope
    model: int
    memories: Mapping[str, Material]
    fresh: frozenset[UUID]
    looked_at: Sequence[UUID]
    after: UUID
    last: bool
    request: ConsolidationInput


def select(
    database: Database,
    counters: Counters,
    model: ModelInfo,
    tenant: int,
    within: ConsolidationScope,
    spec: Mapping[str, Any],
    after: UUID,
    bounds: Bounds,
) -> Slice:
    """The next slice of a consolidation scope behind `after`. It may have nothing fresh: then `looked_at` was no material any more."""
    with database.transaction(tenant) as tx:
        number = spaces.register_model(tx, model.name, model.revision, model.dimension)
        waiting = backlog.first(tenant, tx, within.id, after, bounds.memories, undone=undone(spec))
        asked = _asked(tenant, tx, within, spec, waiting)
        known = consolidations.described(tenant, tx, within, asked)
        vectors = consolidations.vectors(tenant, tx, number, known)
        fresh = [memory for memory in known if memory in vectors]
        if fresh:
            others = _others(tenant, tx, within, number, fresh, vectors, bounds.memories)
            known |= consolidations.described(tenant, tx, within, others)
            vectors |= consolidations.vectors(tenant, tx, number, others)
        shown = [known[memory] for memory in sorted(known) if memory in vectors]
        of = consolidations.sources(tenant, tx, [one.id for one in shown if one.type is MemoryType.CONSOLIDATION])
    keys = {one.id: f"m{place}" for place, one in enumerate(shown)}
    return Slice(
        within=within,
        model=number,
        memories={keys[one.id]: one for one in shown},
        fresh=frozenset(fresh),
        looked_at=asked,
        after=waiting[-1] if waiting else after,
        last=len(waiting) < bounds.memories,
        request=ConsolidationInput(
            memories=[_shown(one, keys, of.get(one.id, ()), one.id in set(fresh)) for one in shown],
            vectors=_matrix([vectors[one.id] for one in shown], model.dimension),
            token_budget=bounds.tokens,
            count=lambda text: counters.count(COUNTER, text),
        ),
    )


def spec_of(request: ConsolidateRequest) -> dict[str, Any]:
    """What a request means of the backlog, as JSON. Names and filters are a caller's, and stay in Postgres."""
    scope, filters = request.scope, request.filters
    narrow: dict[str, Any] = {"undone": request.trigger.value == "manual"}
    if scope.agent_id is not None or scope.session_id is not None or scope.filters is not None:
        filters_of_scope = None if scope.filters is None else dict(scope.filters)
        narrow["scope"] = {"agent": scope.agent_id, "session": scope.session_id, "filters": filters_of_scope}
    if filters != MemoryFilters():
        narrow["filters"] = {
            "types": None if filters.types is None else sorted(filters.types),
            "statuses": sorted(filters.statuses),
            "createdAfter": None if filters.created_after is None else filters.created_after.isoformat(),
            "createdBefore": None if filters.created_before is None else filters.created_before.isoformat(),
            "metadata": None if filters.metadata is None else dict(filters.metadata),
            "tags": sorted(filters.tags),
        }
    return narrow


def undone(spec: Mapping[str, Any]) -> bool:
    """Whether what a person took back is looked at again: only where a person asks."""
    return bool(spec.get("undone"))


def _asked(
    tenant: int, tx: Transaction, within: ConsolidationScope, spec: Mapping[str, Any], waiting: Sequence[UUID]
) -> list[UUID]:
    """Those of the waiting memories that the request means."""
    scope, filters = spec.get("scope"), spec.get("filters")
    if scope is None and filters is None:
        return list(waiting)
    named = Scope("", "") if scope is None else Scope("", "", scope["agent"], scope["session"], scope["filters"])
    statuses = frozenset({Status.ACTIVE, Status.DISPUTED})
    wanted = MemoryFilters(statuses=statuses) if filters is None else _filters(filters)
    found = selection.listed(ScopeKey(tenant, within.namespace, named), tx, waiting, wanted)
    return [memory for memory in waiting if memory in found]


def _filters(stored: Mapping[str, Any]) -> MemoryFilters:
    def moment(name: str) -> datetime | None:
        return None if stored[name] is None else datetime.fromisoformat(stored[name])

    return MemoryFilters(
        types=None if stored["types"] is None else frozenset(map(MemoryType, stored["types"])),
        statuses=frozenset(map(Status, stored["statuses"])),
        created_after=moment("createdAfter"),
        created_before=moment("createdBefore"),
        metadata=stored["metadata"],
        tags=frozenset(stored["tags"]),
    )


def _others(
    tenant: int,
    tx: Transaction,
    within: ConsolidationScope,
    model: int,
    fresh: Sequence[UUID],
    vectors: Mapping[UUID, Vector],
    most: int,
) -> set[UUID]:
    """What the fresh ones are to be compared with: the nearest of the scope, consolidations that are made of either, and what these
    and the near ones are made of."""
    probes = np.stack([vectors[memory] for memory in fresh]).astype(np.float32)
    best = Nearest(probes, NEAREST, set(fresh))
    for memories, rows in consolidations.scan(tenant, tx, within, model):
        best.offer(memories, rows)
    near = best.found(most)
    made = consolidations.made_of(tenant, tx, [*fresh, *near], most)
    parts = consolidations.sources(tenant, tx, [*near, *made])
    material = {part for of in parts.values() for part in of}
    others = set(near) | set(made)
    for part in sorted(material - others - set(fresh))[:most]:
        others.add(part)
    return others - set(fresh)


class Nearest:
    """Of rows that come block by block, the nearest to each of some unit vectors. Memory is bounded by one block."""

    def __init__(self, probes: NDArray[np.float32], each: int, without: Collection[UUID]) -> None:
        self._probes = probes
        self._each = each
        self._without = without
        self._best: list[dict[UUID, float]] = [{} for _ in probes]

    def offer(self, memories: Sequence[UUID], rows: NDArray[np.float32]) -> None:
        """Compare a block with all of them. A memory with several rows counts by its nearest."""
        kept = [place for place, memory in enumerate(memories) if memory not in self._without]
        if not kept:
            return
        similar = self._probes @ rows[kept].T
        each = min(2 * self._each, len(kept))  # several rows may be of one memory
        top = np.argpartition(-similar, each - 1, axis=1)[:, :each]
        for own, places, values in zip(self._best, top, np.take_along_axis(similar, top, axis=1), strict=True):
            for place, value in zip(places, values, strict=True):
                memory = memories[kept[place]]
                own[memory] = max(own.get(memory, -1.0), float(value))
            if len(own) > self._each:
                for memory in sorted(own, key=lambda one: (-own[one], one))[self._each :]:
                    del own[memory]

    def found(self, most: int) -> list[UUID]:
        """What is near any of them, the nearest first."""
        best: dict[UUID, float] = {}
        for own in self._best:
            for memory, value in own.items():
                if value >= NEAR:
                    best[memory] = max(best.get(memory, -1.0), value)
        return sorted(best, key=lambda memory: (-best[memory], memory))[:most]


def _shown(one: Material, keys: Mapping[UUID, str], of: Sequence[UUID], fresh: bool) -> SourceMemory:
    return SourceMemory(
        key=keys[one.id],
        type=one.type,
        content=one.content,
        created_at=one.created_at,
        occurred_at=one.occurred_at,
        speaker=one.speaker,
        session_id=one.session_id,
        title=one.title,
        tags=tuple(one.tags),
        sources=tuple(keys[source] for source in of if source in keys),
        disputed=one.status is Status.DISPUTED,
        fresh=fresh,
    )


def _matrix(vectors: Sequence[Vector], dimension: int) -> NDArray[np.float16]:
    if not vectors:
        return np.zeros((0, dimension), dtype=np.float16)
    return np.stack(vectors).astype(np.float16)
