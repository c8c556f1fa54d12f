"""--dry-run: everything is read and nothing is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence

from infinicon.cli.ingesting.batches import Batches, Request
from infinicon.cli.ingesting.formats import Reader
from infinicon.cli.ingesting.places import Broken
from infinicon.cli.ingesting.progress import Display
from infinicon.cli.ingesting.reading import Reading
from infinicon.cli.ingesting.shaping import Prepared
from infinicon.cli.ingesting.sources import Meter, Source
from infinicon.cli.ingesting.summary import count
from infinicon.cli.output import show_json, visible


def rehearse(sources: Sequence[Source], reader: Reader, *, batch: int, skip: bool, as_json: bool) -> None:
    """How much would be sent, and the first episode of it. No server is asked.

    Raises:
        CommandFailed: something cannot be read.
    """
    first: Prepared | None = None
    requests = size = 0

    def measure(request: Request, _may_block: bool) -> bool:
        nonlocal first, requests, size
        first = first or request.episodes[0]
        requests += 1
        size += request.size
        return True

    def left_out(broken: Broken) -> None:
        display.note(visible(f"infinicon: {broken}; left out"))

    display = Display()
    reading = Reading(sources, reader, Meter.of(sources), skip=skip, on_broken=left_out)
    reading.run(Batches(measure, batch), threading.Event())
    counts = reading.counts
    numbers = {
        "sources": len(sources),
        "episodes": counts.read,
        "broken": counts.broken,
        "leftOut": counts.left_out,
        "requests": requests,
        "bytes": size,
    }
    episode = None if first is None else json.loads(first.wire)
    if as_json:
        show_json({"dryRun": True, **numbers, "first": episode})
    else:
        print(
            f"nothing was sent; it would be {count(counts.read, 'episode')} in {count(requests, 'request')}, {size:,} bytes"
        )
        if counts.broken or counts.left_out:
            print(
                f"without {count(counts.broken, 'broken place')} and {count(counts.left_out, 'message')} that have no text"
            )
        if episode is not None:
            print(f"the first:\n{visible(json.dumps(episode, ensure_ascii=False))}")
    if reading.failure is not None:
        raise reading.failure
