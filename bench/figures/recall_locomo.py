"""recall-locomo: evidence found in long conversations between two people."""

from __future__ import annotations

from functools import partial

from bench.figure import Direction, Figure
from bench.retrieval import measuring

FILE = "locomo_dev.jsonl.gz"

FIGURE = Figure(
    name="recall-locomo",
    says="How much of the evidence for a question about a long talk of two people is among the first ten messages, against the better of "
    "BM25 and plain vectors.",
    ours="R@10 through the front door",
    baseline="R@10 of the better baseline",
    direction=Direction.AT_LEAST,
    bound=1.0,
    why="Two witnesses have to see at least what the better one of them sees alone (decision 9); else one ranker would do.",
    how="LoCoMo, five conversations, all questions with evidence but the adversarial ones. Every conversation is ingested into a namespace "
    "of a fresh `infinicon up` and asked over HTTP; a hit counts for its episode, an atom for the episodes that it comes from. The "
    "baselines read the same messages as `speaker: text`: BM25 (k1 1.2, b .75) over the lexemes that Infinicon uses, and cosine similarity "
    "of one vector a message by the same model.",
    rounds=1,
    quick_rounds=1,
    measure=partial(measuring.measure, FILE, 2),
    chart=measuring.chart,
    timed=False,
    data=FILE,
)
