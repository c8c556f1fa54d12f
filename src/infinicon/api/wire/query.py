"""query: a text in, ranked refs out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.shared import (
    ContextWarning,
    JsonObject,
    MemoryRef,
    Scope,
    check_text,
    present,
    ref_to_wire,
    scope_of,
    warnings_to_wire,
)
from infinicon.api.wire.validate import Body, check, refused, rule
from infinicon.errors import InvalidCursor

LATER_FILTERS = frozenset(
    {
        "types",
        "statuses",
        "includeDisputed",
        "includeSuperseded",
        "includeTombstoned",
        "createdAfter",
        "createdBefore",
        "metadata",
        "tags",
    }
)


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
    filters: JsonObject | None = None
    """Not served yet: a filter in it is refused, so that none is silently ignored."""
    cursor: str | None = None
    """Not served yet: every cursor is an invalid_cursor."""


class QueryHit(Body):
    ref: MemoryRef
    score: float
    """Higher is better; comparable within this answer only."""
    reason: str | SkipJsonSchema[None] = None
    sources: list[MemoryRef] | SkipJsonSchema[None] = None
    """The episodes that an atom comes from, newest first, at most 8."""
    warnings: list[ContextWarning] | SkipJsonSchema[None] = None


class QueryReply(Body):
    refs: list[QueryHit]
    warnings: list[ContextWarning] | SkipJsonSchema[None] = None


@dataclass(frozen=True, slots=True)
class Query:
    """A request as the operation takes it, and whether it first waits for pending work."""

    request: domain.QueryRequest
    strong: bool


def parse(body: bytes) -> Query:
    """Read a request. Raises InvalidRequest, InvalidCursor."""
    sent = check(QueryRequest, strict_json.loads(body))
    for name in sent.filters or {}:
        known = name in LATER_FILTERS
        raise refused(
            f"filters.{name}" if known else "filters", "is not supported yet" if known else "has an unknown member"
        )
    if sent.cursor is not None:
        raise InvalidCursor("this cursor was not issued here", details={"field": "cursor"})
    return Query(domain.QueryRequest(scope_of(sent.scope), sent.query, sent.limit), sent.consistency == "strong")


def to_wire(reply: domain.QueryReply) -> dict[str, Any]:
    return present(refs=[_hit_to_wire(hit) for hit in reply.hits], warnings=warnings_to_wire(reply.warnings))


def _hit_to_wire(hit: domain.Hit) -> dict[str, Any]:
    return present(
        ref=ref_to_wire(hit.ref),
        score=hit.score,
        reason=hit.reason or None,
        sources=[ref_to_wire(source) for source in hit.sources] or None,
        warnings=warnings_to_wire(hit.warnings),
    )
