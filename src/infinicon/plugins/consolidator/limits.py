"""Thresholds, and why they stand where they stand: the curves are in docs/decisions/0012 and bench/figures/consolidation_precision.py."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    shared: int = 3
    """Least words of the topic that both have where the newer one names somebody more, or speaks of "it"."""
    left: int = 2
    """Most words that an older statement may assert beside the relation that changed."""
    never: float = 0.75
    """Least share of what "I have never …" denies that another statement tells."""
    never_words: int = 3
    more_words: int = 4
    """Most words that a statement may have more than the one that is folded into it."""
    least_words: int = 4
    """Least words of a statement that is folded into a longer one."""
    superseded: int = 4
    """One statement that takes the place of more than these is about a kind of thing: "the ticket price is now $5"."""
    disputed: int = 2
    """As above: where everything contradicts everything, many things go by one description."""


LIMITS = Limits()
