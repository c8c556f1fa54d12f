"""Refusing: what a person took back of a consolidation is not made again, whoever proposes it; and one merge that is taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from infinicon.domain import LinkType, MemoryRef, ScopeKey, Status
from infinicon.operations.plans import Checked, NewDigest
from infinicon.store import backlog, consolidation_changes, corrections, refusals
from infinicon.store.corrections import Changed, Edge
from infinicon.store.database import Transaction
from infinicon.store.refusals import Merge


def without_refused(
    tx: Transaction, tenant: int, plan: Checked, fingerprint: Callable[[NewDigest], bytes]
) -> tuple[Checked, int]:
    """The plan without what people took back before, and how much that was.

    Of a pair that was merged wrongly neither gives way to the other again, in whatever order or for whatever reason; a digest is the
    same that has the same sources and text.
    """
    ends = {memory for one in plan.retired for memory in (one.old, one.new)}
    ends |= {memory for one in plan.disputes for memory in (one.first, one.second)}
    refused = refusals.pairs(tenant, tx, ends)
    known = {id(digest): fingerprint(digest) for digest in plan.digests}
    again = refusals.digests(tenant, tx, set(known.values()))
    left = Checked(
        [one for one in plan.digests if known[id(one)] not in again],
        [one for one in plan.retired if frozenset({one.old, one.new}) not in refused.merges],
        [one for one in plan.disputes if frozenset({one.first, one.second}) not in refused.disputes],
    )
    return left, _parts(plan) - _parts(left)


def _parts(plan: Checked) -> int:
    return len(plan.digests) + len(plan.retired) + len(plan.disputes)


def repair(
    scope: ScopeKey, tx: Transaction, merges: Sequence[Merge], holds: MemoryRef | None
) -> tuple[list[Changed], list[Changed]]:
    """Take single merges back: what had given way is active again, unless something else stands in its place, and waits for a person.
    With `holds`, which gave way in all of them, the others are superseded by it. Answers with what is visible again, and what is not."""
    tenant = scope.tenant
    refusals.repair(tenant, tx, merges)
    revived = consolidation_changes.revive(tenant, tx, {one.memory for one in merges})
    said = corrections.stated(tenant, tx, {one.id for one in revived})
    revived += consolidation_changes.revive(tenant, tx, said)
    retired = [] if holds is None else _retire(scope, tx, {one.other for one in merges}, holds)
    backlog.leave(tenant, tx, {one.id for one in retired})
    backlog.add(tenant, tx, {one.id for one in revived}, undone=True)
    return revived, retired


def _retire(scope: ScopeKey, tx: Transaction, losers: set[UUID], holds: MemoryRef) -> list[Changed]:
    held = corrections.hold(scope.tenant, tx, losers)
    edges = [Edge(LinkType.SUPERSEDES, holds.id, holds.type, loser, kind) for loser, (kind, _) in held.items()]
    corrections.insert(scope, tx, edges, Status.ACTIVE)
    return corrections.retire(scope.tenant, tx, losers)
