"""recall-beam: evidence found in chats with an assistant, whose messages are long."""

from __future__ import annotations

from functools import partial

from bench.figure import Direction, Figure
from bench.retrieval import measuring

FILE = "beam100k_dev.jsonl.gz"

FIGURE = Figure(
    name="recall-beam",
    says="The same for chats of a user with an assistant, whose messages are as long as a page.",
    ours="R@10 through the front door",
    baseline="R@10 of the better baseline",
    direction=Direction.AT_LEAST,
    bound=1.0,
    why="As for recall-locomo, with one configuration for both. Here the vectors are the better witness; there it is the words.",
    how="BEAM-100K, ten chats, all questions with evidence but those that ask for a summary or for the order of events; otherwise as for "
    "recall-locomo. The vector of a baseline stands for as much of a message as the model reads.",
    rounds=1,
    quick_rounds=1,
    measure=partial(measuring.measure, FILE, 2),
    chart=measuring.chart,
    timed=False,
    data=FILE,
)
