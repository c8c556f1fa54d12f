"""Recall through the front door: conversations go in as episodes, questions are asked over HTTP, and what comes back is followed to its
episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from bench.backfill import fill
from bench.figure import Chart, Round, Task
from bench.noise import Watched
from bench.retrieval import baselines
from bench.retrieval.conversations import Conversation, read, recall
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance, running
from infinicon.plugins.loader import load_embedder
from infinicon.settings import settings

CUTS = (5, 10, 20)
BOUNDED = 10
HITS = 100
"""Asked for: several atoms may lead to one message, and twenty messages are wanted."""

Ranker = Callable[[Conversation], list[list[str]]]
"""For each question of the core, ids of the units, the best first."""


def measure(file: str, quick_conversations: int, task: Task) -> Iterator[Round]:
    assert task.data is not None
    conversations = list(read(task.data / file, quick_conversations if task.quick else None))
    embedder = load_embedder(settings())
    for number in range(task.rounds):
        with Watched() as watched, running(task.scratch / str(number)) as instance:
            rankers: dict[str, Ranker] = {
                "Infinicon": partial(through_the_front_door, instance),
                "BM25": baselines.by_words,
                "dense": partial(baselines.by_meaning, embedder=embedder),
            }
            found = {name: mean_recall(conversations, rank) for name, rank in rankers.items()}
        yield as_round(conversations, found, watched.disturbed)


def through_the_front_door(instance: Instance, conversation: Conversation) -> list[list[str]]:
    """Every conversation is a namespace. A hit stands for its episode, an atom for those that it comes from."""
    with Client(instance, conversation.name) as client:
        ids = fill(client, [_episode(conversation, at) for at in range(len(conversation.units))])
        units = {episode: unit.id for episode, unit in zip(ids, conversation.units, strict=True)}
        return [units_of(client.query(question.text, HITS), units) for question in conversation.core]


def _episode(conversation: Conversation, at: int) -> Wire:
    unit = conversation.units[at]
    return {
        "contentType": "text/plain",
        "content": unit.text,
        "dedupeKey": unit.id,
        "createdBy": {"id": unit.speaker, "kind": "user"},
        "metadata": {"speaker": unit.speaker},
    }


def units_of(hits: Sequence[Wire], units: Mapping[str, str]) -> list[str]:
    """Units behind the hits, each once, where it came first."""
    refs = (ref for hit in hits for ref in (hit["ref"], *hit.get("sources", [])))
    return list(dict.fromkeys(units[ref["id"]] for ref in refs if ref["id"] in units))


def mean_recall(conversations: Sequence[Conversation], rank: Ranker) -> dict[int, float]:
    """By cut, the mean over all questions."""
    shares: dict[int, list[float]] = {k: [] for k in CUTS}
    for conversation in conversations:
        for question, ranked in zip(conversation.core, rank(conversation), strict=True):
            for k in CUTS:
                shares[k].append(recall(ranked, question.gold, k))
    return {k: sum(found) / len(found) for k, found in shares.items()}


def as_round(
    conversations: Sequence[Conversation], found: Mapping[str, Mapping[int, float]], disturbed: float
) -> Round:
    ours, *others = found
    information = {
        "conversations": len(conversations),
        "messages": sum(len(conversation.units) for conversation in conversations),
        "questions": sum(len(conversation.core) for conversation in conversations),
        **{f"{name} R@{k}": share for name, by_cut in found.items() for k, share in by_cut.items()},
    }
    return Round(found[ours][BOUNDED], max(found[name][BOUNDED] for name in others), disturbed, information)


def chart(rounds: Sequence[Round]) -> Chart:
    """Of the last round."""
    held = rounds[-1].information
    names = dict.fromkeys(name.rsplit(" R@", 1)[0] for name in held if " R@" in name)
    return Chart(
        "bars",
        "Evidence among the first k messages",
        "k",
        "recall",
        [f"R@{k}" for k in CUTS],
        {name: [held[f"{name} R@{k}"] for k in CUTS] for name in names},
    )
