"""The run: a thread reads, some send, and this one shows how far it is and listens to Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from infinicon.cli import exits
from infinicon.cli.client import Client
from infinicon.cli.faults import CommandFailed
from infinicon.cli.ingesting.batches import Batches
from infinicon.cli.ingesting.formats import Reader
from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.progress import Display, Pace, duration
from infinicon.cli.ingesting.reading import Reading
from infinicon.cli.ingesting.sender import Manner, Sender
from infinicon.cli.ingesting.sources import Meter, Source
from infinicon.cli.ingesting.summary import Summary
from infinicon.cli.ingesting.waiting import Followed, Standing, until_indexed
from infinicon.cli.output import show_json, visible

LOOK_SECONDS = 0.1
IDLE_SECONDS = 1.0
"""So long an episode waits for others, where a pipe is slow."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says, beside how to read."""

    namespace: str
    label: str
    lane: str | None = None
    in_flight: int = 4
    batch: int = 500
    patience: float = 600.0
    skip: bool = False
    wait: bool = False
    quiet: bool = False
    as_json: bool = False


class Interrupted(CommandFailed):
    """Ctrl-C, or SIGTERM."""

    EXIT = exits.INTERRUPTED


def label_of(sources: Sequence[Source]) -> str:
    """The same for the same sources, so that a run that goes on where another ended adds to the same label."""
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return f"ingest {sources[0].name}"[: 256 - len(more)] + more


def ingest(client: Client, sources: Sequence[Source], reader: Reader, options: Options) -> None:
    """Send everything, show how far it is, and at the end what came of it.

    Raises:
        CommandFailed: not everything went in; the exit code says why. The summary is printed before.
    """
    run = _Run(client, sources, reader, options)
    with _signals(run.interrupt):
        failure = run.send() or run.wait() or run.shortfall()
    _print(run.summary(failure), as_json=options.as_json, quiet=options.quiet)
    if failure is not None:
        raise failure


class _Run:
    def __init__(self, client: Client, sources: Sequence[Source], reader: Reader, options: Options) -> None:
        self._options = options
        self._client = client
        self._meter = Meter.of(sources)
        self._display = Display(quiet=options.quiet)
        scope = client.scope(options.namespace)
        beside = {"label": options.label} | ({} if options.lane is None else {"lane": options.lane})
        manner = Manner(scope, beside, options.in_flight, options.patience)
        self._sender = Sender(client, manner, self._rejected)
        self._reading = Reading(sources, reader, self._meter, skip=options.skip, on_broken=self._broken)
        self._batches = Batches(self._sender.put, options.batch)
        self._sources = len(sources)
        self._began = time.monotonic()
        self._sent = self._began
        self._interrupted = False
        # Asked before the first request: what had failed until then is no fault of this run, which sends it again.
        self._followed = Followed(client, scope, options.label)
        self._before = self._followed.look() if options.wait else None
        self._indexed: Standing | None = None

    def interrupt(self) -> None:
        self._interrupted = True
        self._sender.stopping.set()

    def send(self) -> CommandFailed | None:
        """Read and send; what ended it early, if anything did."""
        self._sender.start()
        threading.Thread(target=self._read, daemon=True).start()
        pace, read = Pace(), Pace()
        said = False
        while not self._sender.is_done():
            self._sender.join(LOOK_SECONDS)
            self._batches.flush_idle(IDLE_SECONDS)
            now = time.monotonic()
            pace.add(now, self._sender.tally.answered)
            read.add(now, self._meter.read)
            if self._interrupted and not said:
                said = True
                self._display.note("infinicon: finishing what is on its way; once more to end at once")
            if self._display.is_due():
                self._display.show(self._line(pace, read))
        self._display.clear()
        self._sent = time.monotonic()
        return self._failure()

    def _read(self) -> None:
        ended = False
        try:
            self._reading.run(self._batches, self._sender.stopping)
            ended = True
        finally:
            # Also for what nobody expected: what was not read must not look like the end of the input.
            if not ended:
                self._reading.failure = CommandFailed("the input could not be read to its end", "please report it")
            self._sender.close()

    def _failure(self) -> CommandFailed | None:
        if self._sender.failure is not None:
            return self._sender.failure
        if self._interrupted:
            return Interrupted("interrupted", "the same command goes on from here; nothing is added twice")
        return self._reading.failure

    def shortfall(self) -> CommandFailed | None:
        """What a run that came to its end could not bring in."""
        rejected = self._sender.tally.rejected.total()
        if rejected or self._reading.counts.broken:
            return CommandFailed(
                f"not everything went in: {rejected:,} rejected, {self._reading.counts.broken:,} broken",
                "mend them and run the same command again; what is in is not added twice",
            )
        return None

    def wait(self) -> CommandFailed | None:
        """With --wait, wait until everything under the label is indexed; what kept it from that, if anything did."""
        if self._before is None:
            return None
        try:
            standing = until_indexed(
                self._followed, self._before, self._display, self._sender.stopping, self._options.patience
            )
        except CommandFailed as fault:
            return fault
        self._indexed = standing
        if standing.failed or standing.cancelled_jobs:
            return CommandFailed(
                f"not everything was indexed: {standing.failed:,} episodes failed, {standing.cancelled_jobs:,} jobs cancelled",
                "`infinicon jobs` says why; the same command tries them once more",
            )
        if standing.open_jobs:
            return Interrupted("interrupted while it was indexed", "everything is sent; the server goes on by itself")
        return None

    def _line(self, pace: Pace, read: Pace) -> str:
        tally, meter = self._sender.tally, self._meter
        parts = [f"{tally.answered:,} episodes", f"{pace.rate:,.0f} a second"]
        if meter.total:
            parts.insert(0, f"{min(1.0, meter.read / meter.total):.0%}")
            left = read.left(max(0, meter.total - meter.read))
            parts += [f"{duration(left)} left"] if left is not None else []
        if self._sources > 1:
            parts.insert(0, f"{meter.number} of {self._sources}, {visible(meter.name)}")
        if self._sender.tally.trouble:
            parts.append(f"waiting: {self._sender.tally.trouble}")
        return " · ".join(parts)

    def _rejected(self, place: Place, code: str, reason: str) -> None:
        self._display.note(visible(f"infinicon: {place}: rejected, {code}: {reason}"))

    def _broken(self, broken: Broken) -> None:
        self._display.note(visible(f"infinicon: {broken}; left out"))

    def summary(self, failure: CommandFailed | None) -> Summary:
        tally, counts = self._sender.tally, self._reading.counts
        status = "completed" if failure is None else "failed"
        if isinstance(failure, Interrupted):
            status = "interrupted"
        elif failure is not None and failure in (self._sender.failure, self._reading.failure):
            status = "stopped"
        return Summary(
            status=status,
            namespace=self._options.namespace,
            label=self._options.label,
            sources=self._sources,
            read=counts.read,
            created=tally.created,
            deduplicated=tally.deduplicated,
            tombstoned=tally.tombstoned,
            broken=counts.broken,
            left_out=counts.left_out,
            requests=tally.requests,
            retries=tally.retries,
            seconds=self._sent - self._began,
            rejected=tally.rejected,
            indexed=self._indexed,
        )


def _print(summary: Summary, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        show_json(summary.to_wire())
    elif not quiet:
        print("\n".join(map(visible, summary.lines())))


@contextmanager
def _signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM: the first asks to finish, the second ends at once. What is ignored, as under nohup, stays ignored."""
    came = 0

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal came
        came += 1
        if came > 1:
            os._exit(exits.INTERRUPTED)
        interrupt()

    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    former = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
