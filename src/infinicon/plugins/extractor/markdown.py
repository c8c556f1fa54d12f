"""Markdown, as far as it says where sentences begin and end. Content stays word for word: markup goes from the edges only.

Headings are blocks; list items, table rows and quoted lines are runs; rules, delimiter rows, link definitions, comments and lines of
nothing but a tag are left out, as is code between fences. `plain` is for searching: the same text without its markup.
"""

from __future__ import annotations

import re

from infinicon.plugins.extractor.lines import Blocks, Fences, Run, lines

_PREFIX = re.compile(
    r"(?P<quote>(?:[ \t]*>)*)[ \t]*(?P<item>(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?)(?P<heading>(?:#{1,6}[ \t]+)?)"
)
_NO_TEXT = re.compile(
    r"[ \t]*(?:[-*_=][-*_= \t]{2,}|\|?[ \t]*:?-[-:| \t]*|\[[^\]]{1,99}\]:[ \t]*\S+.*|<!--.*-->|</?[a-zA-Z][^<>]{0,999}>)[ \t]*"
)
_EDGES = ("***", "**", "__", "~~", "*", "_", "`")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)[.!?]?")
_INLINE_LINK = re.compile(r"!?\[([^\]\[\n]{0,999})\]\([^()\n]{0,1999}\)")
_EMPHASIS = re.compile(r"\*{1,3}|_{2,3}|~~|`+|(?<!\w)_|_(?!\w)")


def markdown_blocks(text: str) -> tuple[list[list[Run]], bool]:
    """The blocks of a Markdown text, and whether it holds code that is in none of them."""
    blocks, fences = Blocks(text), Fences()
    for start, end in lines(text):
        if start == end:
            blocks.end()
            continue
        prefix = _PREFIX.match(text, start, end)
        begin = prefix.end() if prefix else start
        if fences.covers(text, begin, end) or begin >= end or _NO_TEXT.fullmatch(text, start, end):
            blocks.end()
            continue
        heading = bool(prefix and prefix["heading"])
        row = text[begin] == "|"
        if heading:
            blocks.end()
            end = begin + len(text[begin:end].rstrip("# \t"))  # noqa: PLW2901 - a heading may be closed by the marks that opened it
        if begin < end:
            blocks.add(begin, end, joins=not ((prefix and (prefix["item"] or prefix["quote"])) or row or heading))
        if heading:
            blocks.end()
    return blocks.blocks, fences.seen


def bare(text: str, start: int, end: int) -> Run:
    """The range without the markup at its edges: marks that enclose all of it, and marks whose partner is outside."""
    start, end = _strip(text, start, end, " \t|")
    if link := _LINK.fullmatch(text, start, end):
        start, end = link.span(1)
    for mark in _EDGES:
        if start < end and text.startswith(mark, start, end):
            inside = text.count(mark, start + len(mark), end)
            if inside == 0:
                start += len(mark)
            elif inside == 1 and text.endswith(mark, start, end):
                start, end = start + len(mark), end - len(mark)
        elif text.endswith(mark, start, end) and text.count(mark, start, end - len(mark)) == 0:
            end -= len(mark)
    return _strip(text, start, end, " \t")


def _strip(text: str, start: int, end: int, characters: str) -> Run:
    part = text[start:end]
    left = len(part) - len(part.lstrip(characters))
    return start + left, start + max(left, len(part.rstrip(characters)))


def plain(text: str) -> str:
    """Line by line: code stays as it is, its fences go; of links and images the words stay."""
    kept: list[str] = []
    fences = Fences()
    for start, end in lines(text):
        if start == end:
            kept.append("")
            continue
        prefix = _PREFIX.match(text, start, end)
        begin = prefix.end() if prefix else start
        before = fences.inside
        if fences.covers(text, begin, end):
            if before and fences.inside:
                kept.append(text[start:end])
        elif _NO_TEXT.fullmatch(text, start, end):
            continue
        else:
            kept.append(_EMPHASIS.sub("", _INLINE_LINK.sub(r"\1", text[begin:end])))
    return "\n".join(kept).strip()
