"""memory: whether the processes that a back-fill goes through grow with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import psutil

from bench.backfill import BackFill, fill
from bench.cpu_profile import kind_of
from bench.figure import Chart, Direction, Figure, Round, Task
from bench.noise import Watched
from infinicon.cli import transcript
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance, running

THIRDS = 3
QUICK_THIRD = 2000
WARM_UP = 4000
QUICK_WARM_UP = 2500
"""More than may wait at once (backfill.AHEAD): the embedder's largest combined call, which fixes its peak, comes with full queues."""
KINDS = ("api", "worker cpu", "worker embed", "worker interactive")
POINTS = 60
"""Of each line in the chart."""
MEGABYTE = 2**20

Sample = tuple[int, Mapping[str, float]]
"""Episodes done so far, and megabytes by kind."""


def measure(task: Task) -> Iterator[Round]:
    transcribed = transcript.read(transcript.SAMPLE)
    third = transcribed[:QUICK_THIRD] if task.quick else transcribed
    warm_up = transcribed[: QUICK_WARM_UP if task.quick else WARM_UP]
    for number in range(task.rounds):
        with running(task.scratch / str(number)) as instance:
            processes = watched_processes(instance)
            with Client(instance, "warm-up") as client:
                fill(client, warm_up)
            with Watched() as watched:
                # A namespace for each third: the same text in the same one is embedded once, and the thirds have to be equal work.
                thirds = [_third(instance, f"third-{part}", third, processes) for part in range(THIRDS)]
        yield as_round(thirds, len(third), watched.disturbed)


def watched_processes(instance: Instance) -> dict[str, Any]:
    found = {kind_of(child.cmdline()): child for child in psutil.Process(instance.pid).children(recursive=True)}
    return {kind: found[kind] for kind in KINDS}


def _third(instance: Instance, namespace: str, episodes: Sequence[Wire], processes: Mapping[str, Any]) -> list[Sample]:
    with Client(instance, namespace) as client:
        return [
            (done, {kind: process.memory_info().rss / MEGABYTE for kind, process in processes.items()})
            for done in BackFill(client, episodes).run()
        ]


def as_round(thirds: Sequence[Sequence[Sample]], episodes: int, disturbed: float) -> Round:
    """The process that grew most: its peak in the last third, beside its peak in the first."""
    first, last = peaks(thirds[0]), peaks(thirds[-1])
    worst = max(first, key=lambda kind: last[kind] / first[kind])
    information = {"episodes": float(episodes * len(thirds))}
    for kind in first:
        information[f"peak of {kind} in the first third, MB"] = first[kind]
        information[f"peak of {kind} in the last third, MB"] = last[kind]
    samples = [(part * episodes + done, sizes) for part, third in enumerate(thirds) for done, sizes in third]
    samples = samples[:: max(1, len(samples) // POINTS)]
    series = {"episodes": [float(done) for done, _ in samples]}
    series |= {kind: [sizes[kind] for _, sizes in samples] for kind in first}
    return Round(last[worst], first[worst], disturbed, information, series)


def peaks(samples: Sequence[Sample]) -> dict[str, float]:
    return {kind: max(sizes[kind] for _, sizes in samples) for kind in samples[0][1]}


def chart(rounds: Sequence[Round]) -> Chart:
    """Of the last round."""
    series = dict(rounds[-1].series)
    return Chart("lines", "Resident memory", "episodes done", "MB", series.pop("episodes"), series)


FIGURE = Figure(
    name="memory",
    says="How much a long back-fill makes the API and the workers grow: the peak of its last third against that of its first.",
    ours="MB, peak of the last third (of the process that grew most)",
    baseline="MB, its peak of the first third",
    direction=Direction.AT_MOST,
    bound=1.1,
    why="What grows with the number of episodes ends a back-fill of a million. A tenth is room for allocators, and for caches that are not "
    "full yet.",
    how="A fresh `infinicon up`; after a warm-up with full queues the Apollo 13 transcript goes in three times, each time into a "
    "namespace of its own, so that the thirds are equal work. Resident memory (RSS) of the API and of each worker is read twice a second.",
    rounds=1,
    quick_rounds=1,
    measure=measure,
    chart=chart,
    timed=False,
)
