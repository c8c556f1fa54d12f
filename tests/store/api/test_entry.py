"""What becomes of requests before anything is asked of them: keys, their shares and their minutes, on a real store and the whole app."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from infinicon.api.app import create_app
from infinicon.domain import Permission
from infinicon.errors import Unavailable
from infinicon.ids import new_id
from infinicon.keyring import Keyring, api_key_digest, new_api_key
from infinicon.settings import Settings
from infinicon.store import tenancy
from infinicon.store.database import Database
from tests.conftest import Cluster

Headers = dict[str, str]


@pytest.fixture
def new_key(owner: Database) -> Callable[[str], Headers]:
    """Headers with a new key of the tenant of that name."""

    def make(tenant_name: str) -> Headers:
        secret = new_api_key()
        with owner.transaction(None) as tx:
            tenant = tenancy.ensure_tenant(tx, tenant_name)
            tenancy.add_key(tenant, tx, new_id(), api_key_digest(secret), frozenset(Permission))
        return {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    return make


def app_with(database: Database, **settings: Any) -> FastAPI:
    embedder = SimpleNamespace(ready=lambda: True)
    runtime = SimpleNamespace(
        database=database,
        settings=Settings(**settings),
        embedder=embedder,
        keyring=Keyring("k" * 32),
        check_counters=lambda: None,
    )
    return create_app(cast("Any", runtime), cast("Any", SimpleNamespace()))


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://api")


def test_a_key_has_its_requests_a_minute(app: Database, new_key: Callable[[str], Headers]) -> None:
    tenant = f"tenant-{uuid4()}"
    one, other = new_key(tenant), new_key(tenant)
    served = app_with(app, key_requests_per_minute=3)

    async def scenario() -> None:
        async with client_of(served) as http:
            assert [(await http.get("/v0/key", headers=one)).status_code for _ in range(3)] == [200] * 3
            reply = await http.get("/v0/key", headers=one)
            assert (reply.status_code, reply.json()["code"], reply.json()["retryable"]) == (429, "overloaded", True)
            assert reply.headers["retry-after"] == "20"
            assert (await http.post("/v0/query", headers=one, content=b"not read")).status_code == 429
            assert (await http.get("/v0/key", headers=other)).status_code == 200
            for path in ("/healthz", "/openapi.json"):
                assert (await http.get(path, headers=one)).status_code == 200
            # Who has no key has no bucket, and learns nothing of those of others.
            for _ in range(5):
                assert (await http.get("/v0/key", headers={"Authorization": "Bearer x"})).status_code == 401

    asyncio.run(scenario())


def test_a_parameter_that_is_there_twice_is_refused(app: Database, new_key: Callable[[str], Headers]) -> None:
    tenant = f"tenant-{uuid4()}"
    key, served = new_key(tenant), app_with(app)

    async def scenario() -> None:
        async with client_of(served) as http:
            assert (await http.get("/v0/memory/bindings?limit=1", headers=key)).status_code == 200
            reply = await http.get("/v0/memory/bindings?limit=1&limit=2", headers=key)
            assert (reply.status_code, reply.json()["code"]) == (400, "invalid_request")
            reply = await http.get("/v0/memory/bindings?limit=1&limit=2")
            assert reply.status_code == 401, "who has no key learns nothing else"

    asyncio.run(scenario())


def test_slow_bodies_of_one_key_leave_the_door_open(app: Database, new_key: Callable[[str], Headers]) -> None:
    tenant = f"tenant-{uuid4()}"
    slow, beside, stranger = new_key(tenant), new_key(tenant), new_key(f"tenant-{uuid4()}")
    served = app_with(app, max_concurrent_requests=8)

    async def scenario() -> list[int]:
        everything_came = asyncio.Event()
        arrived = asyncio.Semaphore(0)

        async def dripping() -> AsyncIterator[bytes]:
            yield b'{"scope": '
            arrived.release()
            await everything_came.wait()
            yield b"}"

        async with client_of(served) as http:

            def drip(headers: Headers) -> asyncio.Task[httpx.Response]:
                return asyncio.create_task(http.post("/v0/query", headers=headers, content=dripping()))

            held = [drip(slow) for _ in range(4)]
            for _ in held:
                await arrived.acquire()
            assert (await http.get("/v0/key", headers=slow)).json()["details"] == {"limit": 4}
            assert (await http.get("/v0/key", headers=beside)).status_code == 200
            held += [drip(beside) for _ in range(2)]
            for _ in range(2):
                await arrived.acquire()
            assert (await http.get("/v0/key", headers=beside)).json()["details"] == {"limit": 6}
            assert (await http.get("/v0/key", headers=stranger)).status_code == 200
            everything_came.set()
            statuses = [(await request).status_code for request in held]
            assert (await http.get("/v0/key", headers=slow)).status_code == 200
            return statuses

    assert asyncio.run(scenario()) == [400] * 6


def test_readiness_tells_of_a_full_disk(cluster: Cluster, new_key: Callable[[str], Headers]) -> None:
    """Reads are served all the same, so it is no reason to send nobody here."""
    database = Database(cluster.app_url, pool_size=2)
    served = app_with(database)

    async def asked(http: httpx.AsyncClient) -> Any:
        reply, head = await http.get("/readyz"), await http.head("/readyz")
        assert (reply.status_code, head.status_code, head.headers["content-type"]) == (200, 200, "application/json")
        return reply.json()

    async def scenario() -> list[Any]:
        async with client_of(served) as http:
            before = await asked(http)
            with pytest.raises(Unavailable), database.transaction(None) as tx:
                tx.execute(text("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '53100'; END $$"))
            return [before, await asked(http)]

    assert asyncio.run(scenario()) == [{"status": "ready"}, {"status": "ready", "warnings": ["disk_full"]}]
    database.close()
