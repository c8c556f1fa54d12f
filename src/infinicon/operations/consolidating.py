"""Consolidating: one slice of a consolidation job, as one message asks for it. Whoever works on it holds its lease.

select (what waits, and what is near it) → the plug-in's plan, checked → redact, count, embed → apply, in one transaction. A plug-in
that fails costs the scope its turn and nothing else: no memory is touched before the last step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from uuid import UUID

from infinicon.domain import ConsolidationScope, EventType, Fault, RunRef, Stage
from infinicon.errors import InfiniconError, StageTimeout
from infinicon.keyring import Keyring
from infinicon.operations import applying, plans
from infinicon.operations.consolidate import job_event
from infinicon.operations.counting import Counters
from infinicon.operations.leases import Leases, is_outage
from infinicon.operations.selecting import Bounds, Slice, select, undone
from infinicon.ports import Consolidator, Embedder
from infinicon.store import backlog, consolidation_runs, events, spaces
from infinicon.store.consolidation_runs import NIL, Run
from infinicon.store.database import Database, Transaction, retry_conflicts


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a worker that consolidates has."""

    database: Database
    leases: Leases
    keyring: Keyring
    consolidator: Consolidator
    embedder: Embedder
    counters: Counters
    bounds: Bounds
    attempts: int
    """So many workers may die over one slice."""


def consolidate(shop: Workshop, ref: RunRef) -> RunRef | None:
    """Work on one slice. Answers with the message for the next one, None where the job is over.

    Raises:
        LeaseLost: another worker has the job, or it is over.
        InfiniconError: an outage goes through, and the slice waits for another try.
    """
    with shop.leases.stage(ref) as token:
        run, within = _begin(shop.database, ref, token)
        if within is None:
            return _end(shop.database, ref, token)
        try:
            if run.faults >= shop.attempts:
                raise StageTimeout(
                    "the consolidation did not finish within its attempts", details={"stage": Stage.CONSOLIDATE.value}
                )
            return _slice(shop, ref, token, run, within)
        except InfiniconError as fault:
            if is_outage(fault) and not isinstance(fault, StageTimeout):
                raise
            return _give_up(shop.database, ref, token, within, Fault.of(fault))


@retry_conflicts
def _begin(database: Database, ref: RunRef, token: UUID) -> tuple[Run, ConsolidationScope | None]:
    with database.transaction(ref.tenant) as tx:
        run = consolidation_runs.hold(ref.tenant, tx, ref.job, token)
        within = consolidation_runs.at_hand(ref.tenant, tx, ref.job)
        if consolidation_runs.start(ref.tenant, tx, ref.job):
            spaces.add_to_counters(ref.tenant, tx, {run.scope.namespace: (0, 0)})
            events.append(ref.tenant, tx, [job_event(EventType.CONSOLIDATION_STARTED, run.scope, ref.job)])
    return run, within


def _slice(shop: Workshop, ref: RunRef, token: UUID, run: Run, within: ConsolidationScope) -> RunRef | None:
    part = select(
        shop.database, shop.counters, shop.embedder.model, ref.tenant, within, run.spec, run.after, shop.bounds
    )
    prepared = None
    if part.fresh:
        plan = plans.propose(shop.consolidator, part)
        producer = f"{shop.consolidator.name}@{shop.consolidator.version}"
        prepared = applying.prepare(
            shop.database, shop.keyring, shop.embedder, shop.counters, ref.tenant, part, plan, producer
        )
    return _commit(shop, ref, token, part, prepared)


@retry_conflicts
def _commit(shop: Workshop, ref: RunRef, token: UUID, part: Slice, prepared: applying.Prepared | None) -> RunRef | None:
    with shop.database.transaction(ref.tenant) as tx:
        run = consolidation_runs.hold(ref.tenant, tx, ref.job, token)
        outcome = applying.Outcome(part.looked_at, {}, {}, ())
        if prepared is not None:
            outcome = applying.apply(tx, shop.keyring, run.scope, ref.job, prepared)
        counts = {"memories": len(part.fresh), "slices": 1, **outcome.counts}
        consolidation_runs.progress(ref.tenant, tx, ref.job, done=len(part.looked_at), counts=counts)
        backlog.leave(ref.tenant, tx, outcome.settled)
        after = _onward(tx, ref, run, part, progress=bool(outcome.settled))
        happened = list(outcome.happened)
        if after is None:
            happened += _through(tx, ref, run, part.within.id)
        attempt = _next(tx, ref, token, after)
        spaces.add_to_counters(ref.tenant, tx, {run.scope.namespace: (0, 0)} | dict(outcome.added))
        events.append(ref.tenant, tx, happened)
    return attempt


def _onward(tx: Transaction, ref: RunRef, run: Run, part: Slice, *, progress: bool) -> UUID | None:
    """Where the next slice of this scope begins; None where there is nothing more. What came in behind is taken along, as long as all
    of the backlog is meant and something was done."""
    if not part.last:
        return part.after
    narrow = "scope" in run.spec or "filters" in run.spec
    if narrow or not progress:
        return None
    if "floor" in run.spec:
        again = consolidation_runs.waiting(ref.tenant, tx, part.within.id) >= (run.spec["floor"] or math.inf)
        return NIL if again else None
    left = backlog.first(ref.tenant, tx, part.within.id, NIL, 1, undone=undone(run.spec))
    return NIL if left else None


def _through(
    tx: Transaction, ref: RunRef, run: Run, scope: int | None, *, failed: bool = False
) -> list[events.NewEvent]:
    """The scope at hand is done; after the last one the job ends, and its event is the answer."""
    consolidation_runs.free(ref.tenant, tx, ref.job, scope, failed=failed)
    if consolidation_runs.at_hand(ref.tenant, tx, ref.job) is not None:
        return []
    status = consolidation_runs.close(ref.tenant, tx, ref.job)
    kind = EventType.CONSOLIDATION_COMPLETED if status == "completed" else EventType.CONSOLIDATION_FAILED
    return [job_event(kind, run.scope, ref.job)]


def _next(tx: Transaction, ref: RunRef, token: UUID, after: UUID | None) -> RunRef | None:
    if consolidation_runs.at_hand(ref.tenant, tx, ref.job) is None:
        return None
    attempt = consolidation_runs.next_slice(ref.tenant, tx, ref.job, token, after or NIL)
    return RunRef(ref.tenant, ref.job, attempt)


@retry_conflicts
def _give_up(database: Database, ref: RunRef, token: UUID, within: ConsolidationScope, fault: Fault) -> RunRef | None:
    """The scope at hand has lost its turn: its memories are as they were, and wait. The job goes on with its other scopes, and fails."""
    with database.transaction(ref.tenant) as tx:
        run = consolidation_runs.hold(ref.tenant, tx, ref.job, token)
        left = max(consolidation_runs.waiting(ref.tenant, tx, within.id), 1)
        consolidation_runs.progress(ref.tenant, tx, ref.job, failed=left, error=fault)
        happened = _through(tx, ref, run, within.id, failed=True)
        following = _next(tx, ref, token, None)
        spaces.add_to_counters(ref.tenant, tx, {run.scope.namespace: (0, 0)})
        events.append(ref.tenant, tx, happened)
    return following


@retry_conflicts
def _end(database: Database, ref: RunRef, token: UUID) -> None:
    """A job that has no scope left."""
    with database.transaction(ref.tenant) as tx:
        run = consolidation_runs.hold(ref.tenant, tx, ref.job, token)
        happened = _through(tx, ref, run, None)
        events.append(ref.tenant, tx, happened)
