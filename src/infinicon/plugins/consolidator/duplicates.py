"""Memories that say the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from infinicon.domain import MemoryType
from infinicon.ports import Duplicate, SourceMemory


def duplicates(memories: Sequence[SourceMemory]) -> list[Duplicate]:
    """Of atoms of one speaker with the same words the earliest is kept."""
    groups: dict[tuple[str | None, str], list[SourceMemory]] = {}
    for memory in memories:
        said = " ".join(memory.content.split()).casefold()
        if said and memory.type is MemoryType.ATOM and not memory.disputed:
            groups.setdefault((memory.speaker, said), []).append(memory)
    found = []
    for group in groups.values():
        kept, *others = sorted(group, key=lambda memory: (_utc(memory.occurred_at or memory.created_at), memory.key))
        found += [Duplicate(kept.key, other.key) for other in others if other.fresh or kept.fresh]
    return sorted(found, key=lambda one: (one.kept, one.folded))


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
