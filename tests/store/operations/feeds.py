"""A feed that tests write by hand and read as a caller would."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

from infinicon.domain import (
    MEMORY_EVENTS,
    Caller,
    EventPage,
    EventType,
    MemoryType,
    Permission,
    Scope,
    ScopeKey,
    SubscribeRequest,
)
from infinicon.keyring import Keyring
from infinicon.operations.events import subscribe
from infinicon.store import events
from infinicon.store.database import Database
from infinicon.store.events import NewEvent

RING = Keyring("k" * 32)
EVERYTHING = frozenset(Permission)


class Feed:
    """One namespace's feed, written by hand and read as a caller would."""

    def __init__(self, app: Database, scope: ScopeKey) -> None:
        self.app = app
        self.key = scope
        self.scope = scope.named
        self.caller = Caller(scope.tenant, scope.named.tenant_id, uuid4(), EVERYTHING)

    def write(
        self, number: int = 1, kind: EventType = EventType.EPISODE_INGESTED, agent: str | None = None
    ) -> list[UUID]:
        ids = [uuid4() for _ in range(number)]
        new = [NewEvent(self.key.namespace, kind, one, MemoryType.EPISODE, agent_id=agent) for one in ids]
        with self.app.transaction(self.key.tenant) as tx:
            events.append(self.key.tenant, tx, new)
        return ids

    def page(
        self,
        cursor: str | None = None,
        limit: int = 100,
        types: Sequence[EventType] = MEMORY_EVENTS,
        scope: Scope | None = None,
    ) -> EventPage:
        return subscribe(self.app, RING, self.caller, SubscribeRequest(scope or self.scope, types, cursor, limit))

    def follow(self, cursor: str | None = None, limit: int = 100) -> list[UUID | None]:
        """All that is there after the cursor, page after page."""
        found: list[UUID | None] = []
        while True:
            page = self.page(cursor, limit)
            found += ids_of(page)
            if not page.more:
                return found
            assert page.next_cursor != cursor, "there is more, and no way to it"
            cursor = page.next_cursor


def ids_of(page: EventPage) -> list[UUID | None]:
    return [None if event.ref is None else event.ref.id for event in page.events]
