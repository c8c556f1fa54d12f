"""Evidence inside assembled contexts: which messages of a conversation the segments of a context stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bench.backfill import fill
from bench.retrieval.conversations import Conversation, Question, Unit
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client

DATE = "%B-%d-%Y"
"""As BEAM writes it."""


@dataclass(frozen=True, slots=True)
class Covered:
    """The messages that a context stands for, and those of them for which only a consolidation does."""

    units: frozenset[str]
    by_consolidation: frozenset[str] = frozenset()


@dataclass(slots=True)
class Talk:
    """A conversation that a running Infinicon holds, in a namespace of its own. `units` are its messages by id of the episode."""

    client: Client
    conversation: Conversation
    units: Mapping[str, str]
    _behind: dict[str, frozenset[str]] = field(default_factory=dict)

    def ask(self, question: Question, tokens: int) -> Covered:
        """Assemble a context for the question, and look what is in it."""
        body = {"task": question.text, "budget": {"maxTokens": tokens}}
        segments: list[Wire] = self.client.post("/v0/assemble-context", body)["context"]["segments"]
        self._follow([segment["ref"] for segment in segments if segment["ref"]["type"] == "consolidation"])
        return covered(segments, self.units, self._behind)

    def _follow(self, refs: Sequence[Wire]) -> None:
        """Find the messages that consolidations quote, once for each."""
        new = [ref for ref in refs if ref["id"] not in self._behind]
        for one in self.client.hydrate(new).values() if new else ():
            atoms = self.client.hydrate(one["provenance"]["sourceRefs"])
            self._behind[one["id"]] = quoted(one["content"], atoms.values(), self.units)


def take_in(client: Client, conversation: Conversation) -> Talk:
    """Ingest every message with its time, and wait until all are found."""
    times = moments(conversation.units)
    episodes = [_episode(unit, time) for unit, time in zip(conversation.units, times, strict=True)]
    ids = fill(client, episodes)
    return Talk(client, conversation, dict(zip(ids, (unit.id for unit in conversation.units), strict=True)))


def _episode(unit: Unit, time: datetime) -> Wire:
    return {
        "contentType": "text/plain",
        "content": unit.text,
        "dedupeKey": unit.id,
        "createdBy": {"id": unit.speaker, "kind": "user"},
        "metadata": {"speaker": unit.speaker},
        "occurredAt": time.isoformat(),
    }


def moments(units: Sequence[Unit]) -> list[datetime]:
    """A time for each message: its day, and so many minutes later as messages went before it on that day."""
    before: dict[str, int] = {}
    times = []
    for unit in units:
        assert unit.date is not None
        at = before[unit.date] = before.get(unit.date, -1) + 1
        times.append(datetime.strptime(unit.date, DATE).replace(tzinfo=UTC) + timedelta(minutes=at))
    return times


def quoted(content: str, atoms: Iterable[Wire], units: Mapping[str, str]) -> frozenset[str]:
    """The messages of those atoms that a consolidation has a line of. A source that it rests on and does not quote any more is not told."""
    lines = [part for line in content.splitlines() for part in (line, line.partition(": ")[2]) if part.strip()]
    found: set[str] = set()
    for atom in atoms:
        text = " ".join(atom["content"].split())
        if any(line in text for line in lines):
            found.update(units[source["id"]] for source in atom["provenance"]["sourceRefs"] if source["id"] in units)
    return frozenset(found)


def covered(segments: Sequence[Wire], units: Mapping[str, str], behind: Mapping[str, frozenset[str]]) -> Covered:
    """A message counts where it is in the context itself, or an atom of it, or a consolidation that quotes one (`behind`)."""
    direct: set[str] = set()
    indirect: set[str] = set()
    for segment in segments:
        ref = segment["ref"]
        if ref["type"] == "consolidation":
            indirect |= behind[ref["id"]]
        else:
            sources = (source["id"] for source in segment["provenance"]["sourceRefs"])
            direct.update(units[one] for one in (ref["id"], *sources) if one in units)
    return Covered(frozenset(direct | indirect), frozenset(indirect - direct))
