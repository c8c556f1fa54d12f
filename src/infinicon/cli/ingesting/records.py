"""What a JSON value is: an IngestEpisode, a message, a whole conversation, a request's body, or what --map says."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from infinicon.cli.ingesting.conversations import (
    Conversation,
    described,
    is_conversation,
    is_message,
    turn,
    turns,
)
from infinicon.cli.ingesting.documents import MESSAGES, Item, Malformed, loads
from infinicon.cli.ingesting.mapping import FieldMap
from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.shaping import Draft

Found = Draft | Broken | None
"""None is something that says nothing and is left out, such as a message without text."""


class Shape(enum.Enum):
    """What the records of a source are."""

    GUESS = "each by its fields"
    EPISODE = "IngestEpisodes"
    CHAT = "messages and conversations"


class Records:
    """The records of one source. It counts: messages that stand by themselves are one conversation, in their order."""

    def __init__(self, source: str, shape: Shape, fields: FieldMap | None) -> None:
        self._source = source
        self._shape = shape
        self._fields = fields
        self._turns = 0
        self._array = 0

    def of_lines(self, lines: Iterable[tuple[Place, str] | Broken]) -> Iterator[Found]:
        """A record a line."""
        alone = Conversation(self._source, "")
        for line in lines:
            if isinstance(line, Broken):
                yield line
                continue
            place, text = line
            try:
                value = loads(text)
            except Malformed as fault:
                yield Broken(place, str(fault))
                continue
            yield from self._record(value, place, f"line {place.line}", alone)

    def of_items(self, items: Iterable[Item | Broken]) -> Iterator[Found]:
        """A record an element. The messages of one array are one conversation."""
        for item in items:
            if isinstance(item, Broken):
                yield item
                continue
            if item.array != self._array:
                self._turns = 0
            self._array = item.array
            name = self._source if item.array <= 1 else f"{self._source}#{item.array}"
            array, element = f"array {item.array}", f"element {item.index}"
            if item.name in MESSAGES:
                yield from self._record(item.value, item.place, element, described(item.header, name, array))
            else:
                yield from self._record(item.value, item.place, f"{array} {element}", Conversation(name, ""))

    def _record(self, value: Any, place: Place, anchor: str, around: Conversation) -> Iterator[Found]:
        if self._fields is not None:
            yield self._fields.draft(value, place, anchor)
        elif isinstance(value, list):
            yield from self._list(value, place, anchor)
        elif not isinstance(value, dict):
            yield Broken(place, "not a JSON object")
        elif self._shape is not Shape.EPISODE and is_conversation(value):
            yield from turns(value, place, anchor)
        elif isinstance(value.get("episodes"), list) and "content" not in value:
            for number, episode in enumerate(value["episodes"]):
                yield _episode(episode, place, f"{anchor} episode {number}", value.get("scope"))
        elif self._shape is Shape.CHAT or (self._shape is Shape.GUESS and is_message(value)):
            self._turns += 1
            yield turn(value, around, replace(place, turn=self._turns), anchor)
        else:
            yield _episode(value, place, anchor, None)

    def _list(self, value: list[Any], place: Place, anchor: str) -> Iterator[Found]:
        if self._shape is not Shape.EPISODE and all(map(is_message, value)):
            yield from turns({"messages": value}, place, anchor)
            return
        for number, element in enumerate(value):
            yield _episode(element, place, f"{anchor} element {number}", None)


def _episode(value: Any, place: Place, anchor: str, scope: Any) -> Draft | Broken:
    if not isinstance(value, dict):
        return Broken(place, "not a JSON object")
    if "content" not in value:
        return Broken(place, "has no content; --map says which field is the content, see docs/ingest.md")
    own = value.get("scope", scope)
    if not isinstance(own, Mapping | None):
        return Broken(place, "its scope is no object")
    return Draft(place, anchor, {name: field for name, field in value.items() if name != "scope"}, own or {})
