"""Working contexts: what an agent reads before it acts, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from infinicon.domain.fault import ContextWarning
from infinicon.domain.filters import MemoryFilters
from infinicon.domain.memory import MemoryRef, Provenance
from infinicon.domain.scope import Scope

DEFAULT_TOKENIZER = "o200k_base"

MOST_SEGMENTS = 1_000
"""A context has no more, whatever its budget."""


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """How many tokens a text has, for each counter whose counts are stored; None where that one could not count.

    `host` is the count of the counter named `host_counter`, where the host has one of its own.
    """

    o200k_base: int | None = None
    cl100k_base: int | None = None
    chars: int | None = None
    host: int | None = None
    host_counter: str | None = None

    def of(self, counter: str) -> int | None:
        """None for a counter whose counts are not stored, too."""
        counts = {"o200k_base": self.o200k_base, "cl100k_base": self.cl100k_base, "chars": self.chars}
        return counts.get(counter, self.host if counter == self.host_counter else None)


@dataclass(frozen=True, slots=True)
class ContextBudget:
    """Tokens of the named counter, over rendered units. `reserved_tokens` of `max_tokens` are the caller's own."""

    max_tokens: int
    max_segments: int | None = None
    reserved_tokens: int = 0
    tokenizer: str = DEFAULT_TOKENIZER


@dataclass(frozen=True, slots=True)
class ContextConstraints:
    """What must be in a context, what must not, and what may be."""

    must_include: Sequence[MemoryRef] = ()
    excluded: Sequence[MemoryRef] = ()
    include_disputed: bool = False
    include_superseded: bool = False
    allow_stale: bool = False
    prefer_recency: bool = False
    prefer_high_confidence: bool = False
    max_segments: int | None = None


@dataclass(frozen=True, slots=True)
class AssembleRequest:
    scope: Scope
    task: str
    budget: ContextBudget
    filters: MemoryFilters = field(default_factory=MemoryFilters)
    constraints: ContextConstraints = field(default_factory=ContextConstraints)


@dataclass(frozen=True, slots=True)
class ContextSegment:
    """One memory of a context, whole. `unit` is how it is rendered, `tokens` what that costs."""

    ref: MemoryRef
    content: str
    who: str | None
    when: datetime
    score: float
    reason: str
    provenance: Provenance
    tokens: int
    unit: str


@dataclass(frozen=True, slots=True)
class WorkingContext:
    """A context, oldest segment first. `token_estimate` is the sum of the segments' tokens, and what the units count together."""

    scope: Scope
    task: str
    budget: ContextBudget
    segments: Sequence[ContextSegment]
    token_estimate: int
    truncated: bool
    warnings: Sequence[ContextWarning]
    generated_at: datetime

    @property
    def text(self) -> str:
        """The context as it goes into a prompt."""
        return "".join(segment.unit for segment in self.segments)
