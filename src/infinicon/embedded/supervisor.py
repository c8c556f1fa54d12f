"""Keeps child processes running, and stops them all: one thread, one loop, woken by signals.

Nothing here blocks for long, so that SIGINT and SIGTERM are answered at once. Code that cannot be cut into such steps (migrations) runs
under `interruptible()`.
"""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import TypeAlias

from infinicon.embedded.child import Child, ChildSpec, how_it_ended
from infinicon.embedded.logs import keep_small, last_lines
from infinicon.errors import Unavailable

_Handler: TypeAlias = "Callable[[int, FrameType | None], object] | int | signal.Handlers | None"

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TURN = 0.1
LOOK_AT_LOGS_EVERY = 10.0
TOO_MANY_FAILURES = 4
KILL_GRACE = 1.0


class StopRequested(BaseException):
    """A person or the system asked to stop. Like KeyboardInterrupt, it is no fault, and no `except Exception` swallows it."""


class Supervisor:
    """Use as a context manager in the main thread: signal handlers are set on entry; on exit every child is stopped."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._logs: Path | None = None
        self._children: list[Child] = []
        self._stop_requested = False
        self._raise_at_once = False
        self._looked_at_logs = time.monotonic()
        self._former: dict[signal.Signals, _Handler] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()

    def __enter__(self) -> Supervisor:
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        for number in STOP_SIGNALS:
            # Under nohup SIGHUP is ignored, and stays so.
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._former[number] = signal.signal(number, self._on_stop_signal)
        # The handler does nothing; having one is what makes the wakeup descriptor report the signal.
        self._former[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._raise_at_once = False
        self.stop()
        for number, handler in self._former.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        self._selector.close()
        self._woken.close()
        self._waker.close()

    @property
    def children(self) -> tuple[Child, ...]:
        return tuple(self._children)

    def log_to(self, logs: Path) -> None:
        """Where the output of children goes; to be said before the first `start`."""
        self._logs = logs

    def start(self, spec: ChildSpec) -> Child:
        """Start a child and keep it running from now on. Returns at once; `wait_until` tells when it is ready."""
        child = self._new_child(spec)
        self._children.append(child)
        child.start_if_due(time.monotonic())
        return child

    def finish(self, spec: ChildSpec, timeout: float) -> None:
        """Run a program to its end.

        Raises:
            Unavailable: it failed, or took longer than `timeout` seconds.
            StopRequested: it was ended, because the whole is to stop.
        """
        child = self._new_child(spec)
        child.start_if_due(time.monotonic())
        deadline = time.monotonic() + timeout
        try:
            while (code := child.reap()) is None:
                if time.monotonic() > deadline:
                    raise Unavailable(f"{spec.name} did not finish in {timeout:.0f} s")
                self._turn()
        finally:
            while child.running and child.reap() is None:
                child.kill_group()
                self._sleep()
        if code != 0:
            raise Unavailable(_failure(f"{spec.name} failed ({how_it_ended(code)})", child))

    def wait_until(self, condition: Callable[[], bool], what: str, timeout: float) -> None:
        """Look after the children until `condition()` holds; it is asked about ten times a second.

        Raises:
            Unavailable: a child keeps failing, or `timeout` seconds have passed.
            StopRequested: the whole is to stop.
        """
        deadline = time.monotonic() + timeout
        while not condition():
            for child in self._children:
                if child.backoff.failures >= TOO_MANY_FAILURES:
                    raise Unavailable(_failure(f"{child.spec.name} does not stay up", child))
            if time.monotonic() > deadline:
                raise Unavailable(f"{what} is not ready after {timeout:.0f} s; see {self._logs}")
            self._turn()

    def run(self) -> None:
        """Look after the children until a stop is requested."""
        try:
            while True:
                self._turn(1.0)
        except StopRequested:
            return

    def check(self) -> None:
        """Raises StopRequested if a stop has been requested."""
        if self._stop_requested:
            raise StopRequested

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Inside, a stop signal raises StopRequested at once, wherever the code is: for code that blocks and can be cut off."""
        self._raise_at_once = True
        try:
            self.check()
            yield
        finally:
            self._raise_at_once = False
        self.check()

    def stop(self) -> None:
        """Stop every child: higher layers first, those of one layer together, each by the steps of its specification."""
        for layer in sorted({child.spec.layer for child in self._children}, reverse=True):
            self._stop_together([child for child in reversed(self._children) if child.spec.layer == layer])
        self._children.clear()

    def _stop_together(self, children: list[Child]) -> None:
        steps = {child: list(child.spec.stop) for child in children}
        due = dict.fromkeys(children, 0.0)
        for child in children:
            child.start_at = None
        while running := [child for child in children if child.running and child.reap() is None]:
            now = time.monotonic()
            for child in running:
                if now < due[child]:
                    continue
                if steps[child]:
                    number, pause = steps[child].pop(0)
                    child.send(number)
                    due[child] = now + pause
                else:
                    self._report(f"{child.spec.name} does not stop by itself: killing it")
                    child.kill_group()
                    due[child] = now + KILL_GRACE
            self._sleep()

    def _turn(self, longest: float = TURN) -> None:
        """Sleep until something happens, at most `longest` seconds, then look after the children."""
        self.check()
        self._sleep(longest)
        self.check()
        now = time.monotonic()
        for child in self._children:
            if (code := child.reap()) is not None:
                pause = child.restart_after(now)
                self._report(
                    f"{child.spec.name} ended ({how_it_ended(code)}); it starts again in {pause:.1f} s; see {child.log}"
                )
            self._start(child, now)
        if now - self._looked_at_logs > LOOK_AT_LOGS_EVERY:
            self._looked_at_logs = now
            for child in self._children:
                with contextlib.suppress(OSError):  # housekeeping that fails is no reason to stop anything
                    keep_small(child.log)

    def _start(self, child: Child, now: float) -> None:
        """Start a child again if it is due. What the system refuses (processes, files, space) it may grant later."""
        try:
            child.start_if_due(now)
        except OSError as fault:
            pause = child.restart_after(now)
            self._report(f"{child.spec.name} does not start ({fault.strerror}); another try in {pause:.1f} s")

    def _sleep(self, longest: float = TURN) -> None:
        waiting = any(child.start_at is not None for child in self._children)
        if self._selector.select(TURN if waiting else longest):
            while True:
                try:
                    if not self._woken.recv(4096):
                        return
                except BlockingIOError:
                    return

    def _new_child(self, spec: ChildSpec) -> Child:
        assert self._logs is not None
        return Child(spec, self._logs)

    def _on_stop_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stop_requested = True
        if self._raise_at_once:
            self._raise_at_once = False
            raise StopRequested


def _failure(what: str, child: Child) -> str:
    return "\n  ".join([f"{what}; the end of {child.log}:", *last_lines(child.log)])
