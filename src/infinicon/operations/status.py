"""What `infinicon doctor` asks a server: do its parts answer, do they fit together, and does the caller's work move?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from infinicon.domain import Caller, Permission
from infinicon.operations import scopes
from infinicon.store import status
from infinicon.store.database import Database
from infinicon.store.migrate import HEAD


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """`skew_seconds`: the database's clock against this process's. `expected_schema` is this release's."""

    version: str
    pgvector: str | None
    schema: str
    expected_schema: str
    milliseconds: float
    skew_seconds: float


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """The caller's tenant: lanes with something in them, and open batches in trouble."""

    lanes: Sequence[status.LaneStatus]
    troubled_batches: int


def look(database: Database, caller: Caller, tenant_id: str) -> tuple[DatabaseStatus, WorkStatus]:
    """Ask Postgres about itself and about the tenant's work.

    Raises:
        Unauthorized: the key may not read jobs, or belongs to another tenant.
        Unavailable: Postgres does not answer.
    """
    scopes.allow_tenant(caller, tenant_id, Permission.JOBS)
    began = time.perf_counter()
    with database.transaction(caller.tenant) as tx:
        found = status.server(tx)
        milliseconds = (time.perf_counter() - began) * 1000
        skew = (found.clock - datetime.now(UTC)).total_seconds()
        work = WorkStatus(status.lanes(caller.tenant, tx), status.troubled(caller.tenant, tx))
    return DatabaseStatus(found.version, found.pgvector, found.schema, HEAD, milliseconds, skew), work
