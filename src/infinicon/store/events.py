"""Events of a namespace, in commit order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from infinicon.domain import EventType, MemoryType
from infinicon.store.database import Transaction


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about to happen: ids only, never content."""

    namespace: int
    type: EventType
    memory: UUID | None
    memory_type: MemoryType | None
    job: UUID | None = None
    agent_id: str | None = None
    session_id: str | None = None


# The counter's row lock is held until commit, so positions are handed out in the order in which transactions become visible.
APPEND = text("""
    WITH counter AS (
        UPDATE namespace_counters SET seq = seq + :number
        WHERE tenant = :tenant AND namespace = :namespace
        RETURNING seq - :number AS base
    )
    INSERT INTO events (tenant, namespace, seq, type, memory, memory_type, job, agent_id, session_id)
    SELECT :tenant, :namespace, counter.base + e.position, e.type, e.memory, e.memory_type, e.job, e.agent_id, e.session_id
    FROM counter, unnest(CAST(:types AS text[]), CAST(:memories AS uuid[]), CAST(:memory_types AS text[]), CAST(:jobs AS uuid[]),
                         CAST(:agents AS text[]), CAST(:sessions AS text[]))
         WITH ORDINALITY AS e (type, memory, memory_type, job, agent_id, session_id, position)
""")


def append(tenant: int, tx: Transaction, events: Sequence[NewEvent]) -> None:
    """Write events and take their positions. Must be the last statements of the transaction; namespaces go in order of their ids."""
    for namespace in sorted({event.namespace for event in events}):
        own = [event for event in events if event.namespace == namespace]
        tx.execute(
            APPEND,
            {
                "tenant": tenant,
                "namespace": namespace,
                "number": len(own),
                "types": [event.type for event in own],
                "memories": [event.memory for event in own],
                "memory_types": [event.memory_type for event in own],
                "jobs": [event.job for event in own],
                "agents": [event.agent_id for event in own],
                "sessions": [event.session_id for event in own],
            },
        )
