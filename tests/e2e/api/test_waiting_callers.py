"""Hundreds of callers that wait at once: health and queries do not notice, and each gets its answer."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import httpx

from infinicon.cli.instance import Instance
from tests.processes import processes

CALLERS = 500


@contextmanager
def workers_stopped(live: Instance) -> Iterator[None]:
    """No stage goes on meanwhile. Briefer than any lease."""
    workers = processes(live, "infinicon.cli", "worker")
    assert len(workers) >= 3
    try:
        for worker in workers:
            worker.send_signal(signal.SIGSTOP)
        yield
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGCONT)


async def crowd(live: Instance, namespace: str) -> tuple[list[int], list[int], int]:
    """Statuses of those that waited, statuses of those that asked beside them, and how many of the first waited on then."""
    limits = httpx.Limits(max_connections=2 * CALLERS, max_keepalive_connections=0)
    headers = {"Authorization": f"Bearer {live.api_key}"}
    scope = {"tenantId": live.tenant_id, "namespaceId": namespace}

    async with httpx.AsyncClient(base_url=live.url, headers=headers, limits=limits, timeout=120) as http:

        async def ingest(number: int) -> int:
            episode = {"content": f"Boiler number {number} is serviced in May.", "contentType": "text/plain"}
            body = {"scope": scope, "episodes": [episode], "consistency": "indexed"}
            return (await http.post("/v0/ingest", json=body)).status_code

        async def ask() -> int:
            return (
                await http.post("/v0/query", json={"scope": scope, "query": "When is the boiler serviced?"})
            ).status_code

        with workers_stopped(live):
            waiting = [asyncio.create_task(ingest(number)) for number in range(CALLERS)]
            counts: dict[str, int] = {}
            while counts.get("pending", 0) < CALLERS:  # every episode is in: nobody waits for anything but its index
                assert all(not task.done() for task in waiting)
                stats = (await http.get("/v0/stats", params=scope)).json()
                counts = stats["memories"].get("episode", {})
            beside = [(await http.get(path)).status_code for path in ("/healthz", "/readyz")]
            beside += [await ask() for _ in range(3)]
            still = sum(not task.done() for task in waiting)
        return await asyncio.gather(*waiting), beside, still


def test_health_and_queries_do_not_stand_behind_500_callers_that_wait(live: Instance) -> None:
    waited, beside, still = asyncio.run(crowd(live, f"test-{uuid4()}"))

    assert beside == [200] * 5
    assert still == CALLERS
    assert waited == [200] * CALLERS
