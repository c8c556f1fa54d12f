"""Consolidations that nobody asks for: by a schedule, by a number of atoms, and what says whether the clock runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance
from tests.e2e.api.requests import ingest_indexed, note
from tests.e2e.cli.commands import answer
from tests.waiting import wait_until

POLICIES = {
    "scheduled": ("--consolidate-schedule", "5s"),
    "threshold": ("--consolidate-threshold", "3"),
    "idle": ("--consolidate-idle", "3s"),
}
SAID = ("Rosa lives in Lyon.", "Rosa lives in Lyon, in France.", "The bicycle is blue.", "It rained in Lyon.")


@pytest.fixture
def triggered(live: Instance, client: Client) -> Iterator[dict[str, Client]]:
    """A namespace for each trigger, in which something waits."""
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(Client(live, f"{client.scope['namespaceId']}-{name}")) for name in POLICIES
        }
        for name, own in clients.items():
            answer(live, "policy", "set", str(own.scope["namespaceId"]), *POLICIES[name])
            ingest_indexed(own, *map(note, SAID))
        yield clients
        off = {"consolidationSchedule": None, "consolidationThreshold": None, "consolidationIdleSeconds": None}
        for own in clients.values():
            own.post("/v0/policy", {"policy": off})


def completed(client: Client) -> list[Wire]:
    found: list[Wire] = client.post("/v0/subscribe", {"eventTypes": ["consolidation.completed"], "limit": 10})["events"]
    return found


def test_they_start_by_themselves_and_say_why(triggered: dict[str, Client]) -> None:
    for name, client in triggered.items():
        (event,) = wait_until(lambda: completed(client), f"{name} is completed", every=0.5)  # noqa: B023 -- called at once
        job = client.job(event["jobId"])

        assert (job["status"], job["type"], job["result"]["trigger"]) == ("completed", "consolidate", name)
        assert job["result"]["memories"] == len(SAID)


def test_the_clock_is_seen_to_run(http: httpx.Client, live: Instance) -> None:
    scheduler = http.get("/v0/status", params={"tenantId": live.tenant_id}).json()["scheduler"]

    assert scheduler["ok"]
    assert scheduler["ageSeconds"] < 60
