"""Crontabs: five fields (minute, hour, day of the month, month, day of the week), as crontab(5) has them, in UTC.

Here a text is checked and becomes bits; when it is due next, Postgres says (next_window), in the transaction that needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
LONGEST = 256
"""Characters of a crontab."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    first: int
    last: int
    names: Mapping[str, int] = field(default_factory=dict)


MINUTE = _Field("minute", 0, 59)
HOUR = _Field("hour", 0, 23)
DAY = _Field("day of the month", 1, 31)
MONTH = _Field("month", 1, 12, {name: number for number, name in enumerate(MONTHS, 1)})
WEEKDAY = _Field("day of the week", 0, 7, {name: number for number, name in enumerate(WEEKDAYS)})
FIELDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)


def bits(text: str) -> tuple[int, ...]:
    """Minutes, hours, days, months and weekdays as bits (Sunday is 0), and 1 where either kind of day will do: where neither field begins
    with a star.

    Raises:
        ValueError: saying what is wrong, without repeating it.
    """
    parts = text.split()
    if len(text) > LONGEST or not text.isascii():
        raise ValueError(f"a crontab has at most {LONGEST} characters, all of them ASCII")
    if len(parts) != len(FIELDS):
        raise ValueError("a crontab has five fields: minute, hour, day of the month, month, day of the week")
    minutes, hours, days, months, weekdays = (_bits(part, of) for part, of in zip(parts, FIELDS, strict=True))
    weekdays = (weekdays | weekdays >> 7) & 0b111_1111
    either = not parts[2].startswith("*") and not parts[4].startswith("*")
    if not either and not any(months >> month & 1 and _has_day(days, month) for month in range(1, 13)):
        raise ValueError("a crontab must name a day that there is")
    return minutes, hours, days, months, weekdays, int(either)


def _has_day(days: int, month: int) -> bool:
    return bool(days & ((1 << LONGEST_MONTH[month - 1] + 1) - 2))


def _bits(text: str, of: _Field) -> int:
    found = 0
    for part in text.split(","):
        for value in _values(part, of):
            found |= 1 << value
    return found


def _values(part: str, of: _Field) -> range:
    """What `*`, `n`, `a-b`, `*/s` or `a-b/s` stand for."""
    span, slash, step = part.partition("/")
    low, dash, high = span.partition("-")
    if span == "*":
        first, last = of.first, of.last
    else:
        first = _value(low, of)
        last = _value(high, of) if dash else first
        if dash and of is WEEKDAY and last == 0:
            last = 7  # a week that is written fri-sun ends with Sunday
        if slash and not dash:
            raise ValueError(f"the {of.name} has a step without a range")
    if last < first:
        raise ValueError(f"the {of.name} has a range that ends before it begins")
    width = _number(step, of) if slash else 1
    if width < 1 or width > of.last:
        raise ValueError(f"the {of.name} has a step that is not from 1 to {of.last}")
    return range(first, last + 1, width)


def _value(text: str, of: _Field) -> int:
    named = of.names.get(text.lower())
    number = _number(text, of) if named is None else named
    if not of.first <= number <= of.last:
        raise ValueError(f"the {of.name} must be from {of.first} to {of.last}")
    return number


def _number(text: str, of: _Field) -> int:
    if not 1 <= len(text) <= 2 or not text.isdigit():
        raise ValueError(f"the {of.name} must be *, numbers, ranges like 1-5, steps like */10, or a list of them")
    return int(text)
