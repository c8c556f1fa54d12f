"""Sentences as claims: the ranges of a block that become atoms. Linear in the length of the text, whatever it holds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import sentencex

from infinicon.plugins.extractor.filler import is_filler, says_nothing
from infinicon.plugins.extractor.languages import goes_on
from infinicon.plugins.extractor.lines import Block, Run

LONGEST = 1_000  # Characters of an atom.
FRAGMENT = 3  # Fewer words than this are no sentence.
_MOST_JOINED = 500
_AT_ONCE = 4_000  # Characters for one call: sentencex needs the square of the length for text full of quotation marks.
_MOST_BACK = 64  # A longer chain of combining marks is no writing.

_WORD = re.compile(r"[^\W_]+(?:['’.,:\-][^\W_]+)*")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af]"
)
_LEAD = re.compile(r"(?:\s|[-–—]{2,}|[-–—*•·>|+]+(?=\s|$)|#{1,6}(?=\s|$))*")
_TRAIL = " \t\r\n\f\v\x85\xa0\u2028\u2029\u3000-–—"
# sentencex takes "I" for the initial of a name: "We met in May. I liked it."
_MISSED = re.compile(r"(?<=[A-Za-z]{3}\.)\s+(?=I[ '’])")
_CLAUSE_ENDS = frozenset(";:,)—–、，；：؛،")
_EMOJI_JOINER, _SKIN_TONES = "\u200d", range(0x1F3FB, 0x1F400)


@dataclass(slots=True)
class _Sentence:
    start: int
    end: int
    words: int
    number: int
    """Sentences that follow one another in the source have consecutive numbers; `end` and `number` grow when they join."""


def claims(text: str, block: Block, language: str = "en") -> Iterator[Run]:
    """The ranges of a block's claims, in order, none longer than LONGEST. A whole block is one claim, as far as it fits."""
    found = _wholes(text, block.runs) if block.whole else _joined(_sentences(text, block.runs, language))
    for claim in found:
        if not says_nothing(text[claim.start : min(claim.end, claim.start + LONGEST)]):
            yield from _split(text, claim.start, claim.end)


def _wholes(text: str, runs: Iterable[Run]) -> Iterator[_Sentence]:
    for number, (start, end) in enumerate(runs):
        yield _Sentence(*_trimmed(text, start, end), FRAGMENT, number)


def word_count(text: str) -> int:
    """Words; in scripts without spaces two characters count as one."""
    count = sum(1 for _ in _WORD.finditer(text))
    return count if text.isascii() else count + len(_UNSPACED.findall(text)) // 2


def _sentences(text: str, runs: Iterable[Run], language: str) -> Iterator[_Sentence]:
    """What is no filler."""
    number = 0
    for run_start, run_end in runs:
        for raw_start, raw_end in _segments(text, run_start, run_end, language):
            number += 1
            start, end = _trimmed(text, raw_start, raw_end)
            if start < end and not is_filler(text[start : min(end, start + LONGEST)]):
                yield _Sentence(start, end, word_count(text[start : min(end, start + LONGEST)]), number)


def _trimmed(text: str, start: int, end: int) -> Run:
    lead = _LEAD.match(text, start, end)
    start = lead.end() if lead else start
    return start, start + len(text[start:end].rstrip(_TRAIL))


def _segments(text: str, start: int, end: int, language: str) -> Iterator[Run]:
    """Sentence boundaries by sentencex, for at most _AT_ONCE characters at once; what is last there is looked at again with the next."""
    while start < end:
        stop = end if end - start <= _AT_ONCE else _last_break(text, start, start + _AT_ONCE)
        begin = at = start
        parts = sentencex.segment(language, text[start:stop])
        for part, following in zip(parts, [*parts[1:], ""], strict=True):
            for missed in _MISSED.finditer(part):
                yield begin, at + missed.start()
                begin = at + missed.start()
            at += len(part)
            if at == stop < end:
                break
            if goes_on(text, begin, at, following, language):
                continue
            yield begin, at
            begin = at
        if begin == start:
            yield start, stop
            begin = stop
        start = begin


def _joined(sentences: Iterator[_Sentence]) -> Iterator[_Sentence]:
    """Fragments join the sentence after them, or else the one before them, where nothing was dropped in between."""
    done: _Sentence | None = None
    held: _Sentence | None = None
    for sentence in sentences:
        if held is not None and _fits(held, sentence):
            _join(held, sentence)
        else:
            if held is not None:
                if done is not None and _fits(done, held):
                    _join(done, held)
                else:
                    if done is not None:
                        yield done
                    done = held
            held = sentence
        if held.words >= FRAGMENT:
            if done is not None:
                yield done
            done, held = held, None
    if done is not None and held is not None and _fits(done, held):
        _join(done, held)
        held = None
    yield from (claim for claim in (done, held) if claim is not None)


def _fits(first: _Sentence, second: _Sentence) -> bool:
    return second.number - first.number == 1 and second.end - first.start <= _MOST_JOINED


def _join(first: _Sentence, second: _Sentence) -> None:
    first.end, first.number, first.words = second.end, second.number, first.words + second.words


def _split(text: str, start: int, end: int) -> Iterator[Run]:
    while end - start > LONGEST:
        stop = _last_break(text, start, start + LONGEST)
        piece = _trimmed(text, start, stop)
        if piece[0] < piece[1]:
            yield piece
        start = stop
    piece = _trimmed(text, start, end)
    if piece[0] < piece[1]:
        yield piece


def _last_break(text: str, start: int, stop: int) -> int:
    """Where to cut at or before `stop`: after a clause, else after a space, else between two characters that do not combine."""
    space = 0
    for at in range(stop, start + (stop - start) // 2, -1):
        if text[at - 1].isspace():
            space = space or at
            if text[at - 2] in _CLAUSE_ENDS:
                return at
        elif text[at - 1] in "、，；：。！？":
            return at
    return space or _between_characters(text, start, stop)


def _between_characters(text: str, start: int, stop: int) -> int:
    for at in range(stop, max(start + 1, stop - _MOST_BACK), -1):
        if at == len(text) or not (_clings(text[at]) or text[at - 1] == _EMOJI_JOINER):
            return at
    return stop


def _clings(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or character == _EMOJI_JOINER or ord(character) in _SKIN_TONES
