"""Questions and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from infinicon.domain.fault import ContextWarning
from infinicon.domain.filters import MemoryFilters
from infinicon.domain.memory import Memory, MemoryRef
from infinicon.domain.scope import Scope

QUERY_DEPTH = 10_000
"""So many refs of one query can be paged through."""

QUERY_SECONDS = 900
"""So long a cursor of query is good, from the first page on."""


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A question, or with `cursor` the next page of its answer: then query and filters are those of the first page."""

    scope: Scope
    query: str
    limit: int = 10
    filters: MemoryFilters = field(default_factory=MemoryFilters)
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked ref. `score` compares within one answer only.

    `sources` are the episodes an atom comes from, newest first, at most 8.
    """

    ref: MemoryRef
    score: float
    reason: str
    sources: Sequence[MemoryRef] = ()
    warnings: Sequence[ContextWarning] = ()


@dataclass(frozen=True, slots=True)
class QueryReply:
    """One page. `cursor` of the next one, where there is one."""

    hits: Sequence[Hit]
    warnings: Sequence[ContextWarning] = ()
    cursor: str | None = None


CHAIN_STEPS = 1_000
"""So many steps of one memory's provenance chain are shown, the nearest."""


RELATIONS = 100
"""So many links by which a memory is superseded, corrected, contradicted or repeated are shown, the newest."""


@dataclass(frozen=True, slots=True)
class HydrateRequest:
    """`include_provenance` adds the chain back to episodes, and relations. `include_tombstoned` is for those who may audit."""

    scope: Scope
    refs: Sequence[MemoryRef]
    include_provenance: bool = False
    include_tombstoned: bool = False


@dataclass(frozen=True, slots=True)
class HydrateReply:
    """Objects in the order of the request's refs, each once; every other ref is in `missing`, as it was sent."""

    objects: Sequence[Memory]
    missing: Sequence[MemoryRef]
