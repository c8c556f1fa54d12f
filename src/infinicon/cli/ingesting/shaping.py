"""A draft becomes the bytes of one IngestEpisode: defaults filled in, and a dedupeKey that the same input gives again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infinicon.cli.client import Wire
from infinicon.cli.ingesting.places import Broken, Place

SCOPE_PARTS = ("agentId", "sessionId", "filters")


@dataclass(frozen=True, slots=True)
class Draft:
    """An episode as its format gives it. `anchor` says where it belongs in its source, the same in every run; `scope` is its own."""

    place: Place
    anchor: str
    episode: Wire
    scope: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """An episode as it travels. `scope` is compact JSON of what its scope has beside tenant and namespace."""

    place: Place
    scope: str
    wire: bytes


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where the input says nothing else."""

    author: str | None = None
    agent: str | None = None
    session: str | None = None


def prepare(draft: Draft, defaults: Defaults) -> Prepared | Broken:
    """The episode to send, or the rule that it breaks. What only the server can judge is left to the server."""
    try:
        episode = _filled(draft, defaults)
        return Prepared(draft.place, _scope(draft.scope, defaults), _encoded(episode))
    except ValueError as fault:
        reason = str(fault) if isinstance(fault, _Rule) else "holds a number beyond the range of a double"
        return Broken(draft.place, reason)
    except RecursionError:
        return Broken(draft.place, "nests too deeply")


class _Rule(ValueError):
    """A rule that the draft breaks."""


def _filled(draft: Draft, defaults: Defaults) -> Wire:
    episode = dict(draft.episode)
    if "content" not in episode:
        raise _Rule("has no content")
    if episode.get("contentType") is None:
        episode["contentType"] = "text/plain" if isinstance(episode["content"], str) else "application/json"
    author = episode.get("createdBy")
    if author is None and defaults.author is not None:
        author = defaults.author
        metadata = episode.get("metadata")
        episode["metadata"] = {"speaker": author, **(metadata or {})} if isinstance(metadata, dict | None) else metadata
    if isinstance(author, str):
        episode["createdBy"] = {"id": author, "kind": "user"}
    if episode.get("dedupeKey") is None:
        episode["dedupeKey"] = _derived_key(draft, episode)
    return episode


def _derived_key(draft: Draft, episode: Wire) -> str:
    """Of the source's name, the place in it and what stands there: an edited line is another episode, not a conflict."""
    parts = [draft.place.source, draft.anchor, episode["contentType"], episode["content"]]
    return "ingest-" + hashlib.sha256(json.dumps(parts, allow_nan=False).encode()).hexdigest()[:40]


def _scope(own: Mapping[str, Any], defaults: Defaults) -> str:
    scope: dict[str, Any] = {"agentId": defaults.agent, "sessionId": defaults.session}
    scope |= {part: own[part] for part in SCOPE_PARTS if own.get(part) is not None}
    for part in ("agentId", "sessionId"):
        if scope[part] is not None and not _is_name(scope[part]):
            raise _Rule(f"{part} is not 1 to 256 characters without control characters")
    if not isinstance(scope.get("filters", {}), dict):
        raise _Rule("the filters of its scope are no object")
    present = {part: value for part, value in scope.items() if value is not None}
    return json.dumps(present, allow_nan=False, separators=(",", ":"))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 256 and bool(value.strip()) and value.isprintable()


def _encoded(episode: Wire) -> bytes:
    try:
        return json.dumps(episode, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # A lone surrogate travels as an escape, and the server rejects this episode alone.
        return json.dumps(episode, allow_nan=False, separators=(",", ":")).encode()
