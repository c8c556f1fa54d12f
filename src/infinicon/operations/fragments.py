"""What of a text is looked for when its deletion is to be proved, and in what spelling: whatever it was derived into holds some of it.

Texts are compared by their letters and digits alone, small or capital, with or without accents. So it does not matter how white space,
line ends, punctuation, quotes and marks of Markdown are set, whether JSON escapes them, or which of its forms Unicode has them in.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

SHORTEST = 8
"""Letters and digits that a fragment has at least; those of scripts that write words with one or two count double. Less is found
everywhere, and says nothing."""

WINDOW = 24
"""Letters and digits of the pieces into which everything long is cut: also what holds half a sentence is found."""

_ROUNDS = 3
"""JSON in a string of JSON in a string of JSON."""

_ASCII = {code: None for code in range(128) if not chr(code).isalnum()}
_NO_LETTERS = re.compile(r"[\W_]+")
_ESCAPES = re.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]')
_ENDS = re.compile(r"[\r\n\u2028\u2029]+|(?<=[.!?])[\"'”’»)\]]*\s+|(?<=[。！？…])\s*")

_RAW_CASE = bytes.maketrans(bytes(range(65, 91)), bytes(range(97, 123)))
_RAW_DROPPED = bytes(code for code in range(128) if not chr(code).isalnum())


@dataclass(frozen=True, slots=True)
class Fragments:
    """`whole`: the text, as it is and without the escapes of JSON. `parts`: its lines, sentences and values. `short`: how many more
    there are that are too short to be looked for."""

    whole: list[str]
    parts: list[str]
    short: int


def form(text: str) -> str:
    """The letters and digits of a text, in the one spelling in which texts are compared."""
    if text.isascii():
        return text.lower().translate(_ASCII)
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return _NO_LETTERS.sub("", folded)


def raw_form(data: bytes) -> bytes:
    """What can be compared of bytes that may be anything: what is not ASCII stays as it is."""
    return data.translate(_RAW_CASE, _RAW_DROPPED)


def readings(text: str) -> Iterator[str]:
    """The text, and what it says where its escapes are those of JSON, or of JSON inside of JSON."""
    yield text
    for _ in range(_ROUNDS):
        if "\\" not in text:
            return
        plain = _ESCAPES.sub(_unescaped, text)
        if plain == text:
            return
        text = plain
        yield text


def _unescaped(match: re.Match[str]) -> str:
    # What is escaped alone and is half of a character has no spelling in UTF-8, and is nowhere.
    found: str = json.loads(f'"{match[0]}"')
    return found.encode("utf-8", "ignore").decode()


def fragments(text: str) -> Fragments:
    """What is to be looked for of a text. A single word is no sentence, and does not count as a short one; as a value of JSON it does."""
    text = text.strip()
    found: dict[str, str] = {}
    short: set[str] = set()
    for part, is_value in _parts(text):
        words = form(part)
        if _says_enough(part):
            found.setdefault(words, part)
        elif words and (is_value or len(part.split()) > 1):
            short.add(words)
    return Fragments([reading for reading in readings(text) if _says_enough(reading)], list(found.values()), len(short))


def windows(text: str) -> list[bytes]:
    """The form of a text, or the pieces that it is cut into where it is long."""
    return cut(form(text).encode())


def cut(spelled: bytes) -> list[bytes]:
    """A long spelling as pieces of `WINDOW` bytes or more, less than twice as many; a short one as it is."""
    number = max(1, len(spelled) // WINDOW)
    at = [len(spelled) * n // number for n in range(number + 1)]
    return [spelled[start:end] for start, end in pairwise(at)]


def _says_enough(text: str) -> bool:
    words = form(text)
    return len(words) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in words) >= SHORTEST


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Sentences, and of a JSON document its values and their sentences. With each, whether it is a whole value."""
    values = _values(text)
    for value in values or [text]:
        for reading in readings(value):
            if values is not None:
                yield reading, True
            for sentence in _ENDS.split(reading):
                yield sentence.strip(), False


def _values(text: str) -> list[str] | None:
    """The strings and numbers of a JSON document; None where it is none."""
    try:
        left = [json.loads(text)] if text[:1] in {"{", "[", '"'} else []
    except (ValueError, RecursionError):
        return None
    found: list[str] = []
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str):
            found += _values(value.strip()) or [value]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append(str(value))
    return found or None
