"""assembleContext: a task and a budget in, a working context out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.filters import MemoryFilters, filters_of
from infinicon.api.wire.hydrate import Provenance, echo, provenance_to_wire, read_ref
from infinicon.api.wire.query import check_query
from infinicon.api.wire.shared import (
    ContextWarning,
    MemoryRef,
    Name,
    Scope,
    Time,
    present,
    ref_to_wire,
    scope_of,
    scope_to_wire,
    time_to_wire,
    warnings_to_wire,
)
from infinicon.api.wire.validate import Body, check, refused
from infinicon.operations.context import OMITTED
from infinicon.operations.filling import Omission

Tokens = Annotated[int, Field(ge=1, le=limits.TOKENS)]
Refs = Annotated[list[MemoryRef], Field(max_length=limits.REFS)]


class ContextBudget(Body):
    """What a context may cost. At most `maxTokens - reservedTokens` are used."""

    max_tokens: Tokens
    max_segments: Annotated[int, Field(ge=1, le=limits.TOKENS)] | None = None
    """A context has at most 1,000 segments, whatever stands here."""
    reserved_tokens: Annotated[int, Field(ge=0, le=limits.TOKENS)] = 0
    """For what the caller adds to the context; less than maxTokens."""
    tokenizer: Name = domain.DEFAULT_TOKENIZER
    """By which tokens are counted: o200k_base, cl100k_base, chars (Unicode code points), or what a plug-in brings."""


class ContextConstraints(Body):
    must_include_refs: Refs | None = None
    """Taken before anything else, in this order. What cannot be had is in a warning `required_ref_omitted`, with the reason in its
    metadata. Filters do not hold for them; states do."""
    excluded_refs: Refs | None = None
    """Not in the context, and neither is the episode of an excluded atom nor an atom of an excluded episode, also where it is required."""
    include_disputed: bool = False
    include_superseded: bool = False
    allow_stale: bool = False
    """Stale memory has a source that was tombstoned."""
    prefer_recency: bool = False
    """A memory loses up to a quarter of its score for its age, half of that in 30 days, counted from the newest memory that was found."""
    prefer_high_confidence: bool = False
    """A memory loses up to half of its score for the confidence that it lacks; one that has none set loses nothing."""
    max_segments: Annotated[int, Field(ge=1, le=limits.TOKENS)] | None = None
    """The smaller of this and the budget's holds."""


class AssembleContextRequest(Body):
    scope: Scope
    task: Annotated[str, Field(min_length=1, max_length=limits.TASK_CHARACTERS), AfterValidator(check_query)]
    budget: ContextBudget
    filters: MemoryFilters | None = None
    constraints: ContextConstraints | None = None
    consistency: Literal["strong", "eventual"] = "eventual"
    """`strong` waits for what was accepted in the scope before the request, or answers consistency_unavailable."""
    format: Literal["segments", "text"] = "segments"
    """`text` adds the rendered context to the same selection."""


class ContextSegment(Body):
    """One memory, whole."""

    ref: MemoryRef
    content: str
    """What the memory says. Of JSON, the text by which it is found."""
    score: float
    """Higher is better; comparable within this answer only. 0 for what was required and would not have been found."""
    reason: str | SkipJsonSchema[None] = None
    provenance: Provenance
    """Where it comes from. An episode is its own source."""
    who: str | SkipJsonSchema[None] = None
    """Who said or made it."""
    when: Time
    """When that was: occurredAt, or createdAt where it does not say."""
    tokens: int
    """What its rendered unit costs."""


class WorkingContext(Body):
    scope: Scope
    task: str
    budget: ContextBudget
    segments: list[ContextSegment]
    """The oldest first."""
    token_estimate: int
    """The sum of the segments' tokens, and the exact count of the text that they are rendered to."""
    truncated: bool
    """Whether memories were left out for want of room."""
    warnings: list[ContextWarning]
    generated_at: Time
    tokenizer: str


