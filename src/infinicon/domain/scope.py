"""Where memory belongs, and who asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from infinicon.domain.kinds import Json, Permission


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope as callers name it. Names may be personal data: they stay in Postgres and in answers."""

    tenant_id: str
    namespace_id: str
    agent_id: str | None = None
    session_id: str | None = None
    filters: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class ScopeKey:
    """A scope as the store knows it: integers for tenant and namespace. `named` is what answers repeat to the caller.

    A namespace of 0 means that the namespace does not exist yet: reads find nothing in it.
    """

    tenant: int
    namespace: int
    named: Scope

    @property
    def agent_id(self) -> str | None:
        return self.named.agent_id

    @property
    def session_id(self) -> str | None:
        return self.named.session_id


@dataclass(frozen=True, slots=True)
class Caller:
    """Who holds the key: one tenant, some permissions, and all namespaces (None) or some."""

    tenant: int
    tenant_name: str
    key: UUID
    permissions: frozenset[Permission]
    namespaces: frozenset[int] | None = None
