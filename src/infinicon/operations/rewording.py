"""What a stored memory says once secrets that it holds have become known, and where spans of its text stand then."""

from __future__ import annotations

import json
from collections.abc import Sequence

from infinicon.domain import Json, MemoryType, Span
from infinicon.operations.extract import is_text
from infinicon.operations.redaction import Edit, Redactor, applied, moved
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
    found = _text_at(redactor, stored, span.path)
    if found is None:
        return span
    text, path = found
    return _moved(span, redactor.edits(text), path)


def quoted_anew(redactor: Redactor, stored: Stored, span: Span) -> str | None:
    """What a span of the memory's former text says after redaction, where a secret stood in it, or a part of one; else None.

    A piece of a secret is none that a redactor knows: whoever cut the text before the secret was known may have cut through it.
    """
    found = _text_at(redactor, stored, span.path)
    if found is None:
        return None
    text, path = found
    edits = redactor.edits(text)
    if not any(edit.start < span.end and span.start < edit.end for edit in edits):
        return None
    there = _moved(span, edits, path)
    return applied(text, edits)[there.start : there.end]


def _moved(span: Span, edits: Sequence[Edit], path: str) -> Span:
    return Span(moved(span.start, edits, end=False), moved(span.end, edits, end=True), path)


def _text_at(redactor: Redactor, stored: Stored, path: str) -> tuple[str, str] | None:
    """The former string that spans at this path count in, and the path to it after redaction."""
    content = stored.words.content
    if content is None or textual(stored):
        return None if content is None else (content, path)
    before = json.loads(content)
    return _followed(before, redactor.json(before), path)


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
