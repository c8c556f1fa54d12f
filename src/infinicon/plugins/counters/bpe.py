"""Byte pair counters on tiktoken, with vocabularies that are part of the package.

tiktoken itself would fetch them from the network where its cache has none. They are read here instead, verified, and handed to it.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from infinicon.errors import MissingDependency

if TYPE_CHECKING:
    import regex
    from tiktoken import Encoding

FOLDER = Path(__file__).parent / "vocabularies"

# White_Space of Unicode, which is what \s means to tiktoken. Longer runs of it than this overflow the stack of tiktoken's
# matcher, at about a million (measured): it panics, and a panic is no Exception.
_LONG_BLANK = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]{100000,}")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """An encoding of tiktoken's: the SHA-256 of its published ranks, and the pattern by which text is cut before the ranks apply."""

    name: str
    sha256: str
    pattern: str


# The patterns are those of tiktoken_ext.openai_public, where they stand inside functions that fetch; a test compares them.
O200K_BASE = Vocabulary(
    "o200k_base",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
CL100K_BASE = Vocabulary(
    "cl100k_base",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
)


class BpeCounter:
    """Counts as tiktoken's encode_ordinary does: what looks like a special token is ordinary text, a lone surrogate is U+FFFD."""

    def __init__(self, name: str, encoding: Encoding, pieces: regex.Pattern[str]) -> None:
        self.name = name
        self._encoding = encoding
        self._pieces = pieces

    def count(self, text: str) -> int:
        if _LONG_BLANK.search(text):
            return self._count_pieces(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        return len(self._encoding.encode_ordinary(text))

    def _count_pieces(self, text: str) -> int:
        """The same by a matcher that has no stack to overflow. Both cut alike at every code point there is (compared one by one)."""
        encode = self._encoding._encode_single_piece  # noqa: SLF001 - tiktoken's door to the ranks alone
        return sum(len(encode(piece.group())) for piece in self._pieces.finditer(text))


def load(vocabulary: Vocabulary) -> BpeCounter:
    """Make a counter.

    Raises:
        MissingDependency: tiktoken is not installed, or the vocabulary is missing or damaged; the message names it.
    """
    try:
        import regex
        from tiktoken import Encoding
    except ImportError as fault:
        raise MissingDependency(
            f"the token counter {vocabulary.name} needs the package {fault.name}, which is not installed"
        ) from None
    ranks = dict(_lines(_read(vocabulary)))
    encoding = Encoding(vocabulary.name, pat_str=vocabulary.pattern, mergeable_ranks=ranks, special_tokens={})
    encoding._mergeable_ranks = {}  # noqa: SLF001 - tiktoken's copy in Python: counting needs none, and both hold 55 MB (measured)
    return BpeCounter(vocabulary.name, encoding, regex.compile(vocabulary.pattern))


def is_intact(vocabulary: Vocabulary) -> bool:
    """Whether the vocabulary is there and is the one that was published. A file that has not changed is not read again."""
    try:
        held = _file(vocabulary).stat()
        seen = (held.st_ino, held.st_size, held.st_mtime_ns)
        if _intact.get(vocabulary.name) != seen:
            _read(vocabulary)
            _intact[vocabulary.name] = seen
    except (OSError, MissingDependency):
        return False
    return True


_intact: dict[str, tuple[int, int, int]] = {}
"""Of each vocabulary that was verified: what told its file from any other."""


def _file(vocabulary: Vocabulary) -> Path:
    return FOLDER / f"{vocabulary.name}.tiktoken.gz"


def _read(vocabulary: Vocabulary) -> bytes:
    packed = _file(vocabulary)
    try:
        content = gzip.decompress(packed.read_bytes())
    except (OSError, EOFError, zlib.error):  # missing or no gzip, cut off, damaged within
        content = b""
    if hashlib.sha256(content).hexdigest() != vocabulary.sha256:
        raise MissingDependency(
            f"the token counter {vocabulary.name} is unavailable: its vocabulary, {packed.name} in infinicon/plugins/counters/vocabularies,"
            " is missing or damaged; install infinicon again"
        )
    return content


def _lines(content: bytes) -> list[tuple[bytes, int]]:
    """A token in Base64 and its rank, a line each."""
    pairs = (line.split() for line in content.splitlines())
    return [(b64decode(token), int(rank)) for token, rank in pairs]
