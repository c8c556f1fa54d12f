"""The built-in extractor: sentences as atoms, word for word, without a model. Deterministic: equal input, equal atoms.

- Text: paragraphs, lines and sentences (lines.py, sentences.py, languages.py). Markdown: the same, without markup (markdown.py). JSON:
  chat turns and other strings (turns.py). CSV: rows (lines.py). What says nothing on its own is dropped (filler.py).
- An atom is one sentence, at most 1,000 characters of it. Fragments of fewer than three words join a neighbour of their paragraph.
- Of equal sentences of one speaker in an episode only the first becomes an atom.
- Code between fences, addresses alone and JSON in a string yield no atom; the episode is found by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from infinicon.domain import Span
from infinicon.errors import InvalidContent
from infinicon.plugins.extractor.languages import language_of
from infinicon.plugins.extractor.lines import Block, plain_blocks, rows
from infinicon.plugins.extractor.markdown import bare, markdown_blocks, plain
from infinicon.plugins.extractor.sentences import claims
from infinicon.plugins.extractor.turns import Passage, name_of, passages
from infinicon.ports import ExtractedAtom, Extraction, SourceEpisode
from infinicon.settings import Settings

_MARKDOWN = frozenset({"text/markdown", "text/x-markdown"})
_ROWS = frozenset({"text/csv", "text/tab-separated-values"})
_UNREAD = frozenset({"text/html", "text/xml", "text/rtf", "text/richtext", "text/css", "text/javascript"})
_READERS = {"plain": plain_blocks, "markdown": markdown_blocks, "rows": rows}
_ADDRESSES = re.compile(r"(?:[<(\[]?(?:(?:https?|ftp|file|data|mailto):|www\.)\S+\s*)+", re.IGNORECASE)
_JSON_BEGINS = re.compile(r"\{\s*(?:\"|\}\s*$)|\[\s*(?:[\"{\[]|\]\s*$|-?\d[\d.]*\s*,|(?:true|false|null)\b)")


def load(settings: Settings) -> BuiltinExtractor:  # noqa: ARG001 - the signature of an entry point; there is nothing to set
    return BuiltinExtractor()


def supports(content_type: str) -> bool:
    """Whether the extractor reads this media type: application/json, application/*+json, and text/* but for the
    languages whose text lies between tags or commands (HTML and others); parameters are ignored."""
    media_type = _media_type(content_type)
    if media_type in _UNREAD or media_type.endswith("+xml"):
        return False
    return (len(media_type) > len("text/") and media_type.startswith("text/")) or _is_json(media_type)


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _is_json(media_type: str) -> bool:
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


class BuiltinExtractor:
    """Implements ports.Extractor. Without state: safe in any number of threads."""

    name = "builtin"
    version = "1"

    def supports(self, content_type: str) -> bool:
        return supports(content_type)

    def extract(self, episode: SourceEpisode) -> Extraction:
        """Atoms in the order of the source.

        Raises:
            InvalidContent: the content of a text/* episode is not a string, or the type is not one that `supports` knows.
        """
        media_type = _media_type(episode.content_type)
        if _is_json(media_type):
            return _from_json(episode)
        if not supports(media_type):
            raise InvalidContent("the extractor does not read this contentType", details={"field": "contentType"})
        if not isinstance(episode.content, str):
            raise InvalidContent("content must be a string where contentType is text/*", details={"field": "content"})
        speaker = _speaker(episode)
        marked_up = media_type in _MARKDOWN
        reader = "markdown" if marked_up else "rows" if media_type in _ROWS else "plain"
        atoms, rest = _atoms([Passage(episode.content, "", speaker, episode.occurred_at)], reader)
        searchable = plain(episode.content) if marked_up else episode.content.strip()
        return Extraction(atoms, searchable, speaker, whole=len(atoms) == 1 and not rest)


def _speaker(episode: SourceEpisode) -> str | None:
    return name_of(episode.metadata.get("speaker")) or name_of(episode.metadata.get("role"))


def _from_json(episode: SourceEpisode) -> Extraction:
    default = _speaker(episode)
    found, facts = passages(episode.content, default, _aware(episode.occurred_at))
    atoms, rest = _atoms(found)
    speakers = {passage.speaker for passage in found}
    lines = [
        f"{passage.speaker}: {plain(passage.text)}" if len(found) > 1 and passage.speaker else plain(passage.text)
        for passage in found
    ]
    return Extraction(
        atoms,
        "\n".join([*lines, *facts]).strip(),
        speakers.pop() if len(speakers) == 1 else None if speakers else default,
        whole=len(atoms) == 1 and not rest and not facts,
    )


def _aware(moment: datetime | None) -> datetime | None:
    return moment if moment is not None and moment.tzinfo is not None else None


def _atoms(found: list[Passage], reader: str = "markdown") -> tuple[list[ExtractedAtom], bool]:
    """The atoms of some passages, and whether a passage holds something besides them that is no filler."""
    atoms: dict[tuple[str | None, str], ExtractedAtom] = {}
    rest = False
    for passage in found:
        if _is_json_text(passage.text):
            rest = True
            continue
        blocks, left_out = _READERS[reader](passage.text)
        rest = rest or left_out
        for start, end in _spans(passage.text, blocks, marked_up=reader == "markdown"):
            content = passage.text[start:end]
            rest = rest or passage.text.startswith("](", end)  # The address of a link whose words are the atom.
            if _ADDRESSES.fullmatch(content):
                rest = True
            elif (passage.speaker, content) not in atoms:
                span = Span(start, end, passage.path)
                atoms[passage.speaker, content] = ExtractedAtom(
                    content, span, speaker=passage.speaker, occurred_at=_aware(passage.at)
                )
    return list(atoms.values()), rest


def _spans(text: str, blocks: list[Block], *, marked_up: bool) -> Iterator[tuple[int, int]]:
    language = language_of(text)
    for block in blocks:
        for start, end in claims(text, block, language):
            span = bare(text, start, end) if marked_up else (start, end)
            if span[0] < span[1]:
                yield span


def _is_json_text(text: str) -> bool:
    """By its first and last characters: what looks like JSON is no prose, well-formed or not."""
    part = text.strip()
    return part[-1:] in {"}", "]"} and bool(_JSON_BEGINS.match(part))
