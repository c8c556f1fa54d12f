"""subscribe: what happened in a scope, in commit order, from a cursor on. Events carry ids, never content."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from infinicon.cursors import sealer, unseal
from infinicon.domain import (
    Caller,
    EventPage,
    MemoryEvent,
    MemoryRef,
    Permission,
    Scope,
    ScopeKey,
    SubscribeRequest,
)
from infinicon.errors import InvalidCursor
from infinicon.keyring import Keyring
from infinicon.operations import scopes
from infinicon.store import events
from infinicon.store.database import Database, Transaction, retry_conflicts
from infinicon.store.events import Feed, StoredEvent

KIND = "events"

WIDTH = 10_000
WINDOWS = 10
"""A page looks at so many windows of so many positions: a request for what is rare must not hold a connection while it reads a long
feed. Its cursor moves on all the same."""

FEEDS = 100
FORGOTTEN_AT_ONCE = 10_000
FORGETTING_ROUNDS = 100
"""What one run forgets is bounded: the next one goes on."""

Found: TypeAlias = "tuple[Sequence[StoredEvent], int, bool]"


def subscribe(database: Database, keyring: Keyring, caller: Caller, request: SubscribeRequest) -> EventPage:
    """Events of the scope after the cursor, or from the oldest that is kept.

    Order is that of commits, without a gap: `strong` and `eventual` are the same.

    Raises:
        Unauthorized: the key may not subscribe to this scope.
        InvalidCursor: not one of ours, before what is kept, or behind the last event.
        ScopeMismatch: the cursor is of another scope.
    """
    with database.transaction(caller.tenant) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.SUBSCRIBE)
        after = None if request.cursor is None else _position(keyring, scope, request.cursor)
        found, position, more = _scan(scope, tx, request, after)
    sealed = sealer(keyring, KIND, _bound(scope))
    shown = [_event(scope, event, sealed([event.seq])) for event in found]
    return EventPage(shown, sealed([position]), position, more)


def _scan(scope: ScopeKey, tx: Transaction, request: SubscribeRequest, after: int | None) -> Found:
    """Window after window, until the page is full, the feed ends, or enough was looked at."""
    found: list[StoredEvent] = []
    for number in range(WINDOWS):
        seen = events.window(scope, tx, request.types, after, WIDTH, request.limit - len(found))
        if after is not None and after < seen.floor:
            if number:  # forgotten under our eyes: the next page says so
                return found, after, True
            raise InvalidCursor("the events after this cursor are not kept any more", details={"field": "cursor"})
        if after is not None and after > seen.head:
            raise InvalidCursor("the cursor stands behind the last event", details={"field": "cursor"})
        found += seen.events
        after = seen.end
        if len(found) == request.limit or after == seen.head:
            return found, after, after < seen.head
    assert after is not None
    return found, after, True


def _bound(scope: ScopeKey) -> list[str | int | None]:
    """What a cursor is bound to. The name of the namespace, which is there before the namespace is."""
    return [scope.tenant, scope.named.namespace_id, scope.agent_id, scope.session_id]


def _position(keyring: Keyring, scope: ScopeKey, cursor: str) -> int:
    (position,) = unseal(keyring, KIND, _bound(scope), cursor)
    assert isinstance(position, int)
    return position


def _event(scope: ScopeKey, event: StoredEvent, cursor: str) -> MemoryEvent:
    own = Scope(scope.named.tenant_id, scope.named.namespace_id, event.agent_id, event.session_id)
    ref = None
    if event.memory is not None and event.memory_type is not None:
        ref = MemoryRef(event.memory, event.memory_type, own)
    return MemoryEvent(event.type, own, cursor, event.occurred_at, ref, event.job)


def heads(database: Database, tenant: int, namespaces: Collection[str]) -> dict[str, int]:
    """The position of the last event in each of these namespaces, as far as they exist."""
    with database.transaction(tenant) as tx:
        return events.heads(tenant, tx, namespaces)


def expire(sweeper: Database, seconds: float) -> int:
    """Forget events that are older than `seconds`; how many went. A part of each feed at a time, in a transaction of its own."""
    gone = 0
    for _ in range(FORGETTING_ROUNDS):
        with sweeper.transaction(None) as tx:
            feeds = events.expired(tx, seconds, FEEDS)
        if not feeds:
            break
        gone += sum(_forget(sweeper, feed) for feed in feeds)
    return gone


@retry_conflicts
def _forget(sweeper: Database, feed: Feed) -> int:
    with sweeper.transaction(None) as tx:
        return events.forget(tx, feed, FORGOTTEN_AT_ONCE)
