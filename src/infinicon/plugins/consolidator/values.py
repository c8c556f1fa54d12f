"""Amounts, dates, times and counts in a clause: what of an attribute changes while the attribute stays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infinicon.plugins.consolidator.words import BOUND, Kind, Word

MONEY, PERCENT, TIME, DATE, WEEKDAY, COUNT, CODE = "money", "percent", "time", "date", "weekday", "count", "code"
_MONTHS = frozenset("january february march april may june july august september october november december".split())
_CURRENCIES = frozenset("dollar dollars euro euros pound pounds usd eur gbp cad aud yen francs chf".split())
_ORDINALS = frozenset("st nd rd th".split())
_HALF_DAYS = frozenset({"am", "pm"})
_LONGEST_UNIT = 3
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DAY = re.compile(r"[12]?\d|3[01]")
STOP = frozenset(
    """
    i me my mine myself we us our ours you your yours he him his she her hers it its they them their this that these those be was been
    being do does did done have has had having will would shall should can could may might must and or but if then than of in on at by
    for with about from to into onto over under up down out off as so such no not nor only own same there here what which who whom
    when where why how all any both each few more most other some not never ever 's because since while although after before during
    until by per one thing things lot lots way get gets got getting go goes going went make makes made take takes took let know think
    feel feeling like need want help try trying still already recently currently now today tomorrow yesterday best good great
    """.split()
)
"""Words that say nothing of what a value is the value of."""


@dataclass(frozen=True, slots=True)
class Value:
    """Words [start, end) of its clause. `unit`: stems of what is counted, else empty."""

    kind: str
    content: str
    unit: frozenset[str]
    start: int
    end: int


def values(words: Sequence[Word]) -> list[Value]:
    """In order. Years alone are none: they belong to a date, and are said with and without."""
    return list(_values(words))


def _values(words: Sequence[Word]) -> Iterator[Value]:
    at = 0
    while at < len(words):
        value = _value_at(words, at)
        if value is not None:
            yield value
            at = value.end
        else:
            at += 1


def _value_at(words: Sequence[Word], at: int) -> Value | None:
    word = words[at]
    if word.kind is Kind.CALENDAR:
        return _date(words, at)
    if word.kind is not Kind.NUMBER:
        return None
    following = words[at + 1] if at + 1 < len(words) else None
    if word.said in "$€£¥₹" and following is not None:
        return Value(MONEY, following.stem, frozenset(), at, at + 2)
    if _ISO_DATE.fullmatch(word.said):
        return Value(DATE, word.said, frozenset(), at, at + 1)
    if following is not None and _DAY.fullmatch(word.said):
        step = 2 if following.said in _ORDINALS else 1
        month = at + step + (1 if at + step < len(words) and words[at + step].said == "of" else 0)
        if month < len(words) and words[month].said in _MONTHS and words[month].kind is Kind.CALENDAR:
            return Value(DATE, f"{words[month].said} {word.stem}", frozenset(), at, month + 1)
    return _amount(words, at)


def _date(words: Sequence[Word], at: int) -> Value | None:
    if words[at].said not in _MONTHS:
        return Value(WEEKDAY, words[at].said, frozenset(), at, at + 1)
    days: list[str] = []
    end = at + 1
    while end < len(words) and (_DAY.fullmatch(words[end].said) or (days and words[end].said in _ORDINALS)):
        if words[end].said not in _ORDINALS:
            days.append(words[end].stem)
        end += 1
    if not days:
        return None
    if end < len(words) and _YEAR.fullmatch(words[end].said):
        end += 1
    return Value(DATE, f"{words[at].said} {'-'.join(days)}", frozenset(), at, end)


def _amount(words: Sequence[Word], at: int) -> Value | None:
    word = words[at]
    following = words[at + 1].said if at + 1 < len(words) else ""
    if word.stem.endswith("%") or following in {"percent", "%"}:
        return Value(PERCENT, word.stem.rstrip("%"), frozenset(), at, at + 1 + (following == "percent"))
    if following in _HALF_DAYS:
        return Value(TIME, f"{word.stem}{following}", frozenset(), at, at + 2)
    if following in _CURRENCIES:
        return Value(MONEY, word.stem, frozenset(), at, at + 2)
    if _YEAR.fullmatch(word.said):
        return None
    if ":" in word.said or not word.stem[0].isdigit():
        return Value(TIME if word.said[0].isdigit() else CODE, word.stem, frozenset(), at, at + 1)
    return Value(COUNT, word.stem, _unit(words, at + 1), at, at + 1)


def _unit(words: Sequence[Word], start: int) -> frozenset[str]:
    found = []
    for word in words[start : start + _LONGEST_UNIT]:
        if word.said == BOUND or word.kind is not Kind.WORD or word.stem in STOP or word.said in STOP:
            break
        found.append(word.stem)
    return frozenset(found)
