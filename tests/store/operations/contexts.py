"""What tests read from a context, and what holds of every one."""

from __future__ import annotations

from datetime import UTC, datetime

from infinicon.domain import (
    ContextWarning,
    MemoryRef,
    WorkingContext,
)
from tests.store.operations.conftest import COUNTERS

FACTS = (
    "The heron flew over the bay at dawn.",
    "A lighthouse blinked twice in the fog.",
    "Rosa moved from Lisbon to Turin in May.",
    "The boiler in the cellar makes a noise.",
    "Nobody has seen the spare key since Sunday.",
    "The train to the coast leaves at seven.",
)
DAY = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def contents(context: WorkingContext) -> list[str]:
    return [segment.content for segment in context.segments]


def warned(context: WorkingContext) -> dict[str, ContextWarning]:
    return {warning.code: warning for warning in context.warnings}


def ref_of(context: WorkingContext, content: str) -> MemoryRef:
    (found,) = [segment.ref for segment in context.segments if segment.content == content]
    return found


def check(context: WorkingContext) -> None:
    """What holds of every context."""
    budget = context.budget
    assert context.token_estimate == sum(segment.tokens for segment in context.segments)
    assert context.token_estimate == COUNTERS.count(budget.tokenizer, context.text)
    assert context.token_estimate <= budget.max_tokens - budget.reserved_tokens
    assert context.truncated == ("truncated" in warned(context))
    assert (not context.segments) == ("empty_context" in warned(context))
    assert len({segment.ref.id for segment in context.segments}) == len(context.segments)
    assert [segment.when for segment in context.segments] == sorted(segment.when for segment in context.segments)
    assert all(segment.provenance.source_refs for segment in context.segments)
