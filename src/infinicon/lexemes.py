"""Text as lexemes: the words by which it is found, the same function for what is stored and for what is asked.

In this order: Unicode NFKC and case folding; characters that nobody sees are dropped; accents go from Latin and Greek letters, vowel
marks from Arabic and Hebrew (marks that make another letter, as in Hangul, kana and Indic scripts, stay); digits of any script become
0-9. Then words: English stop words go, unless nothing else is there; words of a-z are stemmed (Snowball, English); "1,000" is "1000"
and "2.3.1" stays whole. Scripts that put no space between words (Han, kana, Thai, Lao, Khmer, Myanmar) become pairs of neighbouring
characters, a single character itself. A word in Hangul stays whole and adds its pairs, so that a particle does not hide the stem. Each
symbol from the emoji blocks is a lexeme.

A change of any rule needs a new VERSION: what is stored was made by the old one.
"""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from itertools import pairwise
from threading import Lock

# PyStemmer may be installed and may carry other rules: the stemmer is named, not chosen.
from snowballstemmer.english_stemmer import EnglishStemmer

VERSION = "1"

_LONGEST_CACHED = 40  # Longer words are never English, and a bounded number of unbounded strings is no bound.
_CACHED = 65_536

# The 127 words of the classic NLTK list, and what is left of contractions when the apostrophe has split them.
STOP_WORDS = frozenset(
    """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself
    they them their theirs themselves what which who whom this that these those am is are was were be been being have has had having
    do does did doing a an the and but if or because as until while of at by for with about against between into through during
    before after above below to from up down in out on off over under again further then once here there when where why how all any
    both each few more most other some such no nor not only own same so than too very s t can will just don should now
    d ll m re ve ain aren couldn didn doesn hadn hasn haven isn mustn needn shouldn wasn weren wouldn
    """.split()
)

_ASCII_WORD = re.compile(r"[0-9a-z]+(?:(?<=[0-9])(?:\.|,(?=[0-9]{3}(?![0-9])))[0-9][0-9a-z]*)*")

_UNSPACED = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U000323af"  # Han, Hiragana, Katakana
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u1049\u1050-\u109d\uaa60-\uaa7f\u1780-\u17d3"  # Thai, Lao, Myanmar, Khmer
)
_HANGUL = "\u1100-\u11ff\uac00-\ud7a3"
_SYMBOL = "\u2600-\u27bf\U0001f000-\U0001faff"
_LATIN_OR_GREEK = "a-z\u00df-\u024f\u0250-\u02af\u0370-\u03ff\u1e00-\u1fff"
_ACCENTS = re.compile(rf"(?<=[{_LATIN_OR_GREEK}])[\u0300-\u036f]+|(?<=\u0435)\u0308")
_VOWEL_MARKS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u08d3-\u08ff]+"  # Arabic
)

_UNSEEN = dict.fromkeys(
    [0x00AD, 0x034F, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF, *range(0xFE00, 0xFE10)]
)
# Letters that decomposition does not take apart, and Arabic letters that writers use for one another.
_FOLDED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i", "’": "'"}
    | {"ى": "ي", "ة": "ه", "ی": "ي", "ک": "ك"}
)


def analyse(text: str) -> list[str]:
    """The lexemes of a text, in order, with repeats. Pure, linear in the length of the text, safe in threads."""
    words = _ASCII_WORD.findall(text.lower()) if text.isascii() else _words(_normalise(text))
    kept = [word for word in words if word not in STOP_WORDS] or words
    return [_stem(word) if len(word) <= _LONGEST_CACHED else word.replace(",", "") for word in kept]


def lexeme_ids(text: str) -> Counter[int]:
    """Lexeme id → how often it occurs. The id is the first four bytes of BLAKE2b of the lexeme in UTF-8, as a signed big-endian integer."""
    return Counter([lexeme_id(lexeme) for lexeme in analyse(text)])


def lexeme_id(lexeme: str) -> int:
    """The id of one lexeme as `analyse` gives it; a lexeme is not to be analysed again, since a stem may have another stem."""
    return _id(lexeme) if len(lexeme) <= _LONGEST_CACHED else _hash(lexeme)


def _normalise(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().translate(_UNSEEN)
    text = _ACCENTS.sub("", unicodedata.normalize("NFD", text).translate(_FOLDED))
    return unicodedata.normalize("NFC", _VOWEL_MARKS.sub("", text)).translate(_digits())


def _words(text: str) -> list[str]:
    words: list[str] = []
    for match in _word_pattern().finditer(text):
        found = match.group()
        if match.lastgroup == "unspaced":
            words += _pairs(found) if len(found) > 1 else [found]
        elif match.lastgroup == "hangul":
            words.append(found)
            if len(found) > 2:
                words += _pairs(found)
        else:
            words.append(found)
    return words


def _pairs(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)]


@cache
def _word_pattern() -> re.Pattern[str]:
    """Words of any script. Python's word character leaves out combining marks, without which Indic words fall apart."""
    letter = rf"(?:(?![{_UNSPACED}{_HANGUL}])[^\W_]|[{_marks()}])"
    word = rf"(?![{_UNSPACED}{_HANGUL}])[^\W_]{letter}*(?:(?<=[0-9])(?:\.|,(?=[0-9]{{3}}(?![0-9])))[0-9]{letter}*)*"
    return re.compile(
        rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<hangul>[{_HANGUL}]+)|(?P<word>{word})|(?P<symbol>[{_SYMBOL}])"
    )


@cache
def _marks() -> str:
    """The combining marks of the Basic Multilingual Plane, as the inside of a character class."""
    return "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code)) in ("Mn", "Mc"))


@cache
def _digits() -> dict[int, str]:
    """Decimal digits of every script → 0-9."""
    return {
        code: str(unicodedata.decimal(chr(code))) for code in range(128, sys.maxunicode + 1) if chr(code).isdecimal()
    }


_stemmer = EnglishStemmer()
_stemmer_lock = Lock()


@lru_cache(_CACHED)
def _stem(word: str) -> str:
    if word.isascii() and word.isalpha():
        with _stemmer_lock:  # The stemmer keeps the word it works on in itself.
            return str(_stemmer.stemWord(word))
    return word.replace(",", "")


def _hash(lexeme: str) -> int:
    digest = hashlib.blake2b(lexeme.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big", signed=True)


_id = lru_cache(_CACHED)(_hash)
