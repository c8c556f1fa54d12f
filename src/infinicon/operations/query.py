"""query: ranked refs, the best first, page by page.

Scores depend on the pool that they are made from, so the first page keeps what was found, in order, and the next ones are read from
that: nothing comes twice, and a memory that comes in meanwhile moves no other. What may not be shown any more is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from infinicon.cursors import Position, seal, unseal
from infinicon.domain import (
    QUERY_DEPTH,
    QUERY_SECONDS,
    Caller,
    ContextWarning,
    Hit,
    MemoryFilters,
    MemoryRef,
    MemoryType,
    Permission,
    QueryReply,
    QueryRequest,
    Scope,
    ScopeKey,
    Status,
)
from infinicon.errors import InvalidCursor
from infinicon.ids import new_id
from infinicon.keyring import Keyring
from infinicon.operations import ranking, scopes
from infinicon.operations.ranking import Asked, Order
from infinicon.ports import Embedder
from infinicon.store import listings, search, selection, waiting
from infinicon.store.database import Database, Transaction
from infinicon.store.listings import Listing
from infinicon.store.selection import Candidate

KIND = "query"

WARNED = {
    Status.DISPUTED: ("disputed_memory_included", "another memory says otherwise"),
    Status.SUPERSEDED: ("superseded_memory_included", "a newer memory stands in its place"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory of a page: its place in the listing, its score, and why it is there."""

    place: int
    candidate: Candidate
    score: float
    reason: str


def query(
    database: Database, keyring: Keyring, embedder: Embedder, caller: Caller, request: QueryRequest
) -> QueryReply:
    """The refs of a scope that fit the query best, the best first; equal scores are ordered newest first.

    Raises:
        Unauthorized: the key may not query this scope.
        InvalidCursor: not one of ours, too old, or of another query.
        ScopeMismatch: the cursor is of another scope.
        Unavailable: Postgres or the encoder does not answer.
    """
    scopes.allow(caller, request.scope, Permission.QUERY)
    if request.cursor is not None:
        return _next_page(database, keyring, embedder, caller, request, request.cursor)
    asked = ranking.ask(embedder, request.query)
    with database.transaction(caller.tenant) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.QUERY)
        order = ranking.order(scope, tx, asked, request.limit + 1, request.filters)
        page = [
            Shown(place, one.candidate, one.evidence.score, ranking.reason(asked, one.evidence))
            for place, one in enumerate(order.found[: request.limit])
        ]
        cursor = None
        if request.limit < min(len(order.found), QUERY_DEPTH):
            listing_id = new_id()
            listing = _listing(_question(keyring, request), order, QUERY_DEPTH)
            listings.keep(scope, tx, listing_id, listing, QUERY_SECONDS)
            cursor = _cursor(keyring, scope, listing_id, request.limit)
        return _reply(scope, tx, page, cursor)


def _next_page(
    database: Database, keyring: Keyring, embedder: Embedder, caller: Caller, request: QueryRequest, cursor: str
) -> QueryReply:
    """From the listing; one that ends too early is made longer, for which the question is asked again."""
    question = _question(keyring, request)
    with database.transaction(caller.tenant) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.QUERY)
        listing_id, place = _position(keyring, scope, cursor)
        listing = _found(listings.find(scope, tx, listing_id), question)
        living = _living(scope, tx, listing, place, request)
        if len(living) > request.limit or listing.complete:
            return _page(scope, tx, keyring, request, listing_id, listing, living)
    asked = ranking.ask(embedder, request.query)  # with no transaction open
    with database.transaction(caller.tenant) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.QUERY)
        listing = _found(listings.find(scope, tx, listing_id, held=True), question)
        living = _living(scope, tx, listing, place, request)
        while len(living) <= request.limit and not listing.complete:
            listing = _longer(scope, tx, asked, request, listing_id, listing)
            living = _living(scope, tx, listing, place, request)
        return _page(scope, tx, keyring, request, listing_id, listing, living)


def _found(listing: Listing | None, question: bytes) -> Listing:
    if listing is None:
        raise InvalidCursor("the cursor is too old", details={"field": "cursor"})
    if listing.question != question:
        raise InvalidCursor("the cursor was given for another query or other filters", details={"field": "cursor"})
    return listing


def _living(
    scope: ScopeKey, tx: Transaction, listing: Listing, place: int, request: QueryRequest
) -> list[tuple[int, Candidate]]:
    """What may be shown of the listing from a place on, each with its own place: a page, and one more to know whether there is another."""
    wanted = request.limit + 1
    living: list[tuple[int, Candidate]] = []
    while len(living) < wanted and place < len(listing.memories):
        part = listing.memories[place : place + wanted]
        known = selection.listed(scope, tx, part, request.filters)
        living += [(at, known[memory]) for at, memory in enumerate(part, place) if memory in known]
        place += len(part)
    return living[:wanted]


