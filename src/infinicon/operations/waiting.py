"""What a caller waits for, asked for many callers at once."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from infinicon.domain import Caller, Fault, Permission, Scope
from infinicon.operations import scopes
from infinicon.store import consolidation_runs, waiting
from infinicon.store.database import Database


def unindexed(database: Database, tenant: int, episodes: Collection[UUID]) -> set[UUID]:
    """Those of the tenant's episodes that are not visible to query yet and still on their way."""
    with database.transaction(tenant) as tx:
        return waiting.unindexed(tenant, tx, episodes)


def failed(database: Database, tenant: int, episodes: Collection[UUID]) -> dict[UUID, Fault]:
    """Those of the tenant's episodes that will not become visible by themselves, with the reason."""
    with database.transaction(tenant) as tx:
        return waiting.failed(tenant, tx, episodes)


def over(database: Database, tenant: int, jobs: Collection[UUID]) -> set[UUID]:
    """Those of the tenant's consolidation jobs that are over."""
    with database.transaction(tenant) as tx:
        return consolidation_runs.over(tenant, tx, jobs)


def pending(
    database: Database, caller: Caller, scope: Scope, before: datetime, permission: Permission = Permission.QUERY
) -> bool:
    """Whether anything that the scope accepted until `before` is still on its way.

    Raises:
        Unauthorized: the key lacks the permission for this scope.
    """
    with database.transaction(caller.tenant) as tx:
        return waiting.pending(scopes.resolve(tx, caller, scope, permission), tx, before)


def now(database: Database) -> datetime:
    """The database's clock, which stamps what is accepted."""
    with database.transaction(None) as tx:
        return waiting.now(tx)
