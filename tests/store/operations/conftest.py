"""The pipeline without processes: every stage is called as its task would call it, on a real Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from infinicon.domain import (
    AssembleRequest,
    BatchRef,
    Caller,
    ContextBudget,
    ContextConstraints,
    Fault,
    HydrateRequest,
    IngestEpisode,
    IngestReply,
    IngestRequest,
    Job,
    JobFilter,
    JobsPage,
    JobsRequest,
    Json,
    Lane,
    MemoryFilters,
    MemoryRef,
    Permission,
    QueryReply,
    QueryRequest,
    Scope,
    ScopeKey,
    Span,
    Stage,
    WorkingContext,
)
from infinicon.keyring import Keyring
from infinicon.operations import dispatch as dispatching
from infinicon.operations import events as events_operation
from infinicon.operations.context import assemble
from infinicon.operations.counting import Counters
from infinicon.operations.dispatch import LaneLimits
from infinicon.operations.embed import embed
from infinicon.operations.extract import extract
from infinicon.operations.hydrate import hydrate
from infinicon.operations.index import index
from infinicon.operations.ingest import ingest
from infinicon.operations.jobs import cancel_job, get_job, list_jobs, retry_job
from infinicon.operations.leases import Leases
from infinicon.operations.query import query
from infinicon.operations.reindex import reindex
from infinicon.plugins.extractor import load as load_extractor
from infinicon.plugins.loader import load_token_counter
from infinicon.ports import Embedder, Extractor, ModelInfo, Vectors
from infinicon.settings import Settings
from infinicon.store import tenancy
from infinicon.store.database import Database
from tests.store.operations.feeds import Feed

COUNTERS = Counters(partial(load_token_counter, Settings()))
"""One for all tests: a vocabulary takes a second to read."""


class WordEmbedder:
    """Vectors from hashed words: texts that share words are near. Deterministic, and quick to load."""

    model = ModelInfo("words", "1", 64, 256)

    def chunk(self, texts: Sequence[str]) -> list[list[Span]]:
        return [[Span(at, min(at + 400, len(text))) for at in range(0, max(len(text), 1), 400)] for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = 0.1
            for word in text.lower().split():
                row[int.from_bytes(blake2b(word.strip(".,:?!").encode(), digest_size=2).digest(), "big") % 64] += 1
        unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
        return unit

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])


class Pipeline:
    """One tenant's pipeline, driven by hand."""

    def __init__(self, app: Database, sweeper: Database, tenant: int, name: str, leases: Leases) -> None:
        self.app = app
        self.sweeper = sweeper
        self.leases = leases
        self.keyring = Keyring("k" * 32)
        self.extractor: Extractor = load_extractor(Settings())
        self.counters = COUNTERS
        self.embedder: Embedder = WordEmbedder()
        self.caller = Caller(tenant, name, uuid4(), frozenset(Permission))
        self.limits = LaneLimits(64, 10_000, 100)

    def scope(
        self,
        namespace: str = "notes",
        agent: str | None = None,
        session: str | None = None,
        filters: dict[str, Json] | None = None,
    ) -> Scope:
        return Scope(self.caller.tenant_name, namespace, agent, session, filters)

    def ingest(
        self,
        *episodes: IngestEpisode | Fault,
        scope: Scope | None = None,
        lane: Lane | None = None,
        key: str | None = None,
        body: bytes = b"",
        label: str | None = None,
    ) -> IngestReply:
        request = IngestRequest(scope or self.scope(), episodes, label, lane, key, body)
        return ingest(self.app, self.keyring, self.extractor, self.caller, request)

    def put(self, *texts: str, scope: Scope | None = None, lane: Lane | None = None) -> IngestReply:
        """Plain texts without dedupeKeys."""
        return self.ingest(*[IngestEpisode("text/plain", text) for text in texts], scope=scope, lane=lane)

    def claim(self, lane: Lane = Lane.INTERACTIVE) -> list[BatchRef]:
        """This tenant's batches; other tests' batches are left alone."""
        return self._own(dispatching.dispatch(self.sweeper, lane, self.limits))

    def reconcile(self) -> list[BatchRef]:
        """This tenant's batches that a message is due for."""
        return self._own(dispatching.reconcile(self.sweeper, republish_after=30, attempts=5))

    def _own(self, batches: Sequence[BatchRef]) -> list[BatchRef]:
        return [batch for batch in batches if batch.tenant == self.caller.tenant]

    def extract(self, ref: BatchRef) -> BatchRef:
        extract(self.app, self.keyring, self.extractor, self.counters, self.leases, ref)
        return BatchRef(ref.tenant, ref.batch, 1, Stage.EMBED, ref.lane)

    def embed(self, ref: BatchRef) -> BatchRef:
        embed(self.app, self.embedder, self.leases, ref)
        return BatchRef(ref.tenant, ref.batch, 1, Stage.INDEX, ref.lane)

    def index(self, ref: BatchRef) -> None:
        index(self.app, self.leases, ref)

    def run(self, ref: BatchRef) -> None:
        """All stages of a batch, from the one it is at."""
        if ref.stage is Stage.EXTRACT:
            ref = self.extract(ref)
        if ref.stage is Stage.EMBED:
            ref = self.embed(ref)
        self.index(ref)

    def drain(self) -> None:
        """Dispatch and run until nothing of this tenant waits."""
        while batches := [batch for lane in Lane for batch in self.claim(lane)]:
            for batch in batches:
                self.run(batch)

    def job(self, job: UUID | str, scope: Scope | None = None) -> Job:
        return get_job(self.app, self.caller, scope or self.scope(), str(job))

    def jobs(
        self, scope: Scope | None = None, *, limit: int = 50, cursor: str | None = None, **wanted: Any
    ) -> JobsPage:
        request = JobsRequest(scope or self.scope(), JobFilter(**wanted), limit, cursor)
        return list_jobs(self.app, self.keyring, self.caller, request)

    def cancel(self, job: UUID, scope: Scope | None = None) -> Job:
        return cancel_job(self.app, self.caller, scope or self.scope(), str(job))

    def retry(self, job: UUID, scope: Scope | None = None) -> Job:
        return retry_job(self.app, self.caller, scope or self.scope(), str(job))

    def reindex(self, scope: Scope | None = None) -> Job:
        return reindex(self.app, self.caller, scope or self.scope())

    def query(self, text: str, limit: int = 10, scope: Scope | None = None, **wanted: Any) -> QueryReply:
        """With `filters` and `cursor`, as a request has them."""
        request = QueryRequest(scope or self.scope(), text, limit, **wanted)
        return query(self.app, self.keyring, self.embedder, self.caller, request)

    def content(self, ref: MemoryRef) -> Json:
        """What a memory says."""
        (memory,) = hydrate(self.app, self.caller, HydrateRequest(ref.scope, [ref])).objects
        return memory.content

    def assemble(
        self,
        task: str,
        max_tokens: int = 1_000,
        scope: Scope | None = None,
        filters: MemoryFilters | None = None,
        constraints: ContextConstraints | None = None,
        **budget: Any,
    ) -> WorkingContext:
        request = AssembleRequest(
            scope or self.scope(),
            task,
            ContextBudget(max_tokens, **budget),
            filters or MemoryFilters(),
            constraints or ContextConstraints(),
        )
        return assemble(self.app, self.keyring, self.embedder, self.counters, self.caller, request)

    def found(self, text: str, limit: int = 10, scope: Scope | None = None) -> list[Json]:
        """The contents of what a query finds, the best first."""
        refs = [hit.ref for hit in self.query(text, limit, scope).hits]
        shown = hydrate(self.app, self.caller, HydrateRequest(scope or self.scope(), refs))
        return [memory.content for memory in shown.objects]


@pytest.fixture
def leases(app: Database) -> Iterator[Leases]:
    held = Leases(app, seconds=30, ceiling=300, retry_base=0, on_overrun=lambda _: None)
    yield held
    held.close()


@pytest.fixture
def new_pipeline(
    app: Database, sweeper: Database, owner: Database, leases: Leases, empty_pipeline: None
) -> Callable[[], Pipeline]:
    """Makes pipelines, each with a tenant of its own."""

    def make() -> Pipeline:
        name = f"tenant-{uuid4()}"
        with owner.transaction(None) as tx:
            tenant = tenancy.ensure_tenant(tx, name)
        return Pipeline(app, sweeper, tenant, name, leases)

    return make


@pytest.fixture
def pipeline(new_pipeline: Callable[[], Pipeline]) -> Pipeline:
    return new_pipeline()


@pytest.fixture
def feed(app: Database, scope: ScopeKey) -> Feed:
    return Feed(app, scope)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 5 positions, two for a page; 4 events forgotten at once."""
    monkeypatch.setattr(events_operation, "WIDTH", 5)
    monkeypatch.setattr(events_operation, "WINDOWS", 2)
    monkeypatch.setattr(events_operation, "FORGOTTEN_AT_ONCE", 4)
