"""Whether a measurement was alone: the share of the cores' time that went to programs which are not ours."""

from __future__ import annotations

import os
import time
from types import TracebackType

import psutil

from bench.cpu_profile import CpuProfile, busy_seconds

QUIET = 0.10
"""A round counts as undisturbed up to this share."""


class Watched:
    """A context manager. After it, `seconds` is how long the block took, `cpu` CPU seconds of this process and all below it by what they
    are, and `disturbed` the share of the cores' time that others had, a hypervisor among them."""

    def __init__(self) -> None:
        self._profile = CpuProfile(os.getpid())
        self.seconds = 0.0
        self.disturbed = 0.0

    def __enter__(self) -> Watched:
        self._profile.__enter__()
        self._busy = _spent()
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self._began
        busy = _spent() - self._busy
        self._profile.__exit__(kind, fault, trace)
        self.disturbed = share(busy - sum(self._profile.seconds.values()), self.seconds, os.cpu_count() or 1)

    @property
    def cpu(self) -> dict[str, float]:
        return self._profile.seconds


def share(foreign: float, seconds: float, cores: int) -> float:
    """Of all cores, three decimals. Clocks of processes and of the system differ by ticks: a little below nothing is nothing."""
    return round(max(0.0, foreign) / (seconds * cores), 3) if seconds > 0 else 0.0


def _spent() -> float:
    """CPU seconds that nobody of us could have had: worked for anybody, or taken from the machine."""
    return busy_seconds() + float(getattr(psutil.cpu_times(), "steal", 0.0))
