"""JSON as passages of text.

- A turn is an object with `role` or `speaker` (a string) and `content` or `text`, wherever it stands: alone, in a list, under
  `messages`, `turns`, `conversation` or any other key. Its content is a string, or a list of parts with a `text`; every string of it is
  a passage with the turn's speaker, and with the turn's time where `at`, `time`, `timestamp` or `date` is ISO 8601 with a zone.
- Anywhere else a string of three words or more is a passage, and a shorter value of a key is a fact, "key: value"; a turn has no facts.
- Passages are read as Markdown, which is what chat programs write. The path of a passage is its JSON Pointer (RFC 6901).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from infinicon.domain import Json
from infinicon.plugins.extractor.sentences import FRAGMENT, word_count

_SPEAKERS = ("speaker", "role")
_CONTENTS = ("content", "text")
_TIMES = ("at", "time", "timestamp", "date")
_LONGEST_NAME = 256
_LONGEST_FACT = 1_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A string of the episode. `path` points to it."""

    text: str
    path: str
    speaker: str | None
    at: datetime | None
    marked_up: bool = True


@dataclass(frozen=True, slots=True)
class _Node:
    value: Json
    path: str
    key: str
    speaker: str | None
    at: datetime | None
    in_turn: bool = False
    spoken: bool = False
    """Part of what a turn says: every string is a passage, however short."""


def name_of(value: Json) -> str | None:
    """A speaker's name: a string that is not blank, with single spaces."""
    return (" ".join(value[: 4 * _LONGEST_NAME].split())[:_LONGEST_NAME] or None) if isinstance(value, str) else None


def passages(content: Json, speaker: str | None, at: datetime | None) -> tuple[list[Passage], list[str]]:
    """The passages of any JSON value, in the order of the source, and its facts. The stack is a list: nesting may be deep."""
    found: list[Passage] = []
    facts: list[str] = []
    stack = [_Node(content, "", "", speaker, at)]
    while stack:
        node = stack.pop()
        value = node.value
        if isinstance(value, dict):
            stack.extend(reversed(_children(node, value)))
        elif isinstance(value, list):
            stack.extend(
                reversed([_child(node, item, str(at), node.key, spoken=node.spoken) for at, item in enumerate(value)])
            )
        elif (
            isinstance(value, str) and value.strip() and (node.spoken or word_count(value[:_LONGEST_FACT]) >= FRAGMENT)
        ):
            found.append(Passage(value, node.path, node.speaker, node.at))
        elif value is not None and value != "" and not node.in_turn:
            facts.append(_fact(node.key, value))
    return found, [fact for fact in facts if fact]


def _children(node: _Node, value: dict[str, Json]) -> list[_Node]:
    speaker = next((name for key in _SPEAKERS if (name := name_of(value.get(key)))), None)
    if speaker is None or not any(key in value for key in _CONTENTS):
        return [_child(node, item, key, key, spoken=node.spoken and key in _CONTENTS) for key, item in value.items()]
    at = next((moment for key in _TIMES if (moment := _moment(value.get(key)))), node.at)
    turn = _Node(value, node.path, node.key, speaker, at, in_turn=True)
    return [
        _child(turn, item, key, key, spoken=key in _CONTENTS)
        for key, item in value.items()
        if key not in _SPEAKERS and key not in _TIMES
    ]


def _child(node: _Node, value: Json, token: str, key: str, *, spoken: bool) -> _Node:
    path = f"{node.path}/{token.replace('~', '~0').replace('/', '~1')}"
    return _Node(value, path, key, node.speaker, node.at, node.in_turn, spoken)


def _moment(value: Json) -> datetime | None:
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _fact(key: str, value: Json) -> str:
    shown = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
    return f"{key}: {shown}" if key and shown else shown
