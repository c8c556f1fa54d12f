"""All sources, read one after another into batches. What cannot be read ends it, or is left out, as the command says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from infinicon.cli.faults import CommandFailed
from infinicon.cli.ingesting.batches import Batches
from infinicon.cli.ingesting.formats import Reader
from infinicon.cli.ingesting.places import Broken
from infinicon.cli.ingesting.shaping import Prepared
from infinicon.cli.ingesting.sources import Meter, Source


@dataclass(slots=True)
class Counts:
    """What was read so far."""

    read: int = 0
    broken: int = 0
    left_out: int = 0
    """Messages without text."""


class Reading:
    """Reads until the end, until `stopping`, or up to the first broken place, unless `skip`."""

    def __init__(
        self,
        sources: Sequence[Source],
        reader: Reader,
        meter: Meter,
        *,
        skip: bool,
        on_broken: Callable[[Broken], None],
    ) -> None:
        self.counts = Counts()
        self.failure: CommandFailed | None = None
        self._sources = sources
        self._reader = reader
        self._meter = meter
        self._skip = skip
        self._on_broken = on_broken

    def run(self, batches: Batches, stopping: threading.Event) -> None:
        for source in self._sources:
            for found in self._reader.episodes(source, self._meter):
                if stopping.is_set():
                    return
                if isinstance(found, Prepared):
                    self.counts.read += 1
                    batches.add(found)
                elif found is None:
                    self.counts.left_out += 1
                elif self._skip:
                    self.counts.broken += 1
                    self._on_broken(found)
                else:
                    self.counts.broken += 1
                    self.failure = _stopped_at(found)
                    batches.flush()
                    return
        batches.flush()


def _stopped_at(broken: Broken) -> CommandFailed:
    return CommandFailed(
        str(broken),
        "what stands before it is sent; mend it and run the same command again, or leave such places out by --on-error skip",
    )
