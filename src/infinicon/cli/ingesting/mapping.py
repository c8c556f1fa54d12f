"""`--map content=t,createdBy=s`: which fields of foreign JSON are which of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infinicon.cli.client import Wire
from infinicon.cli.faults import WrongUsage
from infinicon.cli.ingesting.conversations import KINDS, moment
from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.shaping import Draft

TIMES = ("occurredAt", "expiresAt")
SCOPE = ("agentId", "sessionId")
TARGETS = ("content", "contentType", "createdBy", "speaker", "dedupeKey", *TIMES, "tags", *SCOPE)
METADATA = "metadata."
REQUIRED = ("content", "dedupeKey", *SCOPE)
"""A line that lacks one of these, where it is mapped, is broken: without it, lines would be taken for others."""


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Targets, each with the fields whose values it joins."""

    fields: Mapping[str, tuple[str, ...]]

    @classmethod
    def parse(cls, text: str) -> FieldMap:
        """Read `target=field,target=field+field`.

        Raises:
            WrongUsage: it is not of this form, knows another target, names one twice, or has no content.
        """
        fields: dict[str, tuple[str, ...]] = {}
        for pair in text.split(","):
            target, equals, names = (part.strip() for part in pair.partition("="))
            parts = tuple(name.strip() for name in names.split("+"))
            if not equals or not all(parts):
                raise _usage("--map is a list of TARGET=FIELD, with commas between")
            if target not in TARGETS and not (target.startswith(METADATA) and len(target) > len(METADATA)):
                raise _usage(f"--map knows {', '.join(TARGETS)} and metadata.NAME as targets")
            if target in fields:
                raise _usage(f"--map names {target} twice")
            fields[target] = parts
        if "content" not in fields:
            raise _usage("--map does not say which field is the content")
        return cls(fields)

    def draft(self, record: Any, place: Place, anchor: str) -> Draft | Broken:
        """The episode of one object."""
        if not isinstance(record, dict):
            return Broken(place, "not a JSON object")
        values: dict[str, Any] = {}
        for target, names in self.fields.items():
            found = [_lookup(record, name) for name in names]
            if any(value is None for value in found):
                if target in REQUIRED:
                    return Broken(place, f"the field that --map names for {target} is not there")
                continue
            value = found[0] if len(found) == 1 else "-".join(map(_plain, found))
            values[target] = value if target in ("content", "tags") or target.startswith(METADATA) else _plain(value)
        for target in TIMES:
            if target in values:
                values[target] = moment(_lookup(record, self.fields[target][0])) or values[target]
        return _draft(values, place, anchor)


def _draft(values: Mapping[str, Any], place: Place, anchor: str) -> Draft:
    direct = ("content", "contentType", "dedupeKey", *TIMES)
    episode: Wire = {target: values[target] for target in direct if target in values}
    metadata = {target[len(METADATA) :]: value for target, value in values.items() if target.startswith(METADATA)}
    if "speaker" in values:
        metadata.setdefault("speaker", values["speaker"])
    if author := values.get("createdBy", values.get("speaker")):
        episode["createdBy"] = {"id": author, "kind": KINDS.get(author.lower(), "user")}
    if "tags" in values:
        tags = values["tags"] if isinstance(values["tags"], list) else [values["tags"]]
        episode["tags"] = [_plain(tag) for tag in tags]
    if metadata:
        episode["metadata"] = metadata
    return Draft(place, anchor, episode, {part: values[part] for part in SCOPE if part in values})


def _lookup(record: Mapping[str, Any], name: str) -> Any:
    """The field of this name; where there is none, its parts between dots lead through objects. None where nothing is there."""
    if name in record:
        return record[name]
    found: Any = record
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value)


def _usage(message: str) -> WrongUsage:
    return WrongUsage(message, "for example --map content=text,speaker=author,dedupeKey=chat+number,metadata.chat=chat")
