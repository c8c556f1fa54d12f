"""What Postgres says of itself, and of a tenant's work that is under way."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from infinicon.store.database import Transaction, unscoped

SERVER = text("""
    SELECT current_setting('server_version') AS version,
           (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS pgvector,
           (SELECT version_num FROM infinicon.schema_version) AS schema,
           clock_timestamp() AS clock
""")

LANES = text("""
    SELECT lane,
           count(*) FILTER (WHERE state = 'waiting') AS waiting,
           count(*) FILTER (WHERE state = 'claimed') AS claimed,
           count(*) FILTER (WHERE state = 'failed') AS failed,
           coalesce(extract(epoch FROM now() - min(queued_at) FILTER (WHERE state IN ('waiting', 'claimed'))), 0) AS oldest
    FROM queued_episodes WHERE tenant = :tenant AND upto IS NULL GROUP BY lane ORDER BY lane
""")

TROUBLED = text("""
    SELECT count(*) FROM batches WHERE tenant = :tenant AND state = 'open' AND (faults > 0 OR publishes > 3)
""")


@dataclass(frozen=True, slots=True)
class Server:
    """Versions of Postgres, pgvector and our schema, and what time it is there."""

    version: str
    pgvector: str | None
    schema: str
    clock: datetime


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """A tenant's episodes in one lane. `oldest_seconds`: how long the longest pending one has been there."""

    lane: str
    waiting: int
    claimed: int
    failed: int
    oldest_seconds: float


@unscoped("the server is one for all tenants")
def server(tx: Transaction) -> Server:
    row = tx.execute(SERVER).one()
    return Server(row.version, row.pgvector, row.schema, row.clock)


def lanes(tenant: int, tx: Transaction) -> list[LaneStatus]:
    """Lanes in which the tenant has episodes that are pending or failed."""
    rows = tx.execute(LANES, {"tenant": tenant})
    return [LaneStatus(row.lane, row.waiting, row.claimed, row.failed, float(row.oldest)) for row in rows]


def troubled(tenant: int, tx: Transaction) -> int:
    """Open batches that died before, or that were published again and again and never taken."""
    found: int = tx.execute(TROUBLED, {"tenant": tenant}).scalar_one()
    return found
