"""Text as words with their kind: what the rules of the consolidator compare. Pure, linear in the length of the text.

Short forms are written out ("isn't" is "is not", "I've" is "i have"), digits keep their value ("1,000" is "1000", "seven" is "7"),
and a unit or code stays beside its number ("250ms" is "250" and "ms", "P52" is one code).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

# PyStemmer may be installed and may carry other rules: the stemmer is named, not chosen.
from snowballstemmer.english_stemmer import EnglishStemmer

_LONGEST_STEMMED = 40
_CACHED = 32_768


class Kind(Enum):
    WORD = "word"
    LIGHT = "light"
    """Says nothing on its own: articles, fillers, politeness."""
    NUMBER = "number"
    """Digits, amounts, times, codes."""
    CALENDAR = "calendar"
    """The name of a day or a month."""


@dataclass(frozen=True, slots=True)
class Word:
    """`said` is lower case and written out; `stem` is what is compared; `named`: it has a capital letter that no sentence asks for."""

    said: str
    stem: str
    kind: Kind
    named: bool = False


_TOKEN = re.compile(
    r"""
    </?[A-Za-z]{1,10}>
  | (?P<money>[$€£¥₹])\s?(?=\d)
  | (?P<code>[^\W\d_]+(?:_[^\W_]+)+|[^\W\d_]+-?\d[^\W_]*(?:[.\-][^\W_]*\d[^\W_]*)*)
  | (?P<number>\d{4}-\d\d-\d\d|\d+(?:[.,:/]\d+)*%?)
  | (?P<word>[^\W\d_]+(?:'[^\W\d_]+)*)
  | (?P<bound>[,;:.!?()\[\]{}…—–]+|\s-+\s|\n+)
    """,
    re.VERBOSE,
)
_TITLE = re.compile(r"\b(Dr|Mr|Mrs|Ms|Prof)\.\s")
"""The point behind it ends no sentence."""
BOUND = ""
"""What `said` is for punctuation between two words."""

_WRITTEN_OUT = {
    "can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not", "ain't": "is not", "i'm": "i am",
    "let's": "let us", "y'all": "you all", "gonna": "going to", "wanna": "want to", "gotta": "have to", "kinda": "kind of",
    "sorta": "sort of", "dunno": "do not know", "lemme": "let me", "'cause": "because",
}  # fmt: skip
_ENDINGS = (("n't", "not"), ("'re", "are"), ("'ve", "have"), ("'ll", "will"))
_LIGHT = frozenset(
    """
    a an the just really so well okay ok oh ah uh um hmm yeah please actually basically literally honestly simply quite very also too
    indeed definitely certainly kind sort of-course by-the-way anyway hey hi hello thanks
    """.split()
)
_CALENDAR = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october
    november december
    """.split()
)
_ALSO_WORDS = frozenset({"may", "march", "august"})
_IN_WORDS = {
    word: str(number)
    for number, word in enumerate(
        """
        two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
        """.split(),
        start=2,
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90"}
_SAME_BEING = {"am": "be", "is": "be", "are": "be", "were": "was"}


def words(text: str) -> list[Word]:
    """Punctuation that may end a clause is a Word whose `said` is BOUND, and its stem is the mark."""
    found: list[Word] = []
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'")
    plain = _TITLE.sub(r"\1 ", plain)
    starts = True
    for match in _TOKEN.finditer(plain):
        group = match.lastgroup
        token = match.group()
        if group is None:
            continue  # A tag says how something is set, and nothing else.
        if group == "bound":
            mark = token.strip() or "\n"
            found.append(Word(BOUND, mark[-1], Kind.LIGHT))
            starts = mark[-1] in ".!?…\n:"
        elif group == "money":
            found.append(Word(token.strip(), token.strip(), Kind.NUMBER))
        elif group == "number":
            found.append(Word(token, _value(token), Kind.NUMBER))
            starts = False
        elif group == "code":
            found.append(Word(token.lower(), token.lower(), Kind.NUMBER))
            starts = False
        else:
            found += _written_out(token, starts=starts)
            starts = False
    return found


def _written_out(token: str, *, starts: bool) -> list[Word]:
    lower = token.lower()
    if lower in _WRITTEN_OUT:
        return [_word(part, named=False) for part in _WRITTEN_OUT[lower].split()]
    for ending, meant in _ENDINGS:
        if lower.endswith(ending) and len(lower) > len(ending):
            return [_word(lower[: -len(ending)], named=False), _word(meant, named=False)]
    named = token[0].isupper() and not starts and lower != "i"
    if lower.endswith("'s"):
        owner = _word(lower[:-2], named=named)
        # "it's" and "that's" are verbs; after a name it may be either, and stays what it is.
        return [owner, _word("is" if lower[:-2] in _IT else "'s", named=False)]
    return [_word(lower, named=named)]


_IT = frozenset("it that this there here he she what who where how when".split())


@lru_cache(_CACHED)
def _word(lower: str, *, named: bool) -> Word:
    if lower in _CALENDAR and (named or lower not in _ALSO_WORDS):
        return Word(lower, lower, Kind.CALENDAR, named)
    if lower in _IN_WORDS:
        return Word(lower, _IN_WORDS[lower], Kind.NUMBER)
    if lower in _LIGHT:
        return Word(lower, lower, Kind.LIGHT)
    return Word(lower, _SAME_BEING.get(lower) or stem(lower), Kind.WORD, named)


@lru_cache(_CACHED)
def stem(lower: str) -> str:
    """English; words of other letters stay as they are. A stemmer keeps its state: a new one each time is safe in threads."""
    if not lower.isascii() or len(lower) > _LONGEST_STEMMED:
        return lower
    stemmed: str = EnglishStemmer().stemWord(lower)
    return stemmed


def _value(number: str) -> str:
    percent = "%" if number.endswith("%") else ""
    digits = number.rstrip("%")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    if re.fullmatch(r"\d+\.\d*0", digits) and digits.count(".") == 1 and len(digits) <= 20:
        digits = digits.rstrip("0").rstrip(".")
    return digits + percent
