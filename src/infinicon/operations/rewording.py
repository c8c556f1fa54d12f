"""What a stored memory says once secrets that it holds have become known, and where spans of its text stand then."""

from __future__ import annotations

import json

from infinicon.domain import Json, MemoryType, Span
from infinicon.operations.extract import is_text
from infinicon.operations.redaction import Redactor, moved
from infinicon.store.redactions import Stored, Words


def reworded(redactor: Redactor, stored: Stored) -> Words:
    """The memory's words without known secrets; equal to what they were where there is none in them."""
    words = stored.words
    return Words(
        content_type=None if words.content_type is None else redactor.media_type(words.content_type),
        content=_content(redactor, stored),
        search_text=redactor.optional(words.search_text),
        speaker=redactor.optional(words.speaker),
        title=redactor.optional(words.title),
        created_by=redactor.mapping(words.created_by),
        metadata=redactor.mapping(words.metadata),
        tags=redactor.tags(words.tags),
        dedupe_key=redactor.optional(words.dedupe_key),
        filters=None if words.filters is None else redactor.mapping(words.filters),
    )


def textual(stored: Stored) -> bool:
    """Whether the content is text as it stands, and no JSON: all that is derived is."""
    return stored.type is not MemoryType.EPISODE or is_text(stored.words.content_type or "text/plain")


def _content(redactor: Redactor, stored: Stored) -> str | None:
    content = stored.words.content
    if content is None or textual(stored):
        return redactor.optional(content)
    return redactor.document(content)


def moved_span(redactor: Redactor, stored: Stored, span: Span) -> Span:
    """Where a span of the memory's former text stands. One whose place cannot be found stays as it is."""
    content = stored.words.content
    if content is None:
        return span
    if textual(stored):
        text, path = content, span.path
    else:
        before = json.loads(content)
        found = _followed(before, redactor.json(before), span.path)
        if found is None:
            return span
        text, path = found
    edits = redactor.edits(text)
    return Span(moved(span.start, edits, end=False), moved(span.end, edits, end=True), path)


def _followed(before: Json, after: Json, path: str) -> tuple[str, str] | None:
    """The string at a JSON Pointer, and the pointer to it after redaction, which keeps members in their order and may rename them."""
    names = []
    for token in path.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(before, dict) and isinstance(after, dict) and name in before:
            now = list(after)[list(before).index(name)]
            before, after = before[name], after[now]
            names.append(now.replace("~", "~0").replace("/", "~1"))
        elif isinstance(before, list) and isinstance(after, list) and name.isdecimal() and int(name) < len(before):
            before, after = before[int(name)], after[int(name)]
            names.append(name)
        else:
            return None
    return (before, "".join(f"/{name}" for name in names)) if isinstance(before, str) else None
