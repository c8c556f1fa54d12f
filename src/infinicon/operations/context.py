"""assembleContext: what an agent should know for a task, within its budget (docs/contexts.md).

In this order: gather and rank as query does, take what was asked for by name, fill the budget in the order of rank, load what was chosen,
and put it in the order of time. One snapshot of the database holds for all of it, so that what was counted is what is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from infinicon.domain import (
    SEARCHABLE,
    AssembleRequest,
    Caller,
    ContextSegment,
    ContextWarning,
    Memory,
    MemoryFilters,
    MemoryRef,
    Permission,
    Provenance,
    Scope,
    ScopeKey,
    SourceRef,
    Status,
    WorkingContext,
)
from infinicon.errors import InvalidRequest
from infinicon.keyring import Keyring
from infinicon.operations import ranking, redaction, scopes
from infinicon.operations.counting import STORED, Counters
from infinicon.operations.filling import Filling, Omission
from infinicon.operations.gathering import Chosen, Prices, Work, gather, unit_of
from infinicon.operations.query import WARNED, unfinished
from infinicon.operations.ranking import Asked, Told
from infinicon.ports import Embedder
from infinicon.store import contexts, memories, search, selection, waiting
from infinicon.store.database import Database
from infinicon.store.selection import Candidate

OMITTED = {
    Omission.NOT_FOUND: "there is no such memory in this scope",
    Omission.EXCLUDED: "a memory that was required says what an excluded one says",
    Omission.DISPUTED: "a memory that was required is disputed, and includeDisputed is not set",
    Omission.SUPERSEDED: "a memory that was required is superseded, and includeSuperseded is not set",
    Omission.STALE: "a memory that was required is stale, and allowStale is not set",
    Omission.DOUBLE: "a memory that was required says what another required one says",
    Omission.TOKENS: "a memory that was required does not fit into the budget",
    Omission.SEGMENTS: "more memories were required than the context may have segments",
}

REQUIRED = "required by the caller"


@dataclass(frozen=True, slots=True)
class Required:
    """What was asked for by name: what is taken, and why the rest cannot be had."""

    filling: Filling
    taken: dict[UUID, Candidate]
    omitted: dict[Omission, list[MemoryRef]]


def assemble(
    database: Database,
    keyring: Keyring,
    embedder: Embedder,
    counters: Counters,
    caller: Caller,
    request: AssembleRequest,
) -> WorkingContext:
    """The memories of a scope that serve a task best, as many as fit the budget, each whole and with its source. Known secrets are
    redacted in the task that it repeats.

    Raises:
        InvalidRequest: no counter has the name that the budget gives.
        Unauthorized: the key may not assemble contexts of this scope.
        Unavailable: Postgres, the encoder or the counter does not answer.
    """
    scopes.allow(caller, request.scope, Permission.ASSEMBLE)
    _check_counter(counters, request.budget.tokenizer)
    asked = ranking.ask(embedder, request.task)
    with database.transaction(caller.tenant, snapshot=True) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.ASSEMBLE)
        redactor = redaction.in_scope(scope, tx, keyring)
        scope = redactor.asked(scope)
        work = Work(scope, tx, counters, request, _filters(request))
        required = _required(work)
        chosen = gather(work, asked, required.filling)
        segments = _segments(work, asked, chosen)
        return WorkingContext(
            scope=scope.named,
            task=redactor.text(request.task),
            budget=request.budget,
            segments=segments,
            token_estimate=sum(segment.tokens for segment in segments),
            truncated=chosen.truncated,
            warnings=_warnings(work, required, chosen, segments),
            generated_at=waiting.now(tx),
        )


def _check_counter(counters: Counters, name: str) -> None:
    """A counter whose counts are stored is not loaded for that: it may not be needed."""
    if name in STORED:
        return
    try:
        counters.get(name)
    except InvalidRequest as fault:
        details = {"field": "budget.tokenizer", **fault.details}
        raise InvalidRequest("budget.tokenizer must name a token counter that is installed", details=details) from None


def _filters(request: AssembleRequest) -> MemoryFilters:
    """What may be gathered: constraints add to what the filters let pass."""
    asked = request.constraints
    statuses = set(request.filters.statuses)
    if asked.include_disputed:
        statuses.add(Status.DISPUTED)
    if asked.include_superseded:
        statuses.add(Status.SUPERSEDED)
    return replace(request.filters, statuses=frozenset(statuses), stale=asked.allow_stale)


def _required(work: Work) -> Required:
    """Take what was asked for by name, in this order. The filters do not hold for it, but states do, and what is excluded."""
    refs = {(ref.id, ref.type, *_parts(ref.scope)): ref for ref in work.request.constraints.must_include}.values()
    excluded = {ref.id for ref in work.request.constraints.excluded}
    filters = MemoryFilters(statuses=SEARCHABLE, stale=True)
    found = selection.listed(work.scope, work.tx, list({ref.id for ref in refs}), filters)
    prices = Prices(work, found)
    quotes = contexts.quotes(work.scope, work.tx, found)
    parts = {part for of in quotes.values() for part in of}
    sources = search.told(work.scope, work.tx, {*found, *parts, *excluded}, {*found, *excluded})
    told, unwanted = Told(sources, quotes), Told(sources, quotes)
    for memory in excluded:
        unwanted.exclude(memory)
    required = Required(Filling(work.room, work.segments), {}, {})
    for ref in refs:
        memory = ref.id
        candidate = found.get(memory)
        omission = _omission(work, ref, candidate)
        if omission is None and memory in required.taken:
            continue  # it is named twice, in other words
        if omission is None and unwanted.has(memory):
            omission = Omission.EXCLUDED
        if omission is None and told.has(memory):
            omission = Omission.DOUBLE
        omission = omission or required.filling.require(memory, prices.of(memory))
        if omission:
            required.omitted.setdefault(omission, []).append(ref)
        else:
            assert candidate is not None
            told.add(memory)
            required.taken[memory] = candidate
    return required


def _parts(scope: Scope) -> tuple[str | None, ...]:
    return (scope.tenant_id, scope.namespace_id, scope.agent_id, scope.session_id)


def _omission(work: Work, ref: MemoryRef, candidate: Candidate | None) -> Omission | None:
    """Why a ref cannot be had at all. What is foreign, unknown, tombstoned or expired is not found, all alike."""
    if (
        candidate is None
        or candidate.type is not ref.type
        or not scopes.agrees(ref.scope, _own_scope(work.scope, candidate))
    ):
        return Omission.NOT_FOUND
    if candidate.status is not Status.ACTIVE and candidate.status not in work.filters.statuses:
        return Omission(candidate.status)
    return Omission.STALE if candidate.stale and not work.filters.stale else None


def _segments(work: Work, asked: Asked, chosen: Chosen) -> list[ContextSegment]:
    """What was chosen, whole, the oldest first."""
    ids = chosen.filling.chosen
    loaded = memories.load(work.scope, work.tx, ids)
    said = contexts.said(work.scope, work.tx, ids)
    segments = []
    for memory, tokens in ids.items():
        found, own = loaded[memory], said[memory]
        ranked = chosen.ranked.get(memory)
        segments.append(
            ContextSegment(
                ref=MemoryRef(memory, found.type, found.scope),
                content=own.text,
                who=own.who,
                when=own.occurred_at or own.created_at,
                score=round(chosen.scores.get(memory, 0.0), 6),
                reason=REQUIRED if ranked is None else ranking.reason(asked, ranked.evidence),
                provenance=found.provenance or _itself(found),
                tokens=tokens,
                unit=unit_of(own),
            )
        )
    return sorted(segments, key=lambda segment: (segment.when, segment.ref.id))


def _itself(memory: Memory) -> Provenance:
    """An episode comes from nothing else: it is its own source."""
    source = SourceRef(MemoryRef(memory.id, memory.type, memory.scope))
    return Provenance([source], memory.created_by, memory.created_at, "ingest")


def _warnings(
    work: Work, required: Required, chosen: Chosen, segments: Sequence[ContextSegment]
) -> list[ContextWarning]:
    """What the caller should know, besides what is in the context."""
    warnings = unfinished(work.scope, work.tx)
    for omission, refs in required.omitted.items():
        warnings.append(ContextWarning("required_ref_omitted", OMITTED[omission], refs, {"reason": omission.value}))
    candidates = {**required.taken, **{memory: one.candidate for memory, one in chosen.ranked.items()}}
    for status, (code, message) in WARNED.items():
        refs = [segment.ref for segment in segments if candidates[segment.ref.id].status is status]
        if refs:
            warnings.append(ContextWarning(code, message, refs))
    stale = [segment.ref for segment in segments if candidates[segment.ref.id].stale]
    if stale:
        warnings.append(ContextWarning("stale_consolidation", "a source of it was tombstoned", stale))
    if chosen.truncated:
        warnings.append(ContextWarning("truncated", "memories were left out for want of room"))
    if not segments:
        warnings.append(ContextWarning("empty_context", "there is no memory to tell, or none that fits"))
    return warnings


def _own_scope(scope: ScopeKey, candidate: Candidate) -> Scope:
    return Scope(scope.named.tenant_id, scope.named.namespace_id, candidate.agent_id, candidate.session_id)
