"""How many requests a key may make in a minute: a token bucket for each key, in this process alone. Health has no key, and no bucket."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from infinicon.errors import Overloaded

MOST_BUCKETS = 10_000
"""Beyond so many, those that are full again are dropped: a full one is like none."""


@dataclass(slots=True)
class Bucket:
    tokens: float
    filled_at: float


class Rates:
    """A bucket holds a minute's requests and fills evenly, so a key may make them all at once, and then as many as flow in.

    Used from the event loop only. `per_minute` 0: no limit. `clock` gives seconds.
    """

    def __init__(self, per_minute: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: dict[UUID, Bucket] = {}

    def take(self, key: UUID) -> None:
        """One request of this key. Raises Overloaded, with the seconds until there is room, where the key has made too many."""
        if not self._per_minute:
            return
        now = self._clock()
        bucket = self._buckets.get(key)
        if bucket is None:
            self._make_room(now)
            bucket = self._buckets[key] = Bucket(self._per_minute, now)
        bucket.tokens = self._filled(bucket, now)
        bucket.filled_at = now
        if bucket.tokens < 1:
            wait = math.ceil((1 - bucket.tokens) * 60 / self._per_minute)
            raise Overloaded(
                "this key has made as many requests as it may in a minute",
                details={"requestsPerMinute": self._per_minute},
                retry_after=wait,
            )
        bucket.tokens -= 1

    def _filled(self, bucket: Bucket, now: float) -> float:
        return min(self._per_minute, bucket.tokens + (now - bucket.filled_at) * self._per_minute / 60)

    def _make_room(self, now: float) -> None:
        if len(self._buckets) >= MOST_BUCKETS:
            self._buckets = {
                key: bucket for key, bucket in self._buckets.items() if self._filled(bucket, now) < self._per_minute
            }
