"""export: the episodes of a scope, page by page, as ingest takes them back."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from infinicon import cursors
from infinicon.domain import Caller, Memory, Permission, Scope
from infinicon.errors import InvalidCursor
from infinicon.ids import parse_id
from infinicon.keyring import Keyring
from infinicon.operations import scopes
from infinicon.store import episodes, memories
from infinicon.store.database import Database

PAGE_BYTES = 8 * 1024 * 1024
"""Of content in one page, beyond its first episode: what an answer may cost in memory."""

_KIND = "export"


def export(
    database: Database, keyring: Keyring, caller: Caller, scope: Scope, limit: int, cursor: str | None
) -> tuple[Sequence[Memory], str | None]:
    """Episodes in the order of their ids, which is that of their arrival, and the cursor of the next page.

    An episode that is ingested while somebody pages through may be on a later page; a tombstoned or expired one is on none.

    Raises:
        InvalidCursor: not one of ours, or changed.
        ScopeMismatch: the cursor was given for another scope.
        Unauthorized: the key may not read this scope.
    """
    with database.transaction(caller.tenant) as tx:
        key = scopes.resolve(tx, caller, scope, Permission.HYDRATE)
        bound = (key.tenant, key.namespace, key.agent_id, key.session_id)
        after = None if cursor is None else _id(cursors.unseal(keyring, _KIND, bound, cursor))
        ids, more = episodes.page(key, tx, after, limit, PAGE_BYTES)
        loaded = memories.load(key, tx, ids)
    following = cursors.seal(keyring, _KIND, bound, (str(ids[-1]),)) if more else None
    return [loaded[found] for found in ids if found in loaded], following


def _id(position: cursors.Position) -> UUID:
    found = parse_id(position[0]) if len(position) == 1 and isinstance(position[0], str) else None
    if found is None:
        raise InvalidCursor("the cursor is not valid")
    return found
