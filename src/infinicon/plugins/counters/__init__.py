"""The built-in token counters: o200k_base and cl100k_base as tiktoken has them, and chars. Nothing is ever fetched for them."""

from __future__ import annotations

from infinicon.plugins.counters import bpe
from infinicon.plugins.counters.bpe import BpeCounter
from infinicon.settings import Settings


class CharactersCounter:
    """Counts Unicode code points, and normalises nothing before: e with a combining accent is two, a family emoji is five."""

    name = "chars"

    def count(self, text: str) -> int:
        return len(text)


def o200k_base(settings: Settings) -> BpeCounter:  # noqa: ARG001 - the signature of an entry point; there is nothing to set
    """Reads its vocabulary: half a second, once a process. Raises MissingDependency where that is missing or damaged."""
    return bpe.load(bpe.O200K_BASE)


def cl100k_base(settings: Settings) -> BpeCounter:  # noqa: ARG001 - as above
    """Reads its vocabulary. Raises MissingDependency where that is missing or damaged."""
    return bpe.load(bpe.CL100K_BASE)


def chars(settings: Settings) -> CharactersCounter:  # noqa: ARG001 - as above
    return CharactersCounter()


def damaged() -> list[str]:
    """Names of the built-in counters whose vocabulary is missing or not what it should be."""
    return [vocabulary.name for vocabulary in (bpe.O200K_BASE, bpe.CL100K_BASE) if not bpe.is_intact(vocabulary)]
