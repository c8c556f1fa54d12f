"""Readiness: whether the next request would find what it needs."""

from __future__ import annotations

from infinicon.errors import MissingDependency
from infinicon.store import waiting
from infinicon.store.database import Database
from infinicon.store.migrate import HEAD


def check(database: Database) -> None:
    """Ask Postgres, through the pool, whether it is there and at this release's schema, or at a newer one.

    A migration leaves the release before it working, so that processes can be restarted one after another behind it.

    Raises:
        Unavailable: Postgres does not answer.
        MissingDependency: the schema is of an older release.
    """
    with database.transaction(None) as tx:
        found = waiting.schema(tx)
    if found < HEAD:
        raise MissingDependency("the schema is of an older release: run `infinicon migrate`")


def warnings(database: Database) -> list[str]:
    """What does not work although reads are served; known without a question, from what writers were answered."""
    return ["disk_full"] if database.is_full else []
