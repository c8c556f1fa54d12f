"""consolidation-context: evidence inside assembled contexts, before a consolidation and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import fmean

from bench.backfill import wait_for
from bench.figure import Chart, Direction, Figure, MeasurementFailed, Round, Task
from bench.noise import Watched
from bench.retrieval.contexts import Covered, Talk, take_in
from bench.retrieval.conversations import Question, read
from infinicon.cli.instance import Client, running

FILE = "beam100k_dev.jsonl.gz"
QUICK_CONVERSATIONS = 2
BUDGETS = (500, 1000)
POINT = 0.01
ABILITIES = {
    "contradiction_resolution": "con-\nflict",
    "event_ordering": "order",
    "information_extraction": "facts",
    "instruction_following": "rules",
    "knowledge_update": "up-\ndate",
    "multi_session_reasoning": "across",
    "preference_following": "likes",
    "summarization": "sum-\nmary",
    "temporal_reasoning": "time",
}
"""Every category that has evidence in BEAM, and how the picture names it."""
MADE = {
    "memories": "looked at, memories",
    "consolidations": "made, consolidations",
    "superseded": "superseded, memories and earlier consolidations",
    "duplicates": "folded, memories",
    "disputed": "disputed, memories",
}
"""What a job counts, and how it is told."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a context of so many tokens has of the evidence for one question: before the consolidation, and after it."""

    question: Question
    tokens: int
    before: Covered
    after: Covered

    @property
    def without(self) -> float:
        return share(self.before.units, self.question)

    @property
    def with_it(self) -> float:
        return share(self.after.units, self.question)


def share(units: frozenset[str], question: Question) -> float:
    return len(question.gold & units) / len(question.gold)


def measure(task: Task) -> Iterator[Round]:
    assert task.data is not None
    conversations = list(read(task.data / FILE, QUICK_CONVERSATIONS if task.quick else None))
    for number in range(task.rounds):
        with Watched() as watched, ExitStack() as open_ones:
            instance = open_ones.enter_context(running(task.scratch / str(number)))
            clients = [open_ones.enter_context(Client(instance, held.name)) for held in conversations]
            talks = [take_in(client, held) for client, held in zip(clients, conversations, strict=True)]
            before = contexts(talks)
            made = [consolidate(talk.client) for talk in talks]
            after = contexts(talks)
        if not any(one["consolidations"] for one in made):
            raise MeasurementFailed("nothing was consolidated")
        answers = [
            Answer(question, tokens, first, second)
            for (question, tokens, first), (_, _, second) in zip(before, after, strict=True)
        ]
        yield as_round(answers, made, watched.disturbed)


def contexts(talks: Sequence[Talk]) -> list[tuple[Question, int, Covered]]:
    """For every question with evidence, at each budget."""
    return [
        (question, tokens, talk.ask(question, tokens))
        for talk in talks
        for question in talk.conversation.questions
        for tokens in BUDGETS
    ]


def consolidate(client: Client) -> Mapping[str, int]:
    """Consolidate a namespace to the end; what the job made, by kind."""
    job: str = client.post("/v0/consolidate", {"trigger": "manual"})["jobId"]
    wait_for(client, [job])
    result: Mapping[str, int] = client.job(job)["result"]
    return result


def as_round(answers: Sequence[Answer], made: Sequence[Mapping[str, int]], disturbed: float) -> Round:
    """Ours and the baseline are of the budget at which the consolidation costs most. A point less is allowed, so it is off the baseline:
    the ratio is below one where more than that is lost."""
    worst = min(BUDGETS, key=lambda tokens: gain(of_budget(answers, tokens)))
    baseline, ours = means(of_budget(answers, worst))
    information = {
        "questions": len(answers) / len(BUDGETS),
        **{told_as: sum(one[name] for one in made) for name, told_as in MADE.items()},
    }
    series: dict[str, list[float]] = {}
    for tokens in BUDGETS:
        found = of_budget(answers, tokens)
        by_ability = {name: [one for one in found if one.question.category == name] for name in ABILITIES}
        series[f"{tokens:,} without"] = [means(own)[0] for own in by_ability.values()]
        series[f"{tokens:,} with"] = [means(own)[1] for own in by_ability.values()]
        information |= told(found, tokens)
        information |= {
            f"{name.replace('_', ' ')} at {tokens:,} tokens, points more": gain(own) / POINT
            for name, own in by_ability.items()
            if gain(own)
        }
    return Round(ours, baseline - POINT, disturbed, information, series)


def told(found: Sequence[Answer], tokens: int) -> dict[str, float]:
    """Of one budget, all abilities together."""
    without, with_it = means(found)
    return {
        f"evidence without at {tokens:,} tokens": without,
        f"with at {tokens:,} tokens": with_it,
        f"all questions at {tokens:,} tokens, points more": gain(found) / POINT,
        f"better at {tokens:,} tokens, questions": sum(one.with_it > one.without for one in found),
        f"worse at {tokens:,} tokens, questions": sum(one.with_it < one.without for one in found),
        f"evidence in consolidations alone at {tokens:,} tokens, messages": sum(
            len(one.question.gold & one.after.by_consolidation) for one in found
        ),
    }


def of_budget(answers: Sequence[Answer], tokens: int) -> list[Answer]:
    return [one for one in answers if one.tokens == tokens]


def means(answers: Sequence[Answer]) -> tuple[float, float]:
    """Of the shares, without the consolidation and with it: each question counts the same. Nothing where there is no question."""
    if not answers:
        return 0.0, 0.0
    return fmean(one.without for one in answers), fmean(one.with_it for one in answers)


def gain(answers: Sequence[Answer]) -> float:
    without, with_it = means(answers)
    return with_it - without


def chart(rounds: Sequence[Round]) -> Chart:
    """Of the last round."""
    return Chart(
        "bars",
        "Evidence in contexts, by what is asked for",
        "what is asked for; tokens, without a consolidation and with it",
        "share",
        list(ABILITIES.values()),
        rounds[-1].series,
    )


FIGURE = Figure(
    name="consolidation-context",
    says="How much of the evidence for a question is inside an assembled context after a consolidation, against before it.",
    ours="share of the evidence with the consolidation, at the budget where it costs most",
    baseline="the same without it, less one point",
    direction=Direction.AT_LEAST,
    bound=1.0,
    why="A consolidation folds, retires and sums up. What is asked for has to be in the context all the same: at neither budget may more "
    "than one point of the evidence be lost.",
    how="BEAM-100K, ten chats, all questions with evidence. Every chat goes into a namespace of a fresh `infinicon up`, each message "
    "with its day; a context of 500 and one of 1,000 tokens (o200k_base) is assembled for every question; every namespace is consolidated "
    "to the end by the built-in consolidator, and the contexts are assembled again. A message of the evidence counts where it is in the "
    "context itself, or an atom of it, or a consolidation that has such an atom as a source and quotes it; what a consolidation rests on "
    "without a line of it does not count. Shares are averaged over questions.",
    rounds=1,
    quick_rounds=1,
    measure=measure,
    chart=chart,
    timed=False,
    data=FILE,
)
