"""Which format a source has, by its name or else by how it begins; and its episodes, ready to send."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from infinicon.cli.ingesting import documents, lines, text
from infinicon.cli.ingesting.mapping import FieldMap
from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.records import Found, Records, Shape
from infinicon.cli.ingesting.shaping import Defaults, Prepared, prepare
from infinicon.cli.ingesting.sources import READING_FAULTS, Meter, Opened, Source, Unreadable, opened


class Format(enum.StrEnum):
    """What --format says."""

    auto = "auto"
    ndjson = "ndjson"
    chat = "chat"
    text = "text"
    markdown = "markdown"


LINES = frozenset({".jsonl", ".ndjson"})
TEXTS = {
    ".md": text.MARKDOWN,
    ".markdown": text.MARKDOWN,
    ".txt": "text/plain",
    ".text": "text/plain",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
}
UNREAD = frozenset({".html", ".htm", ".xml", ".rtf", ".pdf", ".doc", ".docx", ".odt", ".epub"})
SHAPES = {Format.ndjson: Shape.EPISODE, Format.chat: Shape.CHAT}
"""What records are where --format says it."""

_OBJECT_BEGINS = re.compile(r'\{\s*(?:"|\}|$)')
_ARRAY_BEGINS = re.compile(r'\[\s*(?:[\[{"\]]|$)')


@dataclass(frozen=True, slots=True)
class Reader:
    """How to read: the format, --map, and what holds where the input says nothing."""

    format: Format = Format.auto
    fields: FieldMap | None = None
    defaults: Defaults = field(default_factory=Defaults)

    def episodes(self, source: Source, meter: Meter) -> Iterator[Prepared | Broken | None]:
        """The episodes of one source; None for something that says nothing and is left out."""
        try:
            if source.suffix in UNREAD and self.format is Format.auto:
                raise Unreadable("convert it to text or Markdown first (or say what it is by --format)")
            with opened(source, meter) as open_source:
                for found in self._found(source, open_source):
                    yield prepare(found, self.defaults) if not isinstance(found, Broken | None) else found
        except (Unreadable, *READING_FAULTS) as fault:
            yield Broken(Place(source.name), str(fault) if isinstance(fault, Unreadable) else lines.unreadable(fault))

    def _found(self, source: Source, open_source: Opened) -> Iterator[Found]:
        kind = self._kind(source.suffix, open_source.head)
        if kind not in ("lines", "document"):
            return text.drafts(open_source.stream, source.name, kind)
        records = Records(source.name, SHAPES.get(self.format, Shape.GUESS), self.fields)
        if kind == "lines":
            return records.of_lines(lines.numbered(open_source.stream, source.name))
        return records.of_items(documents.items(open_source.stream, source.name))

    def _kind(self, suffix: str, head: bytes) -> str:
        """`lines`, `document`, or the contentType of a text."""
        said = {
            Format.ndjson: "lines",
            Format.markdown: text.MARKDOWN,
            Format.text: TEXTS.get(suffix, "text/plain"),
        }.get(self.format)
        if said or suffix in LINES:
            return said or "lines"
        must_be_json = self.format is Format.chat or self.fields is not None
        if suffix in TEXTS and not must_be_json:
            return TEXTS[suffix]
        return "document" if suffix == ".json" else json_kind(head) or ("lines" if must_be_json else "text/plain")


def json_kind(head: bytes) -> str | None:
    """Whether something begins as JSON lines or as a JSON document; None where it reads as neither."""
    first = head.lstrip().partition(b"\n")[0].decode(errors="replace").rstrip()
    if _ARRAY_BEGINS.match(first):
        return "document"
    if not _OBJECT_BEGINS.match(first):
        return None
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return "document"
    return "lines"
