"""What may be among the memories that a question finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from infinicon.domain.kinds import Json, MemoryType, Status

SEARCHABLE = frozenset({Status.ACTIVE, Status.DISPUTED, Status.SUPERSEDED})
"""The states that a search can be asked for; whatever else it is asked for, it finds nothing in others."""


@dataclass(frozen=True, slots=True)
class MemoryFilters:
    """Each part narrows, and all of them hold at once; None and empty ask nothing.

    `statuses` are all that may be shown, SEARCHABLE ones. Both bounds of `created_*` are exclusive. `metadata` is matched by JSON
    containment, `tags` are all there; both may be those of any one living source of a derived memory, as well as its own.
    `stale` is no filter of a caller's: assembleContext sets it where stale memories may appear.
    """

    types: frozenset[MemoryType] | None = None
    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    created_after: datetime | None = None
    created_before: datetime | None = None
    metadata: Mapping[str, Json] | None = None
    tags: frozenset[str] = frozenset()
    stale: bool = False

    @property
    def narrow(self) -> bool:
        """Whether anything is asked for but a state."""
        asked = (self.types, self.created_after, self.created_before, self.metadata)
        return bool(self.tags) or any(part is not None for part in asked)
