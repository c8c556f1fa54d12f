"""Readiness: whether the next request would find what it needs."""

from __future__ import annotations

from infinicon.errors import MissingDependency
from infinicon.store import waiting
from infinicon.store.database import Database
from infinicon.store.migrate import HEAD


def check(database: Database) -> None:
    """Ask Postgres, through the pool, whether it is there and at this release's schema.

    Raises:
        Unavailable: Postgres does not answer.
        MissingDependency: the schema is of another release.
    """
    with database.transaction(None) as tx:
        found = waiting.schema(tx)
    if found != HEAD:
        raise MissingDependency("the schema is of another release: run `infinicon migrate`")