class AssembleContextReply(Body):
    context: WorkingContext
    text: str | SkipJsonSchema[None] = None
    """The units of all segments, ready to be put into a prompt."""


@dataclass(frozen=True, slots=True)
class Assemble:
    """A request as the operation takes it; whether it waits first, and wants text; and the refs that no id can have, as they were sent."""

    request: domain.AssembleRequest
    strong: bool
    text: bool
    unreadable: Sequence[dict[str, Any]]


def parse(body: bytes) -> Assemble:
    """Read a request. Raises InvalidRequest."""
    sent = check(AssembleContextRequest, strict_json.loads(body))
    asked = sent.constraints or ContextConstraints()
    required, excluded = asked.must_include_refs or [], asked.excluded_refs or []
    if sent.budget.reserved_tokens >= sent.budget.max_tokens:
        raise refused("budget.reservedTokens", "must be less than maxTokens")
    if not {ref.id for ref in required}.isdisjoint(ref.id for ref in excluded):
        raise refused("constraints.excludedRefs", "must not name what mustIncludeRefs names")
    request = domain.AssembleRequest(
        scope=scope_of(sent.scope),
        task=sent.task,
        budget=domain.ContextBudget(
            sent.budget.max_tokens, sent.budget.max_segments, sent.budget.reserved_tokens, sent.budget.tokenizer
        ),
        filters=filters_of(sent.filters),
        constraints=domain.ContextConstraints(
            must_include=[ref for ref in map(read_ref, required) if ref is not None],
            excluded=[ref for ref in map(read_ref, excluded) if ref is not None],
            include_disputed=asked.include_disputed,
            include_superseded=asked.include_superseded,
            allow_stale=asked.allow_stale,
            prefer_recency=asked.prefer_recency,
            prefer_high_confidence=asked.prefer_high_confidence,
            max_segments=asked.max_segments,
        ),
    )
    unreadable = [echo(ref) for ref in required if read_ref(ref) is None]
    return Assemble(request, sent.consistency == "strong", sent.format == "text", unreadable)


def to_wire(asked: Assemble, context: domain.WorkingContext) -> dict[str, Any]:
    wire = {
        "scope": scope_to_wire(context.scope),
        "task": context.task,
        "budget": _budget_to_wire(context.budget),
        "segments": [_segment_to_wire(segment) for segment in context.segments],
        "tokenEstimate": context.token_estimate,
        "truncated": context.truncated,
        "warnings": _warnings_to_wire(asked, context),
        "generatedAt": time_to_wire(context.generated_at),
        "tokenizer": context.budget.tokenizer,
    }
    return present(context=wire, text=context.text if asked.text else None)


def _budget_to_wire(budget: domain.ContextBudget) -> dict[str, Any]:
    return present(
        maxTokens=budget.max_tokens,
        maxSegments=budget.max_segments,
        reservedTokens=budget.reserved_tokens,
        tokenizer=budget.tokenizer,
    )


def _segment_to_wire(segment: domain.ContextSegment) -> dict[str, Any]:
    return present(
        ref=ref_to_wire(segment.ref),
        content=segment.content,
        score=segment.score,
        reason=segment.reason or None,
        provenance=provenance_to_wire(segment.provenance),
        who=segment.who,
        when=time_to_wire(segment.when),
        tokens=segment.tokens,
    )


def _warnings_to_wire(asked: Assemble, context: domain.WorkingContext) -> list[dict[str, Any]]:
    """A ref whose id cannot exist is as unknown as any other."""
    warnings = warnings_to_wire(context.warnings) or []
    if asked.unreadable:
        missing = Omission.NOT_FOUND
        same = (one for one in warnings if one.get("metadata") == {"reason": missing.value})
        warning = next(same, None)
        if warning is None:
            warning = {"code": "required_ref_omitted", "message": OMITTED[missing], "refs": []}
            warning["metadata"] = {"reason": missing.value}
            warnings.append(warning)
        warning["refs"] = [*warning["refs"], *asked.unreadable]
    return warnings
