"""query: ranked refs, the best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from infinicon.domain import (
    Caller,
    ContextWarning,
    Hit,
    MemoryRef,
    MemoryType,
    Permission,
    QueryReply,
    QueryRequest,
    Scope,
    ScopeKey,
)
from infinicon.operations import ranking, scopes
from infinicon.operations.ranking import Asked, Ranked
from infinicon.ports import Embedder
from infinicon.store import search, waiting
from infinicon.store.database import Database


def query(database: Database, embedder: Embedder, caller: Caller, request: QueryRequest) -> QueryReply:
    """The refs of a scope that fit the query best, the best first; equal scores are ordered newest first.

    Raises:
        Unauthorized: the key may not query this scope.
        Unavailable: Postgres or the encoder does not answer.
    """
    scopes.allow(caller, request.scope, Permission.QUERY)
    asked = ranking.ask(embedder, request.query)
    with database.transaction(caller.tenant) as tx:
        scope = scopes.resolve(tx, caller, request.scope, Permission.QUERY)
        found = ranking.ranked(scope, tx, asked, request.limit)
        atoms = [one.candidate.memory for one in found if one.candidate.type is MemoryType.ATOM]
        sources = search.sources(scope, tx, atoms)
        behind = waiting.pending(scope, tx, waiting.now(tx))
    return QueryReply([_hit(scope, asked, one, sources) for one in found], [eventual()] if behind else [])


def _hit(scope: ScopeKey, asked: Asked, found: Ranked, sources: Mapping[UUID, Sequence[UUID]]) -> Hit:
    candidate = found.candidate
    own = Scope(scope.named.tenant_id, scope.named.namespace_id, candidate.agent_id, candidate.session_id)
    ref = MemoryRef(candidate.memory, candidate.type, own)
    episodes = [MemoryRef(source, MemoryType.EPISODE, own) for source in sources.get(candidate.memory, [])]
    return Hit(ref, round(found.evidence.score, 6), ranking.reason(asked, found.evidence), episodes)


def eventual() -> ContextWarning:
    """What an answer says that did not wait for work that is pending."""
    return ContextWarning("eventual_consistency", "some of what this scope has accepted is not indexed yet")
