"""dispute and resolve: what people and agents say of memories that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import limits, strict_json
from infinicon.api.wire.hydrate import Relation, read_ref, relations_to_wire
from infinicon.api.wire.shared import MemoryRef, Scope, present, ref_to_wire, scope_of
from infinicon.api.wire.validate import Body, check, refused
from infinicon.operations.corrections import Standing


class DisputeRequest(Body):
    scope: Scope
    refs: Annotated[list[MemoryRef], Field(min_length=2, max_length=2)]
    """The two that contradict each other."""


class ResolveRequest(Body):
    """Members that are not known here are refused: a `holds` that was passed over would say that nothing gives way."""

    model_config = ConfigDict(extra="forbid")

    scope: Scope
    refs: Annotated[list[MemoryRef], Field(min_length=1, max_length=limits.CORRECTIONS)]
    """Memories whose contradictions are settled; or one that gave way to another by a consolidation, and that other, to part them."""
    holds: MemoryRef | None = None
    """The one that holds: the others are superseded by it. Absent: none is, the contradiction, or the consolidation, was an error."""


class StandingReply(Body):
    ref: MemoryRef
    status: Literal["active", "disputed", "superseded", "pending", "failed"]
    related: list[Relation] | SkipJsonSchema[None] = None
    """The links of corrections and contradictions that lead to it or away from it, the newest 100, newest first."""


class CorrectionReply(Body):
    results: list[StandingReply]
    """What each of the refs is now, in their order."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A request as the operations take it; None stands for a ref whose id cannot exist."""

    scope: domain.Scope
    refs: Sequence[domain.MemoryRef | None]
    holds: domain.MemoryRef | None = None


def parse_dispute(body: bytes) -> Correction:
    """Raises InvalidRequest."""
    sent = check(DisputeRequest, strict_json.loads(body))
    return Correction(scope_of(sent.scope), [read_ref(ref) for ref in sent.refs])


def parse_resolve(body: bytes) -> Correction:
    """Raises InvalidRequest."""
    sent = check(ResolveRequest, strict_json.loads(body))
    holds = None if sent.holds is None else read_ref(sent.holds)
    if sent.holds is not None and holds is None:
        raise refused("holds", "must be the ref of a memory")
    return Correction(scope_of(sent.scope), [read_ref(ref) for ref in sent.refs], holds)


def to_wire(standing: Sequence[Standing]) -> dict[str, Any]:
    results = [
        present(ref=ref_to_wire(one.ref), status=one.status.value, related=relations_to_wire(one.related) or None)
        for one in standing
    ]
    return {"results": results}
