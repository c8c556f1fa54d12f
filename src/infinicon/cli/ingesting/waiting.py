"""--wait: until the server has indexed what stands under the label.

The label stands for more than this run where an earlier one was killed: its jobs are waited for as well. What had failed before this run
began is not counted, because sending an episode again queues it again.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from infinicon.cli import exits
from infinicon.cli.client import Client, Wire
from infinicon.cli.faults import CommandFailed, NoServer
from infinicon.cli.ingesting.progress import Display, Pace, duration

POLL_SECONDS = 1.0
LONGEST_POLL = 10.0


@dataclass(frozen=True, slots=True)
class Standing:
    """Jobs and episodes under a label."""

    open_jobs: int
    cancelled_jobs: int
    done: int
    failed: int
    total: int


@dataclass(frozen=True, slots=True)
class Followed:
    """What to ask for: the jobs of a label in a namespace, and how it stood before."""

    client: Client
    scope: Wire
    label: str

    def look(self) -> Standing:
        """Ask once. Raises ApiRefused, NoServer."""
        params = {"tenantId": self.scope["tenantId"], "namespaceId": self.scope["namespaceId"], "label": self.label}
        summary = self.client.get("/v0/jobs", {**params, "limit": 1})["summary"]
        jobs, progress = summary["jobs"], summary["progress"]
        return Standing(
            jobs["queued"] + jobs["running"], jobs["cancelled"], progress["done"], progress["failed"], progress["total"]
        )


class StillBusy(CommandFailed):
    """The server did not say for too long how far it is."""

    EXIT = exits.TEMPORARY


def until_indexed(
    followed: Followed, before: Standing, display: Display, stopping: threading.Event, patience: float
) -> Standing:
    """How it stands when no job is open any more, or when `stopping` is set; what was there before is taken off failures.

    Raises:
        ApiRefused: the server does not let us ask.
        StillBusy: it did not answer for `patience` seconds.
    """
    pace, heard = Pace(), time.monotonic()
    poll = POLL_SECONDS
    standing = before
    while True:
        try:
            standing = followed.look()
            heard, poll = time.monotonic(), POLL_SECONDS
        except CommandFailed as fault:
            temporary = isinstance(fault, NoServer) or fault.exit_code == exits.TEMPORARY
            if not temporary:
                raise
            if time.monotonic() - heard + poll > patience:
                raise StillBusy(
                    f"while it was indexed: {fault.message}", "everything is sent; ask `infinicon jobs`"
                ) from None
            poll = min(LONGEST_POLL, poll * 2)
        else:
            if not standing.open_jobs:
                break
            pace.add(heard, standing.done)
        if stopping.is_set():
            break
        if display.is_due():
            display.show(_line(standing, pace))
        stopping.wait(poll)
    display.clear()
    return Standing(
        standing.open_jobs,
        standing.cancelled_jobs - before.cancelled_jobs,
        standing.done,
        standing.failed - before.failed,
        standing.total,
    )


def _line(standing: Standing, pace: Pace) -> str:
    left = pace.left(standing.total - standing.done - standing.failed)
    return " · ".join(
        [
            f"indexed {standing.done:,} of {standing.total:,}",
            f"{pace.rate:,.0f} a second",
            *([f"{duration(left)} left"] if left is not None else []),
            *([f"{standing.failed:,} failed"] if standing.failed else []),
        ]
    )
