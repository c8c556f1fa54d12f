"""Preview: what consolidating a scope would do, without doing it. The plug-in runs in the process that is asked, and not for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
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
    Stage,
)
from infinicon.errors import InfiniconError, NotFound, Overloaded, Unavailable
from infinicon.keyring import Keyring
from infinicon.operations import plans, redaction, scopes
from infinicon.operations.counting import Counters
from infinicon.operations.plans import Checked
from infinicon.operations.redaction import Redactor
from infinicon.operations.selecting import Bounds, Slice, select, spec_of, undone
from infinicon.ports import Consolidator, ModelInfo
from infinicon.store import consolidation_runs
from infinicon.store.consolidation_changes import Kind
from infinicon.store.consolidation_runs import NIL
from infinicon.store.database import Database

AT_ONCE = 2
"""Previews in one process. One that hangs in a plug-in keeps its place until the process ends."""


class Previews:
    """Previews of one process, each in a thread of its own, for at most `seconds`."""

    def __init__(self, consolidator: Callable[[], Consolidator], counters: Counters, bounds: Bounds, seconds: float):
        self._consolidator = consolidator
        self._counters = counters
        self._bounds = bounds
        self._seconds = seconds
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
                return _shown(scope, part, self._in_time(part), redactor, complete=last)
        return Preview(0, complete=True)

    def _in_time(self, part: Slice) -> Checked:
        if not self._places.acquire(blocking=False):
            raise Overloaded("as many previews as there may be are at work", details={"limit": AT_ONCE})
        done: Future[Checked] = Future()

        def work() -> None:
            try:
                done.set_result(plans.propose(self._consolidator(), part))
            except InfiniconError as fault:  # raised where it is waited for
                done.set_exception(fault)
            finally:
                self._places.release()

        threading.Thread(target=work, name="preview", daemon=True).start()
        try:
            return done.result(self._seconds)
        except Late:
            raise Unavailable(
                "the consolidator did not answer in time", details={"stage": Stage.CONSOLIDATE.value}
            ) from None


def _shown(scope: ScopeKey, part: Slice, plan: Checked, redactor: Redactor, *, complete: bool) -> Preview:
    known = {one.id: one for one in part.memories.values()}

    def ref(memory: UUID) -> MemoryRef:
        own = known[memory]
        named = scope.named
        return MemoryRef(memory, own.type, Scope(named.tenant_id, named.namespace_id, own.agent_id, own.session_id))

    def pairs(kind: Kind) -> list[ProposedPair]:
        return [ProposedPair(ref(one.old), ref(one.new), one.reason) for one in plan.retired if one.kind is kind]

    return Preview(
        memories=len(part.fresh),
        complete=complete,
        digests=[
            ProposedDigest(
                redactor.text(one.title),
                redactor.text(one.content),
                [ref(source) for source in one.sources],
                [ref(old) for old in one.replaces],
            )
            for one in plan.digests
        ],
        supersessions=pairs(Kind.SUPERSEDED),
        duplicates=pairs(Kind.FOLDED),
        disputes=[ProposedPair(ref(one.first), ref(one.second), one.reason) for one in plan.disputes],
    )
