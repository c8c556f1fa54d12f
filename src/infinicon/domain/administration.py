"""What people who look after Infinicon see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from infinicon.domain.kinds import Permission


@dataclass(frozen=True, slots=True)
class Key:
    """An API key as its tenant may know it. The key itself is shown once, when it is made. `namespaces` None: all of them."""

    id: UUID
    label: str | None
    permissions: frozenset[Permission]
    namespaces: Sequence[str] | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """What a key shall be allowed to do. `namespaces` None: all of them."""

    permissions: frozenset[Permission]
    namespaces: Sequence[str] | None = None
    label: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that is redacted, as anybody may know it: by its id."""

    id: UUID
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Namespace:
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a namespace: memories by type and status, episodes on their way by state, jobs by status."""

    memories: Mapping[str, Mapping[str, int]]
    pipeline: Mapping[str, int]
    jobs: Mapping[str, int]
    index_rows: int
    events: int
