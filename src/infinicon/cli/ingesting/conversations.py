"""Chat messages as episodes, one for each turn: {role, content} as model APIs have it, and exports of ChatGPT and Claude."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from infinicon.cli.client import Wire
from infinicon.cli.ingesting.documents import MESSAGES
from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.shaping import Draft

KINDS = {
    "user": "user",
    **dict.fromkeys(("assistant", "model", "ai", "bot", "agent"), "agent"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "ipython"), "plugin"),
}
"""Roles, and the kind of actor that each is; any other role is a user."""
ROLE_NAMES = {"human": "user"}
TITLES = ("title", "name")
CALLS = ("tool_calls", "function_call")
TOOL_PARTS = frozenset({"tool_use", "tool_result", "tool_call", "function_call", "function_call_output"})
TIMES = ("timestamp", "created_at", "create_time", "createdAt", "sent_at", "time", "date")
IDS = ("id", "uuid", "conversation_id", "conversationId")
SECONDS = range(631_152_000, 4_102_444_800)  # 1990 to 2100: a number outside is no time of a message
LONGEST_NAME = 256


@dataclass(frozen=True, slots=True)
class Conversation:
    """What its turns share. `anchor` is its own id, or else where it stands in its source, the same in every run."""

    id: str
    anchor: str
    title: str | None = None
    scope: Mapping[str, Any] = field(default_factory=dict)


def is_message(value: object) -> bool:
    """Whether something says who and what, as a message does, and is no IngestEpisode."""
    return (
        isinstance(value, dict)
        and _role(value) is not None
        and not value.keys().isdisjoint(("content", "text", "parts", *CALLS))
        and value.keys().isdisjoint(("contentType", "createdBy"))
    )


def is_conversation(value: Mapping[str, Any]) -> bool:
    held = isinstance(value.get("mapping"), dict) or any(isinstance(value.get(name), list) for name in MESSAGES)
    return held and value.keys().isdisjoint(("content", "contentType"))


def turns(value: Mapping[str, Any], place: Place, anchor: str) -> Iterator[Draft | Broken | None]:
    """The turns of a whole conversation; None for one that says nothing. `anchor` says where in its source it stands."""
    messages = _thread(value) if isinstance(value.get("mapping"), dict) else _listed(value)
    conversation = described(value, f"{place.source}#{anchor}", anchor)
    for number, message in enumerate(messages, 1):
        yield turn(message, conversation, replace(place, turn=number), f"turn {number}")


def described(value: Mapping[str, Any], name: str, anchor: str) -> Conversation:
    """The conversation of an object with messages, by what else it says; `name` and `anchor` where it has no id."""
    own = next((str(value[key]) for key in IDS if isinstance(value.get(key), str | int) and value[key] != ""), None)
    title = next((value[key] for key in TITLES if isinstance(value.get(key), str) and value[key].strip()), None)
    scope = value["scope"] if isinstance(value.get("scope"), dict) else {}
    return Conversation(
        (own or name)[:LONGEST_NAME], f"id {own}" if own else anchor, title and title[:LONGEST_NAME], scope
    )


def turn(message: Any, conversation: Conversation, place: Place, anchor: str) -> Draft | Broken | None:
    """One message as an episode; None where it says nothing. `anchor` says where in its conversation it stands."""
    if not isinstance(message, dict) or (role := _role(message)) is None:
        return Broken(place, "a message needs a role and content")
    texts, structured = _said(message.get("content") if message.get("content") is not None else message.get("parts"))
    if not texts and isinstance(message.get("text"), str) and message["text"].strip():
        texts = [message["text"]]
    structured = structured or any(message.get(name) for name in CALLS)
    if not texts and not structured:
        return None
    name = _name(message)
    episode: Wire = {
        "contentType": "application/json" if structured else "text/markdown",
        "content": _as_json(message, role) if structured else "\n\n".join(texts),
        "createdBy": {"id": name or role, "kind": KINDS.get(role, "user")},
        "metadata": _metadata(conversation, role, name, place.turn),
    }
    _set_time(episode, message)
    own = message.get("id") or message.get("uuid")
    within = f"message {own}" if isinstance(own, str) else anchor
    return Draft(place, f"{conversation.anchor} {within}", episode, conversation.scope)


def _metadata(conversation: Conversation, role: str, name: str | None, number: int) -> Wire:
    optional = {"speaker": name, "title": conversation.title}
    present = {key: value for key, value in optional.items() if value}
    return {"role": role, "conversation": conversation.id, "turn": number, **present}


def _listed(value: Mapping[str, Any]) -> Sequence[Any]:
    messages: Sequence[Any] = next(value[name] for name in MESSAGES if isinstance(value.get(name), list))
    return messages


def _thread(value: Mapping[str, Any]) -> list[Any]:
    """The messages of ChatGPT's tree that the person saw last: from the current node up to the root, turned round.

    Without a current node, all of them by time.
    """
    nodes = {key: node for key, node in value["mapping"].items() if isinstance(node, dict)}
    path: list[Any] = []
    at, seen = value.get("current_node"), set[str]()
    while isinstance(at, str) and at in nodes and at not in seen:
        seen.add(at)
        path.append(nodes[at].get("message"))
        at = nodes[at].get("parent")
    messages = path[::-1] or sorted((node.get("message") for node in nodes.values()), key=_sort_time)
    return [message for message in messages if isinstance(message, dict) and not _is_hidden(message)]


def _sort_time(message: Any) -> float:
    time = message.get("create_time") if isinstance(message, dict) else None
    return time if isinstance(time, int | float) else 0.0


def _is_hidden(message: Mapping[str, Any]) -> bool:
    metadata = message.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("is_visually_hidden_from_conversation"))


def _role(message: Mapping[str, Any]) -> str | None:
    """Known roles in lower case, any other word as it is written: it may be a name."""
    author = message.get("author")
    said = author.get("role") if isinstance(author, dict) else message.get("role") or message.get("sender")
    if not isinstance(said, str) or not (written := " ".join(said.split())[:LONGEST_NAME]):
        return None
    role = ROLE_NAMES.get(written.lower(), written.lower())
    return role if role in KINDS else written


def _name(message: Mapping[str, Any]) -> str | None:
    author = message.get("author")
    said = author.get("name") if isinstance(author, dict) else message.get("name")
    return " ".join(said.split())[:LONGEST_NAME] or None if isinstance(said, str) else None


def _said(content: Any) -> tuple[list[str], bool]:
    """The texts of a message's content that are not blank, and whether it is more than texts: a tool called, or its answer.

    Pictures and sound say nothing here.
    """
    if isinstance(content, str):
        return ([content] if content.strip() else []), False
    if isinstance(content, dict):
        if isinstance(content.get("parts"), list):
            return _said(content["parts"])
        foreign = content.keys().isdisjoint(("text", "content_type", "type"))  # what a tool answered, in its own shape
        return ([], bool(content)) if foreign else _said([content])
    texts: list[str] = []
    structured = False
    for part in content if isinstance(content, list) else ():
        text = part.get("text") if isinstance(part, dict) else part
        structured = structured or _is_call(part)
        texts += [text] if isinstance(text, str) and text.strip() else []
    return texts, structured


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str) and part["type"] in TOOL_PARTS


def _as_json(message: Mapping[str, Any], role: str) -> Wire:
    """The message as the extractor reads it in JSON: what tools are called with is found, and yields no atoms."""
    kept: Wire = {"role": role}
    kept |= {name: message[name] for name in ("name", "content", "tool_call_id", *CALLS) if message.get(name)}
    if isinstance(kept.get("content"), list):
        kept["content"] = [part for part in kept["content"] if _is_call(part) or _said([part])[0]]
    return kept


def _set_time(episode: Wire, message: Mapping[str, Any]) -> None:
    """occurredAt, where a time is a moment; a time without a zone is kept in metadata as it was written."""
    for name in TIMES:
        if (at := moment(message.get(name))) is not None:
            episode["occurredAt"] = at
            return
    written = next((message[name] for name in TIMES if isinstance(message.get(name), str)), "")
    if written.strip():
        episode["metadata"]["time"] = written.strip()[:LONGEST_NAME]


def moment(value: Any) -> str | None:
    """RFC 3339 in UTC, of ISO 8601 with a zone or of seconds or milliseconds since 1970; None where it is no moment."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value if value < SECONDS.stop else value / 1_000 if value < 1_000 * SECONDS.stop else 0
        known = SECONDS.start <= seconds < SECONDS.stop
        return _wire_time(datetime.fromtimestamp(seconds, UTC)) if known else None
    try:
        at = datetime.fromisoformat(value.strip()) if isinstance(value, str) and len(value) <= 64 else None
        return None if at is None or at.tzinfo is None else _wire_time(at.astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def _wire_time(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat() + "Z"
