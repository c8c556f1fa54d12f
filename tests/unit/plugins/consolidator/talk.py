"""Statements by hand, and what the built-in consolidator makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from infinicon.domain import MemoryType
from infinicon.plugins.consolidator import BuiltinConsolidator
from infinicon.plugins.consolidator.statements import Statement
from infinicon.ports import ConsolidationInput, Plan, SourceMemory

START = datetime(2026, 1, 1, tzinfo=UTC)
MONTH = timedelta(days=30)


def atom(text: str, at: int = 0, speaker: str | None = "ada", apart: timedelta = MONTH) -> SourceMemory:
    return SourceMemory(f"m{at}", MemoryType.ATOM, text, START + at * apart, START + at * apart, speaker)


def statement(text: str, at: int = 0, speaker: str | None = "ada") -> Statement:
    return Statement(atom(text, at, speaker))


def consolidated(
    held: Sequence[SourceMemory],
    vectors: Sequence[Sequence[float]] | None = None,
    budget: int = 500,
    count: Callable[[str], int] = len,
) -> Plan:
    """Without vectors words alone find what is compared."""
    rows = np.zeros((len(held), 4)) if vectors is None else np.array(vectors)
    return BuiltinConsolidator().consolidate(ConsolidationInput(held, rows.astype(np.float16), budget, count))


def told(*texts: str, speakers: Sequence[str | None] | None = None, apart: timedelta = MONTH) -> list[str]:
    """What becomes of statements that are a month apart: "0>1" superseded, "0?1" in dispute, "0=1" the second folded into the first."""
    held = [atom(text, at, speakers[at] if speakers else "ada", apart) for at, text in enumerate(texts)]
    plan = consolidated(held)
    return sorted(
        [f"{one.old[1:]}>{one.new[1:]}" for one in plan.supersessions]
        + [f"{one.first[1:]}?{one.second[1:]}" for one in plan.disputes]
        + [f"{one.kept[1:]}={one.folded[1:]}" for one in plan.duplicates]
    )
