"""The longest prefix of a ranked list that fits a budget, of those entries that would fit it at all (RFC 0113).

An entry that is larger than the whole budget is omitted, and the list goes on behind it; the first that would fit the empty budget and
does not fit what is left ends the answer, also where a later one would fit. Sizes 100, 900, 100 under 800: both of 100; 500, 400, 100: 500.
"""

from __future__ import annotations

from uuid import UUID

from infinicon.domain import MOST_ENTRIES, OVERSIZED_COUNTED


class Prefix:
    """Takes entries in the order of their rank, until it is `closed`.

    `used` is the sum of the sizes of what is chosen, `oversized` the number of what was omitted, up to OVERSIZED_COUNTED; `cut`: the budget
    or MOST_ENTRIES ended it, and not the caller's limit.
    """

    def __init__(self, budget: int | None, limit: int) -> None:
        self.chosen: list[UUID] = []
        self.used = 0
        self.oversized = 0
        self.cut = False
        self.closed = False
        self._budget = budget
        self._most = limit if 0 < limit <= MOST_ENTRIES else MOST_ENTRIES
        self._asked = self._most == limit

    def offer(self, entry: UUID, size: int) -> bool:
        """The next entry of the list; whether to go on."""
        if self._budget is not None and size > self._budget:
            self.oversized = min(self.oversized + 1, OVERSIZED_COUNTED)
        elif len(self.chosen) >= self._most or (self._budget is not None and self.used + size > self._budget):
            self.cut = self.closed = True
        else:
            self.chosen.append(entry)
            self.used += size
            self.closed = self._asked and len(self.chosen) >= self._most
        return not self.closed

    @property
    def room(self) -> int:
        """How many more there can be, and one to know whether there is another."""
        return self._most - len(self.chosen) + 1
