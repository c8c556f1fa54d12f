"""query: a text in, ranked refs out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.filters import MemoryFilters, filters_of
from infinicon.api.wire.shared import (
    ContextWarning,
    MemoryRef,
    Scope,
    check_text,
    present,
    ref_to_wire,
    scope_of,
    warnings_to_wire,
)
from infinicon.api.wire.validate import Body, check, rule


def check_query(value: str) -> str:
    if not value.strip():
        raise rule("must not be blank")
    return check_text(value)


class QueryRequest(Body):
    scope: Scope
    query: Annotated[str, Field(min_length=1, max_length=limits.QUERY_CHARACTERS), AfterValidator(check_query)]
    limit: Annotated[int, Field(ge=1, le=limits.QUERY_LIMIT)] = limits.QUERY_LIMIT_DEFAULT
    consistency: Literal["strong", "eventual"] = "eventual"
    """`strong` waits for what was accepted in the scope before the request, or answers consistency_unavailable."""
    filters: MemoryFilters | None = None
    cursor: str | None = None
    """Of the page before: the next one of the same answer. Scope, query and filters are sent along, and must be the same; `limit` may
    be another. A page is shorter than its limit only where it is the last one."""


class QueryHit(Body):
    ref: MemoryRef
    score: float
    """Higher is better; comparable within this answer only."""
    reason: str | SkipJsonSchema[None] = None
    """Words that were found and how similar the meaning is, for people."""
    sources: list[MemoryRef] | SkipJsonSchema[None] = None
    """The episodes that an atom comes from, newest first, at most 8."""
    warnings: list[ContextWarning] | SkipJsonSchema[None] = None


class QueryReply(Body):
    refs: list[QueryHit]
    warnings: list[ContextWarning] | SkipJsonSchema[None] = None
    """`eventual_consistency`, `deletion_pending`; `disputed_memory_included` and `superseded_memory_included`, with the refs that they are
    about."""
    cursor: str | SkipJsonSchema[None] = None
    """Of the next page; absent from the last one. It is good for `queryCursorSeconds`, and to a depth of `queryDepth` refs."""


@dataclass(frozen=True, slots=True)
class Query:
    """A request as the operation takes it, and whether it first waits for pending work."""

    request: domain.QueryRequest
    strong: bool


def parse(body: bytes) -> Query:
    """Read a request. Raises InvalidRequest."""
    sent = check(QueryRequest, strict_json.loads(body))
    request = domain.QueryRequest(scope_of(sent.scope), sent.query, sent.limit, filters_of(sent.filters), sent.cursor)
    return Query(request, sent.consistency == "strong")


def to_wire(reply: domain.QueryReply) -> dict[str, Any]:
    return present(
        refs=[_hit_to_wire(hit) for hit in reply.hits],
        warnings=warnings_to_wire(reply.warnings),
        cursor=reply.cursor,
    )


def _hit_to_wire(hit: domain.Hit) -> dict[str, Any]:
    return present(
        ref=ref_to_wire(hit.ref),
        score=hit.score,
        reason=hit.reason or None,
        sources=[ref_to_wire(source) for source in hit.sources] or None,
        warnings=warnings_to_wire(hit.warnings),
    )
