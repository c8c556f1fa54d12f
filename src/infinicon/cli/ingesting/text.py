"""Text and Markdown as episodes: a file is one, a long one is cut at paragraphs."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from infinicon.cli.client import Wire
from infinicon.cli.ingesting.lines import unreadable
from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.shaping import Draft
from infinicon.cli.ingesting.sources import READING_FAULTS

PART_CHARACTERS = 64 * 1024
"""One part of a text at most: not more than 1 MiB in UTF-8, which is what an episode may have."""
CHUNK_BYTES = 64 * 1024
MARKDOWN = "text/markdown"
ROWS = frozenset({"text/csv", "text/tab-separated-values"})

_PARAGRAPH = re.compile(r"\n[ \t]*\n+")
_LINE = re.compile(r"[^\n]*\n")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_BLANK = re.compile(r"\s")


class NotText(Exception):
    """The bytes are no text; the message says by what they show it."""


def drafts(stream: io.BufferedIOBase, source: str, content_type: str) -> Iterator[Draft | Broken]:
    """The parts of one text, numbered where there are several."""
    place = Place(source)
    before: str | None = None
    number = 0
    try:
        for part in parts(_decoded(stream), content_type):
            if before is not None:
                number += 1
                yield _draft(place, number, before, content_type)
            before = part
    except (NotText, *READING_FAULTS) as fault:
        yield Broken(place, str(fault) if isinstance(fault, NotText) else unreadable(fault))
        return
    if before is not None:
        yield _draft(place, number + 1 if number else 0, before, content_type)


def _draft(place: Place, number: int, text: str, content_type: str) -> Draft:
    metadata: Wire = {"file": place.source, "part": number} if number else {"file": place.source}
    episode: Wire = {"contentType": content_type, "content": text, "metadata": metadata}
    return Draft(replace(place, part=number), f"part {max(number, 1)}", episode)


def parts(chunks: Iterable[str], content_type: str, bound: int = PART_CHARACTERS) -> Iterator[str]:
    """The text in parts of at most `bound` characters, without blank lines at their edges.

    Where it is cut depends on the text alone, and not on how it comes.
    """
    text = ""
    for chunk in chunks:
        text += chunk
        while len(text) > bound:
            cut = _boundary(text[:bound], content_type)
            yield from filter(None, [text[:cut].strip("\n")])
            text = text[cut:]
    if text.strip():
        yield text.strip("\n")


def _boundary(text: str, content_type: str) -> int:
    """Where to cut: behind the last paragraph; else behind the last line or word, where one ends late enough; else behind everything."""
    paragraphs = [found.end() for found in _PARAGRAPH.finditer(text)] if content_type not in ROWS else []
    if content_type == MARKDOWN:
        fences = _fences(text)
        paragraphs = [end for end in paragraphs if not any(begin < end <= close for begin, close in fences)]
    line = text.rfind("\n", len(text) // 2) + 1
    word = max((found.end() for found in _BLANK.finditer(text, len(text) - 1024)), default=0)
    return (paragraphs or [0])[-1] or line or word or len(text)


def _fences(text: str) -> list[tuple[int, int]]:
    """Where code between fences begins and ends."""
    marks = [found.start() for found in _LINE.finditer(text) if _FENCE.match(text, found.start())]
    closed = [*marks, len(text)] if len(marks) % 2 else marks
    return list(zip(closed[::2], closed[1::2], strict=True))


def _decoded(stream: io.BufferedIOBase) -> Iterator[str]:
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")(), translate=True)
    while True:
        data = stream.read1(CHUNK_BYTES)
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            raise NotText("not UTF-8 (is it a text file?)") from None
        if "\x00" in text:
            raise NotText("holds NUL bytes (is it a text file?)")
        yield text
        if not data:
            return
