"""Counting: what a memory costs in a context, and its content alone. It happens in the worker, when a memory is made."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from threading import Lock

from infinicon import rendering
from infinicon.domain import TokenCounts
from infinicon.errors import InvalidRequest, MissingDependency, PluginFailed
from infinicon.guard import guarded
from infinicon.ports import TokenCounter

_log = logging.getLogger(__name__)

STAGE = "count"

STORED = ("o200k_base", "cl100k_base", "chars")
"""Counters whose counts are kept with a memory; what others count is counted at read, but for the one that budgets of entries are in."""

HOST_DEFINED = "host-defined"
"""What the unit of a budget is called where it is none of the above."""


def _none() -> Collection[str]:
    return ()


class Counters:
    """The token counters of a process by name, each loaded when it is first asked for. Safe to share between threads.

    `budget` names the one in whose unit entries are listed (tokenBudget). `damaged` answers with the names of built-in ones that cannot
    count.
    """

    def __init__(
        self,
        load: Callable[[str], TokenCounter],
        budget: str = STORED[0],
        damaged: Callable[[], Collection[str]] = _none,
    ) -> None:
        self.budget = budget
        self._damaged = damaged
        self._load = load
        self._loaded: dict[str, TokenCounter] = {}
        self._lock = Lock()
        self._missed: set[str] = set()

    def get(self, name: str) -> TokenCounter:
        """The counter of that name.

        Raises:
            InvalidRequest: there is none.
            MissingDependency, PluginFailed: it is not what it should be.
        """
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = self._load(name)
            return self._loaded[name]

    def count(self, name: str, text: str) -> int:
        """Raises what `get` raises, and PluginFailed where the counter fails."""
        return guarded(STAGE, name, self.get(name).count, text)

    @property
    def host(self) -> str | None:
        """The counter of budgets, where it is the host's own."""
        return None if self.budget in STORED else self.budget

    def budget_unit(self) -> str | None:
        """What a tokenBudget is counted in, as the host advertises it; None where it cannot be counted now."""
        if self.budget in STORED:
            return None if self.budget in self._damaged() else self.budget
        try:
            self.get(self.budget)
        except (MissingDependency, PluginFailed, InvalidRequest):
            return None
        return HOST_DEFINED

    def stored(self, text: str) -> TokenCounts:
        """The counts that are kept of a memory's content. A counter that is not there costs its count, and not the memory."""
        counts = self._built_in(text)
        if self.budget in STORED:
            return counts
        return replace(counts, host=self._stored(self.budget, text), host_counter=self.budget)

    def _built_in(self, text: str) -> TokenCounts:
        return TokenCounts(
            o200k_base=self._stored("o200k_base", text),
            cl100k_base=self._stored("cl100k_base", text),
            chars=self._stored("chars", text),
        )

    def _stored(self, name: str, text: str) -> int | None:
        try:
            return self.count(name, text)
        except (MissingDependency, PluginFailed, InvalidRequest) as fault:
            if name not in self._missed:
                self._missed.add(name)
                _log.error("memories are stored without their count: %s", fault.message)
            return None

    def unit(self, who: str | None, occurred_at: datetime | None, created_at: datetime, text: str) -> TokenCounts:
        """What a memory costs as a unit of a context."""
        return self._built_in(rendering.unit(who, occurred_at, created_at, text))
