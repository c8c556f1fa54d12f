"""Preview: what consolidating a scope would do, without doing it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from infinicon.domain import (
    Caller,
    ConsolidateRequest,
    MemoryRef,
    Permission,
    Preview,
    ProposedDigest,
    ProposedPair,
    Scope,
    ScopeKey,
)
from infinicon.errors import NotFound, Overloaded
from infinicon.keyring import Keyring
from infinicon.operations import redaction, scopes
from infinicon.operations.applying import fingerprint, redacted
from infinicon.operations.counting import Counters
from infinicon.operations.plans import Checked
from infinicon.operations.redaction import Redactor
from infinicon.operations.refusing import without_refused
from infinicon.operations.selecting import Bounds, Slice, select, spec_of, undone
from infinicon.ports import ModelInfo
from infinicon.store import consolidation_runs
from infinicon.store.consolidation_changes import Kind
from infinicon.store.consolidation_runs import NIL
from infinicon.store.database import Database

AT_ONCE = 2
"""Previews in one process."""


class Previews:
    """Previews of one process. `ask` has the plug-in propose something for a slice, in a bounded time (operations/asking.py)."""

    def __init__(self, ask: Callable[[Slice], Checked], counters: Counters, bounds: Bounds):
        self._ask = ask
        self._counters = counters
        self._bounds = bounds
        self._places = threading.BoundedSemaphore(AT_ONCE)

    def preview(
        self, database: Database, keyring: Keyring, model: ModelInfo, caller: Caller, request: ConsolidateRequest
    ) -> Preview:
        """What the first slice that has anything would come to.

        Raises:
            NotFound: there is no such namespace.
            Unauthorized: the key may not consolidate in this scope.
            Overloaded: as many previews as there may be are at work.
            PluginFailed, EmptySynthesis: the plug-in fails, or its plan breaks a rule.
            Unavailable: the plug-in takes too long.
        """
        spec = spec_of(request)
        with database.transaction(caller.tenant) as tx:
            scope = scopes.resolve(tx, caller, request.scope, Permission.CONSOLIDATE)
            if not scope.namespace:
                raise NotFound("there is no such namespace")
            found = consolidation_runs.find(scope, tx, undone=undone(spec))
            withins = consolidation_runs.named(scope.tenant, tx, found)
            redactor = redaction.in_scope(scope, tx, keyring)
        for place, within in enumerate(withins):
            part = select(database, self._counters, model, caller.tenant, within, spec, NIL, self._bounds)
            if part.fresh:
                last = part.last and place == len(withins) - 1
                plan = _redacted(self._asked(part), redactor)
                with database.transaction(caller.tenant) as tx:
                    plan, _ = without_refused(tx, caller.tenant, plan, partial(fingerprint, within))
                return _shown(scope, part, plan, redactor, complete=last)
        return Preview(0, complete=True)

    def _asked(self, part: Slice) -> Checked:
        if not self._places.acquire(blocking=False):
            raise Overloaded("as many previews as there may be are at work", details={"limit": AT_ONCE})
        try:
            return self._ask(part)
        finally:
            self._places.release()


def _redacted(plan: Checked, redactor: Redactor) -> Checked:
    return replace(plan, digests=[redacted(redactor, digest) for digest in plan.digests])


def _shown(scope: ScopeKey, part: Slice, plan: Checked, redactor: Redactor, *, complete: bool) -> Preview:
    known = {one.id: one for one in part.memories.values()}

    def ref(memory: UUID) -> MemoryRef:
        own = known[memory]
        named = scope.named
        return MemoryRef(memory, own.type, Scope(named.tenant_id, named.namespace_id, own.agent_id, own.session_id))

    def said(memory: UUID) -> str:
        return redactor.text(known[memory].content)

    def pair(first: UUID, second: UUID, reason: str | None) -> ProposedPair:
        return ProposedPair(ref(first), ref(second), said(first), said(second), reason)

    def pairs(kind: Kind) -> list[ProposedPair]:
        return [pair(one.old, one.new, one.reason) for one in plan.retired if one.kind is kind]

    return Preview(
        memories=len(part.fresh),
        complete=complete,
        digests=[
            ProposedDigest(
                one.title,
                one.content,
                [ref(source) for source in one.sources],
                [ref(old) for old in one.replaces],
            )
            for one in plan.digests
        ],
        supersessions=pairs(Kind.SUPERSEDED),
        duplicates=pairs(Kind.FOLDED),
        disputes=[pair(one.first, one.second, one.reason) for one in plan.disputes],
    )
