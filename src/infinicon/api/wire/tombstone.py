"""tombstone: refs in, and what became of each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.hydrate import read_ref
from infinicon.api.wire.shared import (
    MemoryApiError,
    MemoryRef,
    Scope,
    check_text,
    fault_to_wire,
    present,
    ref_to_wire,
    scope_of,
    scope_to_wire,
)
from infinicon.api.wire.validate import Body, check, rule


def check_reason(value: str) -> str:
    if not value.strip():
        raise rule("must not be blank")
    return check_text(value)


class TombstoneRequest(Body):
    scope: Scope
    refs: Annotated[list[MemoryRef], Field(min_length=1, max_length=limits.REFS)]
    reason: Annotated[str, Field(min_length=1, max_length=limits.REASON_CHARACTERS), AfterValidator(check_reason)]
    """Kept with the tombstone, so it must not repeat what is deleted."""
    cascade_policy: Literal["none", "mark_derived_stale", "tombstone_derived"]
    """`none` touches only the refs. `mark_derived_stale` marks what was derived from them, to any depth: it is returned no more, except
    in contexts that allow it. `tombstone_derived` tombstones it too; an atom survives if another living source says the same."""


class TombstoneResult(Body):
    ref: MemoryRef
    status: Literal["tombstoned", "already_tombstoned", "not_found", "rejected"]
    affected_derived_refs: list[MemoryRef] | SkipJsonSchema[None] = None
    error: MemoryApiError | SkipJsonSchema[None] = None


class TombstoneReply(Body):
    results: list[TombstoneResult]
    """One for each ref, in their order."""
    job_id: str | SkipJsonSchema[None] = None
    """There where so much goes that its content is removed after the answer; nothing of it is visible any more."""


def parse(body: bytes) -> tuple[domain.TombstoneRequest, list[dict[str, Any]]]:
    """A request, and its refs as they were sent. Raises InvalidRequest."""
    sent = check(TombstoneRequest, strict_json.loads(body))
    request = domain.TombstoneRequest(
        scope=scope_of(sent.scope),
        refs=[read_ref(ref) for ref in sent.refs],
        reason=sent.reason,
        cascade=domain.Cascade(sent.cascade_policy),
    )
    return request, [{"id": r.id, "type": r.type, "scope": scope_to_wire(scope_of(r.scope))} for r in sent.refs]


def to_wire(refs: list[dict[str, Any]], reply: domain.TombstoneReply) -> dict[str, Any]:
    results = [
        present(
            ref=ref,
            status=result.status.value,
            affectedDerivedRefs=[ref_to_wire(found) for found in result.affected] or None,
            error=None if result.error is None else fault_to_wire(result.error),
        )
        for ref, result in zip(refs, reply.results, strict=True)
    ]
    return present(results=results, jobId=None if reply.job_id is None else str(reply.job_id))
