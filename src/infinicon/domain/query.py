"""Questions and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infinicon.domain.fault import ContextWarning
from infinicon.domain.memory import Memory, MemoryRef
from infinicon.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class QueryRequest:
    scope: Scope
    query: str
    limit: int = 10


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
    hits: Sequence[Hit]
    warnings: Sequence[ContextWarning] = ()


@dataclass(frozen=True, slots=True)
class HydrateRequest:
    scope: Scope
    refs: Sequence[MemoryRef]
    include_provenance: bool = False


@dataclass(frozen=True, slots=True)
class HydrateReply:
    """Objects in the order of the request's refs, each once; every other ref is in `missing`, as it was sent."""

    objects: Sequence[Memory]
    missing: Sequence[MemoryRef]
