"""One pass of consolidation, for the conformance seam: the job that everybody can have, and what became of the number of entries."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from infinicon.domain import Caller, ConsolidateRequest, JobStatus, ListReply, ListRequest, PutRequest, Scope
from infinicon.errors import Unavailable
from infinicon.operations import entries, waiting
from infinicon.operations.consolidate import consolidate, standing
from infinicon.operations.jobs import OPEN
from infinicon.operations.put import put
from infinicon.operations.run_memory import KEPT, Parts, secret_of, wait, wait_until_indexed
from infinicon.operations.runs import allow

SAID = (
    "The customer prefers e-mail.",
    "Invoices go to the office in Leeds.",
    "The customer prefers e-mail.",
    "The contract ends in May 2027.",
    "Invoices go to the office in Leeds.",
)
"""What an empty memory is given, so that there is something to consolidate."""


@dataclass(frozen=True, slots=True)
class Pass:
    """`before` and `after` are numbers of entries. `leaked`: the plaintext of a secret that was put could be read."""

    memory_ref: str
    job: UUID
    before: int
    after: int
    leaked: bool


def consolidation_pass(parts: Parts, caller: Caller, memory_ref: str, *, canary: bool) -> Pass:
    """Consolidate what waits under a memoryRef, which names a namespace, and wait for it. `canary`: put a secret there first.

    Raises:
        Unauthorized: the caller is no admin of the whole tenant.
        IndexTimeout: the pipeline, or the consolidation, took too long.
        Unavailable: the consolidation failed.
    """
    allow(caller)
    _, secret = secret_of(parts, caller)
    given = [] if _listed(parts, caller, memory_ref).entries else list(SAID)
    if canary:
        given.append(f"The billing system signs with {secret}.")
    expires_at = waiting.now(parts.database) + KEPT
    for content in given:
        request = PutRequest(memory_ref, content, expires_at=expires_at)
        put(parts.database, parts.keyring, parts.counters, caller, request)
    parts.wake()
    wait_until_indexed(parts, memory_ref, caller)
    before = len(_listed(parts, caller, memory_ref).entries)
    job = consolidate(parts.database, caller, ConsolidateRequest(Scope(caller.tenant_name, memory_ref)))
    parts.wake()
    if job.status in OPEN:
        wait(
            lambda: standing(parts.database, caller, job).status not in OPEN,
            "the consolidation did not end in time",
        )
        job = standing(parts.database, caller, job)
    if job.status is not JobStatus.COMPLETED:
        raise Unavailable("the consolidation failed: getJob says why")
    found = _listed(parts, caller, memory_ref).entries
    return Pass(memory_ref, job.id, before, len(found), any(secret in repr(entry) for entry in found))


def _listed(parts: Parts, caller: Caller, memory_ref: str) -> ListReply:
    return entries.list_entries(parts.database, parts.embedder, parts.counters, caller, ListRequest(memory_ref))
