"""index: the last stage. A batch's memories become visible to query in one transaction, and its jobs move towards their end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from infinicon import lexemes
from infinicon.domain import BatchRef, EventType
from infinicon.operations.embed import rendered
from infinicon.operations.leases import Leases
from infinicon.store import batches, events, jobs, spaces
from infinicon.store.database import Database, retry_conflicts
from infinicon.store.spaces import Published, StagedChunk


def index(database: Database, leases: Leases, ref: BatchRef) -> dict[str, int]:
    """Index the batch and close it. Answers with counts.

    Raises:
        LeaseLost: another worker has the batch.
    """
    with leases.stage(ref) as token:
        with database.transaction(ref.tenant) as tx:
            staged = spaces.staged(ref.tenant, tx, ref.batch)
        active, finished = _commit(database, ref, token, _analyse(staged))
    return {"memories": len(active), "episodes": sum(finished.values())}


def _analyse(staged: Sequence[StagedChunk]) -> dict[tuple[UUID, int], Mapping[int, int]]:
    return {(chunk.memory, chunk.chunk): lexemes.lexeme_ids(rendered(chunk.speaker, chunk.text)) for chunk in staged}


@retry_conflicts
def _commit(
    database: Database, ref: BatchRef, token: UUID, terms: Mapping[tuple[UUID, int], Mapping[int, int]]
) -> tuple[list[Published], dict[UUID, int]]:
    with database.transaction(ref.tenant) as tx:
        batches.hold(ref.tenant, tx, ref.batch, token)
        active, finished, added = spaces.publish(ref.tenant, tx, ref.batch, terms)
        batches.close(ref.tenant, tx, ref.batch, token)
        jobs.count(ref.tenant, tx, finished, {}, {})
        # Also those that only get events: else two batches could hold one counter each and want the other's.
        spaces.add_to_counters(ref.tenant, tx, {**{memory.namespace: (0, 0) for memory in active}, **added})
        events.append(ref.tenant, tx, [_event(memory) for memory in active])
    return active, finished


def _event(memory: Published) -> events.NewEvent:
    return events.NewEvent(
        memory.namespace,
        EventType.MEMORY_INDEXED,
        memory.id,
        memory.type,
        memory.job,
        memory.agent_id,
        memory.session_id,
    )
