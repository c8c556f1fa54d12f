"""encoding: forward passes by padded tokens against sentence-transformers' own loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from bench.figure import Chart, Direction, Figure, Round, Task
from bench.noise import Watched
from infinicon.cli import transcript
from infinicon.operations.embed import rendered
from infinicon.plugins.loader import load_embedder
from infinicon.settings import settings

TEXTS = 2000
QUICK_TEXTS = 500
OURS = "by padded tokens"
DEFAULT = "encode default batch"
OTHER_BATCHES = (16, 64)


def measure(task: Task) -> Iterator[Round]:
    episodes = transcript.read(transcript.SAMPLE)[::5][: QUICK_TEXTS if task.quick else TEXTS]
    texts = [rendered(episode["createdBy"]["id"], episode["content"]) for episode in episodes]
    ways = _ways(texts)
    for way in ways.values():  # the first call of each warms up
        way()
    for _ in range(task.rounds):
        rates = {}
        with Watched() as watched:
            for name, way in ways.items():
                began = time.perf_counter()
                way()
                rates[name] = len(texts) / (time.perf_counter() - began)
        information = {f"{name}, texts/s": rate for name, rate in rates.items() if name not in {OURS, DEFAULT}}
        yield Round(rates[OURS], rates[DEFAULT], watched.disturbed, information)


def _ways(texts: Sequence[str]) -> dict[str, Callable[[], object]]:
    embedder: Any = load_embedder(settings())
    model = embedder._model  # noqa: SLF001 -- the very same model, through its library's own loop
    encode = partial(model.encode, list(texts), show_progress_bar=False)
    ways: dict[str, Callable[[], object]] = {OURS: partial(embedder.embed, texts), DEFAULT: encode}
    for size in OTHER_BATCHES:
        ways[f"encode batch {size}"] = partial(encode, batch_size=size)
    return ways


def chart(rounds: Sequence[Round]) -> Chart:
    others = dict.fromkeys(name for item in rounds for name in item.information)
    series = {OURS: [item.ours for item in rounds], DEFAULT: [item.baseline for item in rounds]}
    series |= {name.removesuffix(", texts/s"): [item.information[name] for item in rounds] for name in others}
    numbers = [str(number) for number in range(1, len(rounds) + 1)]
    return Chart("bars", "The same texts, the same model", "round", "texts/s", numbers, series)


FIGURE = Figure(
    name="encoding",
    says="How many times faster our batches are than the library's own encode loop at its default batch size.",
    ours="texts/s by padded tokens",
    baseline="texts/s of SentenceTransformer.encode",
    direction=Direction.AT_LEAST,
    bound=1.0,
    why="Below one, the embedder's own batching would be code for nothing (decision 8).",
    how="The same process, model, precision and threads over the same 2,000 utterances of Apollo 13, one call a way, in turn; a first "
    "round of each warms up and is not counted. The library's loop is also measured with batches of 16 and 64.",
    rounds=5,
    quick_rounds=2,
    measure=measure,
    chart=chart,
)
