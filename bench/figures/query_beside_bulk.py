"""query-beside-bulk: how long a person's query takes while a back-fill keeps every worker busy, against an idle machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.backfill import BackFill, fill
from bench.figure import Chart, Direction, Figure, MeasurementFailed, Round, Task
from bench.noise import Watched
from infinicon.cli import transcript
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance, running

STORED = 4000
QUICK_STORED = 1500
WINDOW_SECONDS = 12.0
QUICK_WINDOW_SECONDS = 8.0
LIMIT = 10
START_SECONDS = 60.0

Times = list[float]


def measure(task: Task) -> Iterator[Round]:
    utterances = transcript.read(transcript.SAMPLE)
    stored = QUICK_STORED if task.quick else STORED
    window = QUICK_WINDOW_SECONDS if task.quick else WINDOW_SECONDS
    # What is asked is not stored, as a question is not.
    questions = [spoken["content"] for spoken in utterances[stored:] if 20 <= len(spoken["content"]) <= 200]
    with running(task.scratch / "data") as instance, Client(instance, "asked") as client:
        fill(client, utterances[:stored])
        _ask(client, questions, window / 4)  # pools and caches are warm from here on
        for number in range(task.rounds):
            with Watched() as quiet:
                idle = _ask(client, questions, window)
            with Watched() as busy:
                beside = _ask_beside_bulk(instance, client, f"bulk-{number}", utterances, questions, window)
            yield _round(idle, beside, max(quiet.disturbed, busy.disturbed))


def _ask(client: Client, questions: Sequence[str], seconds: float) -> Times:
    """Milliseconds of each query, one after the other for so long: a core that sleeps between two of them wakes up slow."""
    times: Times = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        client.query(questions[len(times) % len(questions)], LIMIT)
        times.append((time.perf_counter() - began) * 1000)
    return times


def _ask_beside_bulk(
    instance: Instance,
    client: Client,
    namespace: str,
    episodes: Sequence[Wire],
    questions: Sequence[str],
    window: float,
) -> Times:
    """The same while a back-fill into a namespace of its own is in work, from its first batch on."""
    with Client(instance, namespace) as bulk, ThreadPoolExecutor(1) as pool:
        work = BackFill(bulk, episodes)
        working = pool.submit(lambda: list(work.run()))
        try:
            if not work.started.wait(START_SECONDS):
                raise MeasurementFailed("the back-fill did not begin")
            times = _ask(client, questions, window)
            if working.done():
                raise MeasurementFailed("the back-fill ended before the queries did")
        finally:
            work.stop.set()
        working.result()
    return times


def _round(idle: Times, beside: Times, disturbed: float) -> Round:
    information = {
        "idle p50, ms": statistics.median(idle),
        "idle p95, ms": percentile(idle, 95),
        "beside bulk p50, ms": statistics.median(beside),
        "beside bulk p95, ms": percentile(beside, 95),
        "queries idle": len(idle),
        "queries beside bulk": len(beside),
    }
    return Round(percentile(beside, 95), percentile(idle, 95), disturbed, information)


def percentile(numbers: Sequence[float], percent: int) -> float:
    """The smallest of the numbers that so many percent of them do not exceed."""
    ordered = sorted(numbers)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def chart(rounds: Sequence[Round]) -> Chart:
    names = ("idle p50, ms", "idle p95, ms", "beside bulk p50, ms", "beside bulk p95, ms")
    return Chart(
        "bars",
        "A query, on an idle machine and beside a back-fill",
        "round",
        "ms",
        [str(number) for number in range(1, len(rounds) + 1)],
        {name.removesuffix(", ms"): [item.information[name] for item in rounds] for name in names},
    )


FIGURE = Figure(
    name="query-beside-bulk",
    says="How many times longer the slow queries (p95) take while a back-fill keeps every worker busy.",
    ours="ms p95 of POST /v0/query beside a back-fill",
    baseline="ms p95 when idle",
    direction=Direction.AT_MOST,
    bound=6.0,
    why="With every core busy, a fair share of a core alone makes a query two to three times as long, and slices of time that it waits for "
    "make its slow end longer. Beyond six times it waits for something of ours: the bulk model, a connection, a lock.",
    how="A fresh `infinicon up` holds 4,000 utterances of Apollo 13. One caller asks for other utterances, ten hits each, again as soon as "
    "it is answered: twelve seconds while nothing else is done, then twelve seconds while a back-fill into another namespace is in work, "
    "which is fed so that it never runs dry.",
    rounds=5,
    quick_rounds=2,
    measure=measure,
    chart=chart,
)
