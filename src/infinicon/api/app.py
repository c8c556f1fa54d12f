"""The FastAPI application of one process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import FastAPI

import infinicon
from infinicon.api import errors, limits, openapi
from infinicon.api.body import BodyLimit
from infinicon.api.discovery import Discovery
from infinicon.api.entry import House
from infinicon.api.gate import Gate
from infinicon.api.player import Player
from infinicon.api.rates import Rates
from infinicon.api.readiness import Readiness
from infinicon.api.routes import (
    administration,
    conformance,
    consolidate,
    context,
    corrections,
    discovery,
    entries,
    events,
    health,
    hydrate,
    ingest,
    jobs,
    keys,
    policy,
    query,
    secrets,
    tombstone,
)
from infinicon.api.streams import Streams
from infinicon.api.waiting import WaitingRoom
from infinicon.api.wire.discovery import Advertised
from infinicon.errors import Unavailable
from infinicon.operations import ready, runs, workflows
from infinicon.runtime import Runtime
from infinicon.tasks.enqueue import Dispatcher

ROUTES = (
    ingest,
    query,
    hydrate,
    context,
    consolidate,
    entries,
    tombstone,
    corrections,
    policy,
    jobs,
    events,
    keys,
    secrets,
    administration,
    discovery,
    health,
)


def create_app(runtime: Runtime, dispatcher: Dispatcher) -> FastAPI:
    """The whole API. It starts and stops the dispatcher with itself; the runtime is its caller's."""
    settings = runtime.settings

    def look() -> None:
        ready.check(runtime.database)
        if not runtime.embedder.ready():
            raise Unavailable("the encoder does not answer; try again")
        runtime.check_counters()

    def advertise() -> Advertised:
        unit = runtime.counters.budget_unit()
        fixtures = None
        if settings.conformance:
            other = runs.find_other(runtime.database, runtime.keyring)
            fixtures = workflows.playable(other=other is not None, counted=unit is not None)
        return Advertised(unit, runtime.embedder.ready(), fixtures)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = limits.THREADS
        dispatcher.start()
        try:
            yield
        finally:
            app.state.house.player.close()
            await anyio.to_thread.run_sync(dispatcher.stop)

    app = FastAPI(
        title="Infinicon",
        version=infinicon.__version__,
        description=openapi.DESCRIPTION,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # it would export the text of exceptions
    )
    waiting = WaitingRoom(runtime.database, settings.index_wait)
    app.state.house = House(
        runtime,
        dispatcher,
        waiting,
        Readiness(look),
        Streams(runtime),
        Discovery(advertise),
        Player(runtime, dispatcher),
        Rates(settings.key_requests_per_minute),
    )
    for module in (*ROUTES, conformance) if settings.conformance else ROUTES:
        app.include_router(module.router)
    errors.install(app, conformance=settings.conformance)
    openapi.install(app, settings)
    app.add_middleware(
        BodyLimit,
        max_bytes=settings.max_body_bytes,
        max_bytes_together=limits.BODIES_TOGETHER * settings.max_body_bytes,
    )
    app.add_middleware(Gate, capacity=settings.max_concurrent_requests)  # added last, so outermost
    return app
