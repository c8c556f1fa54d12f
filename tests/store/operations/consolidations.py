"""A worker that consolidates, driven by hand; and consolidators for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from infinicon.domain import ConsolidateRequest, Job, MemoryFilters, RunRef, Scope, Trigger
from infinicon.operations import dispatch
from infinicon.operations.consolidate import consolidate as ask
from infinicon.operations.consolidating import Workshop, consolidate
from infinicon.operations.selecting import Bounds
from infinicon.ports import ConsolidationInput, Digest, Plan, SourceMemory
from tests.store.operations.conftest import Pipeline

Planning = Callable[[ConsolidationInput], Any]


class Stub:
    """A consolidator that does as a test says, and remembers what it was shown."""

    name = "stub"
    version = "1"
    deterministic = True

    def __init__(self, plan: Planning) -> None:
        self.plan = plan
        self.seen: list[ConsolidationInput] = []

    def consolidate(self, request: ConsolidationInput) -> Plan:
        self.seen.append(request)
        made: Plan = self.plan(request)
        return made


def nothing(_request: ConsolidationInput) -> Plan:
    return Plan()


def digest(request: ConsolidationInput) -> Plan:
    """One digest of all atoms, in the place of every consolidation that is there."""
    atoms = [one for one in request.memories if one.type == "atom"]
    old = [one.key for one in request.memories if one.type == "consolidation"]
    if len(atoms) < 2:
        return Plan()
    said = " ".join(sorted(one.content for one in atoms))
    return Plan(digests=[Digest("All", said, [one.key for one in atoms], old)])


def key_of(request: ConsolidationInput, words: str) -> str:
    """The key of the one memory that has these words."""
    (found,) = [one.key for one in request.memories if words in one.content]
    return found


def named(request: ConsolidationInput, words: str) -> SourceMemory:
    return next(one for one in request.memories if words in one.content)


class Consolidations:
    """One tenant's consolidations."""

    def __init__(self, pipeline: Pipeline, plan: Planning, *, memories: int = 500, attempts: int = 2) -> None:
        self.pipeline = pipeline
        self.stub = Stub(plan)
        self.memories = memories
        self.attempts = attempts

    @property
    def shop(self) -> Workshop:
        own = self.pipeline
        bounds = Bounds(self.memories, 256)
        return Workshop(own.app, own.leases, own.keyring, self.stub, own.embedder, own.counters, bounds, self.attempts)

    def ask(
        self, scope: Scope | None = None, *, trigger: Trigger = Trigger.MANUAL, filters: MemoryFilters | None = None
    ) -> Job:
        request = ConsolidateRequest(scope or self.pipeline.scope(), trigger, filters or MemoryFilters())
        return ask(self.pipeline.app, self.pipeline.caller, request)

    def published(self, *, lost: bool = False) -> list[RunRef]:
        """This tenant's runs that a message is due for."""
        sweeper = self.pipeline.sweeper
        found: Sequence[RunRef] = (
            dispatch.lost_consolidations(sweeper, republish_after=30)
            if lost
            else dispatch.consolidations(sweeper, window=1_000)
        )
        return [ref for ref in found if ref.tenant == self.pipeline.caller.tenant]

    def work(self, ref: RunRef) -> RunRef | None:
        return consolidate(self.shop, ref)

    def drain(self) -> None:
        """Publish and work until nothing is left."""
        while refs := self.published():
            for ref in refs:
                following: RunRef | None = ref
                while following is not None:
                    following = self.work(following)

    def run(self, scope: Scope | None = None, **asked: Any) -> Job:
        """Ask, and work until it is over."""
        job = self.ask(scope, **asked)
        self.drain()
        return self.job(job.id, scope)

    def job(self, job: UUID, scope: Scope | None = None) -> Job:
        return self.pipeline.job(job, scope)
