"""JSON as passages of text.

- A turn is an object that says who (`speaker`, `author`, `from`, `sender` or `role`: a string, or an object with a `name` or `role`) and
  what (one of CONTENTS), wherever it stands: alone, in a list, under `messages`, `turns`, `conversation` or any other key. Beside
  a `role`, a `name` is who speaks. What it says is a string, a list of strings and of objects with a `text`, or an object with such
  `parts`; every string of it is a passage with the turn's speaker, and with the turn's time where one of TIMES is ISO 8601 with
  a zone, or a number of seconds or milliseconds since 1970 that lies between 1990 and 2100. A date alone is no moment and is ignored.
- What tools are called with is facts, never passages.
- Anywhere else a string of three words or more is a passage, and a shorter value of a key is a fact, "key: value". Of a turn only the
  speaker and the time that was understood are no facts, and its `role` and `type`.
- Passages are read as Markdown, which is what chat programs write. The path of a passage is its JSON Pointer (RFC 6901).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from infinicon.domain import Json
from infinicon.plugins.extractor.sentences import FRAGMENT, word_count

_SPEAKERS = ("speaker", "author", "from", "sender", "role")
CONTENTS = ("content", "text", "parts", "body", "message", "value")
TIMES = (
    "at",
    "time",
    "timestamp",
    "date",
    "created_at",
    "createdAt",
    "create_time",
    "created",
    "sent_at",
    "sentAt",
    "ts",
)
_TOOLS = frozenset({"tool_calls", "toolCalls", "function_call", "functionCall", "tool_call", "tool_use", "toolCall"})
_KINDS = frozenset({"role", "type", "content_type"})
_SECONDS = range(631_152_000, 4_102_444_800)  # 1990 to 2100.
_LONGEST_NAME = 256
_LONGEST_FACT = 1_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A string of the episode. `path` points to it."""

    text: str
    path: str
    speaker: str | None
    at: datetime | None


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
    silent: bool = False
    """Part of what a tool is called with: no string is a passage."""


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
            isinstance(value, str)
            and value.strip()
            and not node.silent
            and (node.spoken or word_count(value[:_LONGEST_FACT]) >= FRAGMENT)
        ):
            found.append(Passage(value, node.path, node.speaker, node.at))
        elif value is not None and value != "" and not (node.in_turn and node.key in _KINDS):
            facts.append(_fact(node.key, value))
    return found, [fact for fact in facts if fact]


def _children(node: _Node, value: dict[str, Json]) -> list[_Node]:
    key, speaker = _who(value)
    if speaker is None or not any(key in value for key in CONTENTS):
        silent = value.get("type") in _TOOLS if isinstance(value.get("type"), str) else False
        inner = replace(node, silent=node.silent or silent)
        return [_child(inner, item, key, key, spoken=node.spoken and key in CONTENTS) for key, item in value.items()]
    when, at = next(((key, moment) for key in TIMES if (moment := _moment(value.get(key)))), ("", node.at))
    turn = _Node(value, node.path, node.key, speaker, at, in_turn=True, silent=node.silent)
    return [
        _child(turn, item, name, name, spoken=name in CONTENTS)
        for name, item in value.items()
        if name not in (key, when)
    ]


def _who(value: dict[str, Json]) -> tuple[str, str | None]:
    """The key that says who speaks, and the name. `name` counts beside `role` only: things have names too."""
    if (name := name_of(value.get("name"))) and name_of(value.get("role")):
        return "name", name
    for key in _SPEAKERS:
        said = value.get(key)
        if isinstance(said, dict):
            said = name_of(said.get("name")) or name_of(said.get("role"))
        if name := name_of(said):
            return key, name
    return "", None


def _child(node: _Node, value: Json, token: str, key: str, *, spoken: bool) -> _Node:
    path = f"{node.path}/{token.replace('~', '~0').replace('/', '~1')}"
    silent = node.silent or key in _TOOLS
    return _Node(value, path, key, node.speaker, node.at, node.in_turn, spoken and not silent, silent)


def _moment(value: Json) -> datetime | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = value if value < _SECONDS.stop else value / 1_000 if value < 1_000 * _SECONDS.stop else 0
        return datetime.fromtimestamp(seconds, UTC) if _SECONDS.start <= seconds < _SECONDS.stop else None
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
