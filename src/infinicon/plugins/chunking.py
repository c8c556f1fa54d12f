"""Cuts long text into spans that a model reads whole: a model drops what is past its limit without a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from infinicon.domain import Span

Offsets: TypeAlias = Sequence[tuple[int, int]]
Tokenise: TypeAlias = Callable[[list[str]], list[Offsets]]
"""Texts → for each, the half-open character range of every token, without the model's special tokens."""

_PIECE = 4_000  # Characters a tokeniser sees at once: its time and its cache grow with the longest word (B061).
_SENTENCE_END = re.compile(r"[.!?…。！？।؟][\"'”’)\]]*$|\n\s*$")


def chunk(texts: Sequence[str], budget: int, tokenise: Tokenise) -> list[list[Span]]:
    """Spans of each text with at most `budget` tokens, in order; what lies between them is whitespace.

    Text in ASCII has at most one token a character, so short text is not tokenised at all.
    """
    spans: list[list[Span]] = [[] for _ in texts]
    pieces: list[tuple[int, int, int]] = []
    for index, text in enumerate(texts):
        if len(text) <= budget and text.isascii():
            spans[index].append(Span(0, len(text)))
        else:
            pieces.extend((index, start, end) for start, end in _pieces(text))
    while pieces:
        pieces = _settle(texts, pieces, budget, tokenise, spans)
    for index, found in enumerate(spans):
        found.sort(key=lambda span: span.start)
        if not found:
            found.append(Span(0, len(texts[index])))
    return spans


def _settle(
    texts: Sequence[str], pieces: list[tuple[int, int, int]], budget: int, tokenise: Tokenise, spans: list[list[Span]]
) -> list[tuple[int, int, int]]:
    """Keep the pieces that fit, cut the others, and return the cuts: a piece on its own may count more tokens than it did inside."""
    cuts: list[tuple[int, int, int]] = []
    tokens = tokenise([texts[index][start:end] for index, start, end in pieces])
    for (index, start, end), offsets in zip(pieces, tokens, strict=True):
        if len(offsets) <= budget or end - start == 1:
            spans[index].append(Span(start, end))
            continue
        text = texts[index]
        parts = _cut(text, start, end, offsets, budget) or [(start, (start + end) // 2), ((start + end) // 2, end)]
        cuts.extend((index, *part) for part in (_trim(text, *part) for part in parts) if part[0] < part[1])
    return cuts


def _pieces(text: str) -> list[tuple[int, int]]:
    """Even pieces of at most _PIECE characters, cut at whitespace where there is some."""
    count = -(-len(text) // _PIECE)
    found: list[tuple[int, int]] = []
    start = 0
    for left in range(count, 0, -1):
        end = len(text) if left == 1 else start + (len(text) - start) // left
        if end < len(text):
            end = _last_space(text, start + (end - start) * 3 // 4, end) or end
        piece = _trim(text, start, end)
        if piece[0] < piece[1]:
            found.append(piece)
        start = end
    return found


def _last_space(text: str, low: int, high: int) -> int:
    for mark in ("\n", " "):
        at = text.rfind(mark, low, high)
        if at > 0:
            return at + 1
    return 0


def _cut(text: str, start: int, end: int, offsets: Offsets, budget: int) -> list[tuple[int, int]]:
    """Even parts of about equal token counts, cut before a token: after a sentence, else after a space, else anywhere."""
    parts: list[tuple[int, int]] = []
    first, begin = 0, start
    while (left := len(offsets) - first) > budget:
        share = -(-left // -(-left // budget))
        high = min(first + budget, len(offsets) - 1)
        best = _best_cut(text, start, offsets, first + max(1, share // 2), min(high, first + share + share // 8))
        at = start + offsets[best][0]
        if at <= begin:
            return []
        parts.append((begin, at))
        first, begin = best, at
    parts.append((begin, end))
    return parts


def _best_cut(text: str, start: int, offsets: Offsets, low: int, high: int) -> int:
    spaced = 0
    for token in range(high, low, -1):
        gap = text[start + offsets[token - 1][1] : start + offsets[token][0]]
        if gap.isspace():
            spaced = spaced or token
            before = start + offsets[token][0]
            if _SENTENCE_END.search(text[max(0, before - len(gap) - 4) : before].rstrip(" \t")):
                return token
    return spaced or high


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))
