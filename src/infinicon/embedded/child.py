"""One supervised child: how it is started, told to stop, and started again when it dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from infinicon.embedded.logs import open_log

StopSteps: TypeAlias = "tuple[tuple[signal.Signals, float], ...]"
"""Signals in order, each with the seconds after which the next one follows; SIGKILL to the whole group comes last of itself."""

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
HEALTHY_AFTER = 30.0


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to start. `environment` is the whole environment; secrets travel there or in `stdin`, never in `command`.

    Children of a higher `layer` are stopped before those of a lower one. `may_start` is asked, without blocking, before every start:
    False means that something of its predecessor still has to go.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    stop: StopSteps = ((signal.SIGTERM, 4.0),)
    layer: int = 1
    stdin: bytes = field(default=b"", repr=False)
    directory: Path | None = None
    may_start: Callable[[], bool] = _always


class Backoff:
    """Pauses between starts: they double from 0.5 s to 30 s, and begin anew once a child has stayed up for 30 s."""

    def __init__(self) -> None:
        self.failures = 0

    def after(self, lived: float) -> float:
        """The pause before the next start of a child that died after `lived` seconds."""
        self.failures = 1 if lived >= HEALTHY_AFTER else self.failures + 1
        # The exponent is bounded so that a child that fails for a month does not overflow a float.
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.failures - 1, 10))


class Child:
    """A ChildSpec and the process that runs it, if one does. It knows no clock: times are handed in (seconds, monotonic)."""

    def __init__(self, spec: ChildSpec, logs: Path) -> None:
        self.spec = spec
        self.log = logs / f"{spec.name}.log"
        self.backoff = Backoff()
        self.start_at: float | None = 0.0
        self._started = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None

    def start_if_due(self, now: float) -> bool:
        if self._process is not None or self.start_at is None or now < self.start_at or not self.spec.may_start():
            return False
        self.start_at = None
        self._started = now
        with open_log(self.log) as log:
            # A session of its own: Ctrl-C in a terminal reaches the supervisor alone, and what the child starts can be ended with it.
            self._process = subprocess.Popen(
                self.spec.command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=dict(self.spec.environment),
                cwd=self.spec.directory,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        # A child that dies at once may have closed its end already; its exit is seen by the next look.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(self.spec.stdin)
            self._process.stdin.close()
        return True

    def reap(self) -> int | None:
        """The exit code (negative: the signal) if the process has ended; what it left in its group is killed first."""
        if self._process is None or not self._has_ended():
            return None
        # While the dead leader is not waited for, its number cannot belong to anybody else's group.
        self.kill_group()
        code = self._process.wait()
        self._process = None
        return code

    def restart_after(self, now: float) -> float:
        """Plan the next start; returns the pause before it."""
        pause = self.backoff.after(now - self._started)
        self.start_at = now + pause
        return pause

    def send(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def kill_group(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _has_ended(self) -> bool:
        assert self._process is not None
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
