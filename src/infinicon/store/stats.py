"""Counts of a namespace."""

from __future__ import annotations

from sqlalchemy import text

from infinicon.domain import ScopeKey, Stats
from infinicon.store.database import Transaction

MEMORIES = text("""
    SELECT type, status, count(*) AS number FROM memories
    WHERE tenant = :tenant AND namespace = :namespace GROUP BY type, status ORDER BY type, status
""")
PIPELINE = text("""
    SELECT state, count(*) AS number FROM queued_episodes
    WHERE tenant = :tenant AND namespace = :namespace AND upto IS NULL GROUP BY state ORDER BY state
""")
JOBS = text("""
    SELECT status, count(*) AS number FROM folded_jobs
    WHERE tenant = :tenant AND namespace = :namespace GROUP BY status ORDER BY status
""")
COUNTERS = text("""
    SELECT seq, index_rows FROM namespace_counters WHERE tenant = :tenant AND namespace = :namespace
""")


def count(scope: ScopeKey, tx: Transaction) -> Stats:
    """Exact counts; nothing where there is nothing. `events` is the position of the last one."""
    key = {"tenant": scope.tenant, "namespace": scope.namespace}
    memories: dict[str, dict[str, int]] = {}
    for row in tx.execute(MEMORIES, key):
        memories.setdefault(row.type, {})[row.status] = row.number
    counters = tx.execute(COUNTERS, key).one_or_none()
    return Stats(
        memories=memories,
        pipeline={row.state: row.number for row in tx.execute(PIPELINE, key)},
        jobs={row.status: row.number for row in tx.execute(JOBS, key)},
        index_rows=0 if counters is None else counters.index_rows,
        events=0 if counters is None else counters.seq,
    )
