"""CPU seconds of a process tree, by what the processes are: sampled, since children come and go."""

from __future__ import annotations

import threading
from types import TracebackType

import psutil

SAMPLE_SECONDS = 0.25
SERVERS = ("valkey-server", "valkey", "postgres")


class CpuProfile:
    """A context manager. After it, `seconds` holds CPU seconds (user and system) that were spent inside the block, by kind."""

    def __init__(self, root: int) -> None:
        self._root = psutil.Process(root)
        self._stop = threading.Event()
        self._sampler = threading.Thread(target=self._sample_until_stopped, daemon=True)
        self._kinds: dict[psutil.Process, str] = {}
        self._first: dict[psutil.Process, float] = {}
        self._last: dict[psutil.Process, float] = {}

    def __enter__(self) -> CpuProfile:
        self._sample(began=True)
        self._sampler.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._sampler.join()
        self._sample()

    @property
    def seconds(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for process, last in self._last.items():
            kind = self._kinds[process]
            found[kind] = found.get(kind, 0.0) + last - self._first[process]
        return {kind: round(spent, 2) for kind, spent in sorted(found.items(), key=lambda item: -item[1])}

    def _sample_until_stopped(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            self._sample()

    def _sample(self, *, began: bool = False) -> None:
        for process in [self._root, *self._root.children(recursive=True)]:
            try:
                times = process.cpu_times()
                if process not in self._kinds:
                    self._kinds[process] = kind_of(process.cmdline())
                    # A process that was born inside the block spent all its time in it.
                    self._first[process] = times.user + times.system if began else 0.0
                self._last[process] = times.user + times.system
            except psutil.Error:  # It ended between two looks; what it spent since the last one is lost.
                continue


def busy_seconds() -> float:
    """CPU seconds that all cores have worked so far, for anybody."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq)


def kind_of(command: list[str]) -> str:
    """`worker embed` of a command line of ours, the name of a server otherwise; `bench` is who measures."""
    if "infinicon.cli" in command:
        words = command[command.index("infinicon.cli") + 1 :]
        return " ".join(words[: 2 if words[:1] == ["worker"] else 1]) or "infinicon"
    if command[1:3] == ["-m", "bench"]:
        return "bench"
    text = " ".join(command[:2])
    return next((server.split("-")[0] for server in SERVERS if server in text), "other")
