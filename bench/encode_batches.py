"""Forward passes by padded tokens against sentence-transformers' own loop, alternating in one run.

    python -m bench.encode_batches [--rounds 3]

Both read the same 2,000 utterances of Apollo 13 in one call, with the same model, precision and threads. Writes
bench/results/encode_batches.json. The ratio counts; the texts a second belong to the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from infinicon.cli import transcript
from infinicon.operations.embed import rendered
from infinicon.plugins.loader import load_embedder
from infinicon.settings import settings

RESULTS = Path(__file__).parent / "results" / "encode_batches.json"
SAMPLE = Path(__file__).parent.parent / "samples" / "apollo13.jsonl.gz"
TEXTS = 2000
BATCH_SIZES = (16, 64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    episodes = transcript.read(SAMPLE)[::5][:TEXTS]
    texts = [rendered(episode["createdBy"]["id"], episode["content"]) for episode in episodes]
    embedder: Any = load_embedder(settings())
    model = embedder._model  # noqa: SLF001 -- the very same model, through its library's own loop
    ways: dict[str, Callable[[], object]] = {"by padded tokens": lambda: embedder.embed(texts)}
    for size in BATCH_SIZES:
        ways[f"encode, batch {size}"] = partial(model.encode, texts, batch_size=size)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            if number:  # the first round warms up
                seconds[name].append(time.perf_counter() - began)
    ours = statistics.median(seconds["by padded tokens"])
    result = {
        name: {
            "textsPerSecond": round(len(texts) / statistics.median(found), 1),
            "ratio": round(statistics.median(found) / ours, 3),
        }
        for name, found in seconds.items()
    }
    for name, found in result.items():
        print(f"{name:20} {found['textsPerSecond']:7} texts/s   takes {found['ratio']} times as long as ours")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
