"""consolidate: what waits in a scope is made into fewer and better memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic.json_schema import SkipJsonSchema

from infinicon import domain
from infinicon.api import strict_json
from infinicon.api.wire.filters import MemoryFilters, filters_of
from infinicon.api.wire.jobs import JobStatusName
from infinicon.api.wire.shared import MemoryRef, Scope, present, ref_to_wire, scope_of
from infinicon.api.wire.validate import Body, check

Mode = Literal["enqueue", "run_now", "preview"]


class ConsolidateRequest(Body):
    scope: Scope
    """What waits in it. Memories are consolidated within one agentId across its sessions, unless the namespace's policy says otherwise."""
    trigger: Literal["manual", "scheduled", "threshold", "idle"]
    """Why it starts. Only `manual` takes up again what was undone."""
    filters: MemoryFilters | None = None
    """As in query: only what passes is looked at anew. What it is compared with is not filtered."""
    mode: Mode = "enqueue"
    """`run_now` answers when the job is over, or is still running after `waitSeconds`. `preview` answers with the plan of the first slice,
    and changes nothing."""


class DigestPlan(Body):
    title: str
    content: str
    source_refs: list[MemoryRef]
    replaces: list[MemoryRef]
    """Consolidations whose place it would take."""


class PairPlan(Body):
    ref: MemoryRef
    other: MemoryRef
    content: str
    """What `ref` says."""
    other_content: str
    """What `other` says."""
    reason: str | SkipJsonSchema[None] = None
    """A word of the plug-in."""


class ConsolidationPlan(Body):
    memories: int
    """Looked at anew."""
    complete: bool
    """Whether this is all that waits; otherwise it is the first slice."""
    digests: list[DigestPlan]
    supersessions: list[PairPlan]
    """`other` would take the place of `ref`."""
    duplicates: list[PairPlan]
    """`ref` would be folded into `other`."""
    disputes: list[PairPlan]
    """The two contradict each other."""


class ConsolidateReply(Body):
    job_id: str | SkipJsonSchema[None] = None
    """Of the job that was started, or of the one that works there already. Absent from a preview alone."""
    status: JobStatusName
    plan: ConsolidationPlan | SkipJsonSchema[None] = None
    """Of a preview."""


@dataclass(frozen=True, slots=True)
class Consolidate:
    """A request as the operation takes it, and how it is answered."""

    request: domain.ConsolidateRequest
    mode: Mode


def parse(body: bytes) -> Consolidate:
    """Read a request. Raises InvalidRequest."""
    sent = check(ConsolidateRequest, strict_json.loads(body))
    request = domain.ConsolidateRequest(scope_of(sent.scope), domain.Trigger(sent.trigger), filters_of(sent.filters))
    return Consolidate(request, sent.mode)


def to_wire(job: domain.Job) -> dict[str, Any]:
    return {"jobId": str(job.id), "status": job.status.value}


def preview_to_wire(preview: domain.Preview) -> dict[str, Any]:
    plan = {
        "memories": preview.memories,
        "complete": preview.complete,
        "digests": [
            {
                "title": one.title,
                "content": one.content,
                "sourceRefs": [ref_to_wire(source) for source in one.sources],
                "replaces": [ref_to_wire(old) for old in one.replaces],
            }
            for one in preview.digests
        ],
        "supersessions": _pairs(preview.supersessions),
        "duplicates": _pairs(preview.duplicates),
        "disputes": _pairs(preview.disputes),
    }
    return {"status": "completed", "plan": plan}


def _pairs(pairs: Sequence[domain.ProposedPair]) -> list[dict[str, Any]]:
    return [
        present(
            ref=ref_to_wire(one.first),
            other=ref_to_wire(one.second),
            content=one.content,
            otherContent=one.second_content,
            reason=one.reason,
        )
        for one in pairs
    ]
