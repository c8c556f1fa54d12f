"""index: the last stage. A batch's memories become visible to query in one transaction, and its jobs move towards their end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from infinicon import lexemes
from infinicon.domain import NIL_ID, BatchRef, EventType, MemoryType
from infinicon.operations.corrections import superseded, visible_again
from infinicon.operations.embed import rendered
from infinicon.operations.leases import Leases
from infinicon.store import backlog, batches, consolidation_changes, corrections, events, jobs, slices, spaces
from infinicon.store.database import Database, retry_conflicts
from infinicon.store.spaces import Published, StagedChunk

Counts: TypeAlias = "tuple[int, int]"
"""Rows and lexemes of the lexical index."""


def index(database: Database, leases: Leases, ref: BatchRef) -> dict[str, int]:
    """Index the batch and close it. Answers with counts.

    Raises:
        LeaseLost: another worker has the batch.
    """
    with leases.stage(ref) as token:
        with database.transaction(ref.tenant) as tx:
            staged = spaces.staged(ref.tenant, tx, ref.batch)
            held = slices.of_batch(ref.tenant, tx, ref.batch)
        for first in (part for part in held if part.after == NIL_ID):
            _settle(database, ref.tenant, first.namespace)
        active, finished = _commit(database, ref, token, _analyse(staged))
    return {"memories": len(active), "episodes": sum(finished.values())}


def _analyse(staged: Sequence[StagedChunk]) -> dict[tuple[UUID, int], Mapping[int, int]]:
    return {(chunk.memory, chunk.chunk): lexemes.lexeme_ids(rendered(chunk.speaker, chunk.text)) for chunk in staged}


@retry_conflicts
def _settle(database: Database, tenant: int, namespace: int) -> None:
    """What a reindex does once and for the whole namespace. Counters move by differences, so it matters not when."""
    with database.transaction(tenant) as tx:
        slices.take_turn(tenant, tx, namespace)
        slices.drop_orphans(tenant, tx, namespace)
        spaces.add_to_counters(tenant, tx, {namespace: slices.drift(tenant, tx, namespace)})


@retry_conflicts
def _commit(
    database: Database, ref: BatchRef, token: UUID, terms: Mapping[tuple[UUID, int], Mapping[int, int]]
) -> tuple[list[Published], dict[UUID, int]]:
    with database.transaction(ref.tenant) as tx:
        batches.hold(ref.tenant, tx, ref.batch, token)
        spaces.hold_episodes(ref.tenant, tx, ref.batch)
        held = slices.of_batch(ref.tenant, tx, ref.batch)
        cleared = [(part.namespace, slices.clear(ref.tenant, tx, ref.batch, part)) for part in held]
        again = corrections.stated_anew(ref.tenant, tx, ref.batch)
        restated = consolidation_changes.restated(ref.tenant, tx, again)
        active, finished, added = spaces.publish(ref.tenant, tx, ref.batch, terms)
        consolidation_changes.undo(ref.tenant, tx, restated)
        revived = consolidation_changes.revive(ref.tenant, tx, again)
        corrections.freshen(ref.tenant, tx, again)
        retired = corrections.apply(ref.tenant, tx, {memory.id for memory in active})
        batches.close(ref.tenant, tx, ref.batch, token)
        jobs.count(ref.tenant, tx, finished, {}, {})
        backlog.leave(ref.tenant, tx, {one.id for one in retired})
        backlog.add(ref.tenant, tx, again | {one.id for one in active if one.type is MemoryType.ATOM})
        # Also those that only get events: else two batches could hold one counter each and want the other's.
        moved = [(memory.namespace, (0, 0)) for memory in active] + [(part, (-n, -m)) for part, (n, m) in cleared]
        spaces.add_to_counters(ref.tenant, tx, _summed([*added.items(), *moved]))
        happened = [_event(memory) for memory in active] + [visible_again(one) for one in revived]
        events.append(ref.tenant, tx, happened + [superseded(one) for one in retired])
    return active, finished


def _summed(changes: Sequence[tuple[int, Counts]]) -> dict[int, Counts]:
    summed: dict[int, Counts] = {}
    for namespace, (rows, lexemes_) in changes:
        before = summed.get(namespace, (0, 0))
        summed[namespace] = (before[0] + rows, before[1] + lexemes_)
    return summed


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
