"""What went wrong, or should be known, at rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from infinicon.domain.memory import MemoryRef
from infinicon.errors import Detail, InfiniconError


@dataclass(frozen=True, slots=True)
class Fault:
    """A MemoryApiError at rest: in a result, in a job row."""

    code: str
    message: str
    retryable: bool
    details: Mapping[str, Detail] = field(default_factory=dict)

    @classmethod
    def of(cls, error: InfiniconError, **details: Detail) -> Fault:
        """An error put to rest, with more details where there are some."""
        return cls(error.code, error.message, error.retryable, {**error.details, **details})


@dataclass(frozen=True, slots=True)
class ContextWarning:
    """A ContextWarning."""

    code: str
    message: str
    refs: Sequence[MemoryRef] = ()
    metadata: Mapping[str, Detail] = field(default_factory=dict)
