"""Which namespaces there are, and what is in one of them: for people who look after it."""

from __future__ import annotations

from collections.abc import Sequence

from infinicon import cursors
from infinicon.domain import Caller, Namespace, Permission, Scope, Stats
from infinicon.errors import InvalidCursor
from infinicon.keyring import Keyring
from infinicon.operations import scopes
from infinicon.store import stats, tenancy
from infinicon.store.database import Database

_KIND = "namespaces"


def list_namespaces(
    database: Database, keyring: Keyring, caller: Caller, tenant_id: str, limit: int, cursor: str | None
) -> tuple[Sequence[Namespace], str | None]:
    """A page of the namespaces that the key may use, by name, and the cursor of the next one.

    Raises:
        InvalidCursor: not one of ours, or changed.
        ScopeMismatch: another tenant's cursor.
        Unauthorized: the key belongs to another tenant.
    """
    scopes.allow_tenant(caller, tenant_id, None)
    bound = (caller.tenant,)
    after = "" if cursor is None else _name(cursors.unseal(keyring, _KIND, bound, cursor))
    with database.transaction(caller.tenant) as tx:
        found = tenancy.namespaces(caller.tenant, tx, caller.namespaces, after, limit + 1)
    page = found[:limit]
    more = len(found) > limit
    return page, cursors.seal(keyring, _KIND, bound, (page[-1].name,)) if more else None


def _name(position: cursors.Position) -> str:
    if len(position) != 1 or not isinstance(position[0], str):
        raise InvalidCursor("the cursor is not valid")
    return position[0]


def count(database: Database, caller: Caller, scope: Scope) -> Stats:
    """What a namespace holds; a namespace that does not exist holds nothing.

    Raises:
        Unauthorized: the key may not read jobs of this namespace.
    """
    with database.transaction(caller.tenant) as tx:
        return stats.count(scopes.resolve(tx, caller, scope, Permission.JOBS), tx)