def _longer(
    scope: ScopeKey, tx: Transaction, asked: Asked, request: QueryRequest, listing_id: UUID, listing: Listing
) -> Listing:
    """The listing with what comes after it. A larger pool may know better of a memory: it stays behind those that were listed before."""
    order = ranking.order(scope, tx, asked, request.limit + 1, request.filters, listing.memories)
    more = _listing(listing.question, order, QUERY_DEPTH - len(listing.memories), listing.scores[-1])
    listings.extend(scope, tx, listing_id, more)
    return Listing(
        listing.question,
        [*listing.memories, *more.memories],
        [*listing.scores, *more.scores],
        [*listing.similarities, *more.similarities],
        more.complete,
    )


def _listing(question: bytes, order: Order, room: int, below: float = 1.0) -> Listing:
    """Scores are rounded before they are kept: what is read back is shown as what was not."""
    found = order.found[:room]
    return Listing(
        question,
        [one.candidate.memory for one in found],
        [min(round(one.evidence.score, 6), below) for one in found],
        [one.evidence.similarity for one in found],
        order.complete or len(order.found) >= room,
    )


def _page(
    scope: ScopeKey,
    tx: Transaction,
    keyring: Keyring,
    request: QueryRequest,
    listing_id: UUID,
    listing: Listing,
    living: Sequence[tuple[int, Candidate]],
) -> QueryReply:
    terms = ranking.terms(request.query)
    shared = search.shared(scope, tx, [candidate.memory for _, candidate in living], terms)
    page = [
        Shown(
            place,
            candidate,
            listing.scores[place],
            ranking.because(terms, shared.get(candidate.memory, ()), listing.similarities[place]),
        )
        for place, candidate in living[: request.limit]
    ]
    more = len(living) > request.limit
    return _reply(scope, tx, page, _cursor(keyring, scope, listing_id, page[-1].place + 1) if more else None)


def _reply(scope: ScopeKey, tx: Transaction, page: Sequence[Shown], cursor: str | None) -> QueryReply:
    atoms = [one.candidate.memory for one in page if one.candidate.type is MemoryType.ATOM]
    sources = search.sources(scope, tx, atoms)
    hits = [_hit(scope, one, sources.get(one.candidate.memory, ())) for one in page]
    warnings = unfinished(scope, tx)
    for status in WARNED:
        refs = [hit.ref for hit, one in zip(hits, page, strict=True) if one.candidate.status is status]
        if refs:
            warnings.append(_warning(status, refs))
    return QueryReply(hits, warnings, cursor)


def _hit(scope: ScopeKey, one: Shown, sources: Sequence[UUID]) -> Hit:
    candidate = one.candidate
    own = Scope(scope.named.tenant_id, scope.named.namespace_id, candidate.agent_id, candidate.session_id)
    ref = MemoryRef(candidate.memory, candidate.type, own)
    episodes = [MemoryRef(source, MemoryType.EPISODE, own) for source in sources]
    warnings = [_warning(candidate.status, [ref])] if candidate.status in WARNED else []
    return Hit(ref, round(one.score, 6), one.reason, episodes, warnings)


def _warning(status: Status, refs: Sequence[MemoryRef]) -> ContextWarning:
    code, message = WARNED[status]
    return ContextWarning(code, message, refs)


def unfinished(scope: ScopeKey, tx: Transaction) -> list[ContextWarning]:
    """What an answer says of work that the scope has accepted and that is not over."""
    warnings = []
    if waiting.pending(scope, tx, waiting.now(tx)):
        indexing = "some of what this scope has accepted is not indexed yet"
        warnings.append(ContextWarning("eventual_consistency", indexing))
    if waiting.deleting(scope, tx):
        deleting = "a deletion in this scope is not over: some of what it takes may still be here, or be gone already"
        warnings.append(ContextWarning("deletion_pending", deleting))
    return warnings


def _question(keyring: Keyring, request: QueryRequest) -> bytes:
    return keyring.mac("query-cursor", request.query.encode(), _canonical(request.filters).encode())[:16]


def _canonical(filters: MemoryFilters) -> str:
    bounds = [None if bound is None else bound.isoformat() for bound in (filters.created_after, filters.created_before)]
    types = None if filters.types is None else sorted(filters.types)
    return json.dumps(
        [types, sorted(filters.statuses), *bounds, filters.metadata, sorted(filters.tags)], sort_keys=True
    )


def _bound(scope: ScopeKey) -> Position:
    """The whole scope as it was named: its filters, too, decide what the listing holds."""
    named = scope.named
    filters = None if named.filters is None else json.dumps(named.filters, sort_keys=True)
    return [scope.tenant, named.namespace_id, named.agent_id, named.session_id, filters]


def _cursor(keyring: Keyring, scope: ScopeKey, listing_id: UUID, place: int) -> str:
    return seal(keyring, KIND, _bound(scope), [str(listing_id), place])


def _position(keyring: Keyring, scope: ScopeKey, cursor: str) -> tuple[UUID, int]:
    listing_id, place = unseal(keyring, KIND, _bound(scope), cursor)
    assert isinstance(place, int)
    return UUID(str(listing_id)), place
