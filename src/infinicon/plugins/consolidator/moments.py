"""When a change took place, where its claim ends in a time: "in May", "last week", "in 2015"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from infinicon.plugins.consolidator.words import Kind, Word

_MONTHS = tuple("january february march april may june july august september october november december".split())
_YEAR = re.compile(r"(?:19|20)\d\d")
_DAYS_AGO = {
    ("today",): 0, ("this", "morning"): 0, ("this", "afternoon"): 0, ("yesterday",): 1, ("last", "night"): 1, ("this", "week"): 6,
    ("last", "week"): 13, ("this", "month"): 30, ("last", "month"): 61, ("as", "of", "today"): 0, ("as", "of", "now"): 0,
}  # fmt: skip
"""At most."""
_LONGEST = 3


def without_moment(words: Sequence[Word], before: datetime, now: datetime) -> list[Word] | None:
    """The words without the time at their end; None where that is not between an earlier statement and this one."""
    for length in range(min(_LONGEST, len(words) - 1), 0, -1):
        span = _span(words[-length:], now)
        if span is not None:
            first, last = span
            return list(words[:-length]) if first <= now and last >= before else None
    return list(words)


def _span(words: Sequence[Word], now: datetime) -> tuple[datetime, datetime] | None:
    """The first and the last moment of it, as seen from `now`."""
    said = tuple(word.said for word in words)
    if said in _DAYS_AGO:
        # Whole days: what was told in the morning may have changed in the evening.
        return _midnight(now - timedelta(days=_DAYS_AGO[said])), now
    if len(said) == 2 and said[0] == "on" and words[1].kind is Kind.CALENDAR and said[1] not in _MONTHS:
        return _midnight(now - timedelta(days=6)), now
    if len(said) == 2 and said[0] == "in" and _YEAR.fullmatch(said[1]):
        return _month(now, int(said[1]), 1)[0], _month(now, int(said[1]), 12)[1]
    if len(said) >= 2 and said[0] == "in" and said[1] in _MONTHS and words[1].kind is Kind.CALENDAR:
        month = _MONTHS.index(said[1]) + 1
        if len(said) == 2:
            return _month(now, now.year - (month > now.month), month)
        return _month(now, int(said[2]), month) if _YEAR.fullmatch(said[2]) else None
    return None


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _month(like: datetime, year: int, month: int) -> tuple[datetime, datetime]:
    first = _midnight(like).replace(year=year, month=month, day=1)
    after = first.replace(year=year + month // 12, month=month % 12 + 1)
    return first, after - timedelta(microseconds=1)
