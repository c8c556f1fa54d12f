"""Markdown, as far as it says where sentences begin and end. Content stays word for word: markup goes from the edges only.

List items are blocks, rows of tables are whole blocks, quoted lines are runs. In no block are: titles, the head of a table, front
matter, rules, delimiter rows, link definitions, comments, lines of nothing but a tag, and code between fences. `plain` is for searching:
the whole text without its marks. Nothing that has a letter or a digit is missing there.
"""

from __future__ import annotations

import re

from infinicon.plugins.extractor.lines import Block, Blocks, Fences, Run, lines

_PREFIX = re.compile(
    r"(?P<quote>(?:[ \t]*>)*)[ \t]*(?P<item>(?:(?:[-*+•]|(?P<number>\d{1,3}[.)]))[ \t]+(?:\[[ xX]\][ \t]+)?)?)"
    r"(?P<heading>(?:#{1,6}[ \t]+)?)"
)
_RULE = re.compile(r"[ \t]*(?:[-*_=][-*_= \t]{2,}|\|?[ \t]*:?-[-:| \t]*)[ \t]*")
_DELIMITERS = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[-:| \t]*)")
_UNDERLINE = re.compile(r"[ \t]{0,3}=+[ \t]*")
# A colon after brackets is also how people write who speaks ("[Anna]: I moved") and notes: only an address makes it a definition.
_DEFINITION = re.compile(
    r"[ \t]{0,3}\[[^\]\[]{1,99}\]:[ \t]*(?:<[^<>\s]+>|[a-zA-Z][a-zA-Z0-9+.\-]*:[^\s]+|www\.\S+|[./#]\S+|[\w\-]+(?:[./][\w\-#]+)+/?)"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*"
)
_NO_TEXT = re.compile(r"[ \t]*(?:<!--.*-->|</?[a-zA-Z][^<>]{0,999}>)[ \t]*")
_BEGINS_MARKUP = frozenset(" \t-*_=|:[<")
_MATTER = re.compile(r"[ \t]*(?:[\w\-.]{1,64}[ \t]*:(?:[ \t].*)?|-[ \t].*|#.*|[ \t]+\S.*)?[ \t]*")
_MOST_MATTER = 100  # Lines.
_EDGES = ("***", "**", "__", "~~", "*", "_", "`")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)[.!?]?")
_INLINE_LINK = re.compile(r"!?\[([^\]\[\n]{0,999})\](?=\([^()\n]{0,1999}\))")
_EMPHASIS = re.compile(r"(?<!\w)(?:\*{1,3}|_{1,3})|(?:\*{1,3}|_{1,3})(?!\w)|~~|`+")


def markdown_blocks(text: str) -> tuple[list[Block], bool]:
    """The blocks of a Markdown text, and whether it holds something that is in none of them."""
    blocks, fences = Blocks(text), Fences()
    left_out = False
    start_of_text = _front_matter(text)
    above: Run | None = None
    in_table = False
    for start, end in lines(text):
        if end <= start_of_text:
            left_out = left_out or start < end
            continue
        head, above = above, None
        prefix = _PREFIX.match(text, start, end)
        begin = prefix.end() if prefix else start
        if start == end or fences.covers(text, begin, end) or begin >= end:
            blocks.end()
            in_table = False
        elif _is_markup(text, start, end):
            left_out = left_out or not _RULE.fullmatch(text, start, end)
            in_table = (
                bool(_DELIMITERS.fullmatch(text, start, end)) and head is not None and "|" in text[head[0] : head[1]]
            )
            if head is not None and (in_table or _UNDERLINE.fullmatch(text, start, end)):
                blocks.drop_last()
                left_out = True
            blocks.end()
        elif prefix and prefix["heading"]:
            left_out = True
            blocks.end()
        elif text[begin] == "|" or (in_table and text.find("|", begin, end) >= 0):
            blocks.add_row(begin, end)
            above = (begin, end)
        else:
            above = _add_line(blocks, prefix, begin, end)
    return blocks.blocks, left_out or fences.seen


def _add_line(blocks: Blocks, prefix: re.Match[str] | None, begin: int, end: int) -> Run | None:
    """A line of prose. Answers with it where it is a block so far, which the line below may make a title or the head of a table."""
    item = bool(prefix and prefix["item"])
    if item:
        blocks.end()
    blocks.add(begin, end, joins=not (prefix and (item or prefix["quote"])))
    return (begin, end) if not item and blocks.blocks[-1].runs == [(begin, end)] else None


def _is_markup(text: str, start: int, end: int) -> bool:
    first = text[start]
    if first not in _BEGINS_MARKUP:
        return False
    return any(rule.fullmatch(text, start, end) for rule in (_RULE, _DEFINITION, _NO_TEXT))


def _front_matter(text: str) -> int:
    """Where the YAML at the beginning ends: 0 where there is none."""
    if not text.startswith("---"):
        return 0
    at = 0
    for number, line in enumerate(text[: 200 * _MOST_MATTER].splitlines(keepends=True)[:_MOST_MATTER]):
        content = line.rstrip()
        if number and content in {"---", "..."}:
            return at + len(line) if number > 1 else 0
        if content != "---" and not (number and _MATTER.fullmatch(content)):
            return 0
        at += len(line)
    return 0


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
    """Line by line: code stays as it is, and so does what is no prose; of links and images the words and the address stay."""
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
            inside = text[start:end] if before else text[begin:end].strip("`~ \t")
            if inside and (not before or fences.inside):
                kept.append(inside)
        elif _is_markup(text, start, end):
            if not _RULE.fullmatch(text, start, end):
                kept.append(text[start:end].strip())
        else:
            number = f"{prefix['number']} " if prefix and prefix["number"] else ""
            kept.append(number + _EMPHASIS.sub("", _INLINE_LINK.sub(r"\1 ", text[begin:end])))
    return "\n".join(kept).strip()
