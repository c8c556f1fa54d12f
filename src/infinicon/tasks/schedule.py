"""What beat sends, and how often: a name, a period and an expiry in seconds. Nothing depends on a beat being on time, or on there
being only one: each task looks in Postgres for what is due."""

from __future__ import annotations

from dataclasses import dataclass

from infinicon.settings import Settings
from infinicon.tasks import names


@dataclass(frozen=True, slots=True)
class Entry:
    """A task that is sent every `period` seconds, and thrown away if nobody took it within `expires` seconds."""

    task: str
    period: float
    expires: float


def schedule(settings: Settings) -> dict[str, Entry]:
    """The entries by their readable names."""
    tick = settings.reconcile_every
    return {
        "claim what waits": Entry(names.DISPATCH, min(2.0, tick), 2.0),
        "bring back lost work": Entry(names.RECONCILE, tick, tick),
        "consolidate what is due": Entry(
            names.CONSOLIDATE_DUE, settings.consolidation_tick, settings.consolidation_tick
        ),
        "end what has expired": Entry(names.EXPIRE, max(tick, 10.0), 10.0),
        "end what is kept no longer": Entry(names.END_RETENTION, 60.0, 30.0),
        "forget what is done": Entry(names.FORGET, 600.0, 300.0),
    }
