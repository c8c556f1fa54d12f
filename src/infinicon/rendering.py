"""A memory as one unit of a context: `[who, when] text` and a line end (docs/contexts.md).

Units so rendered have token counts that add up: a line end before a bracket is a boundary to both encodings of tiktoken, whatever
stands around it. So a unit is counted once, when it is written, and a context is the sum of its units.

- who: the speaker, or the person or agent who made the memory; one line of 64 characters at most, round brackets for square ones. A
  unit of which nobody is known to say it begins with `[when]`.
- when, in UTC: the day and minute that the memory is about, the day alone where that is midnight; the day on which it was stored where
  it says no more.
- text: as it is, but for blanks at its ends. A later line of it that begins with a square bracket is moved by a blank: at the
  beginning of a line, such a bracket opens a unit, and no memory can open another one.

A change of any rule needs a new VERSION: what is stored was counted by the old one, and is then counted anew at read.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

VERSION = 1

LONGEST_NAME = 64

# Where str.splitlines() ends a line, so that no reader sees a line that this does not.
_BRACKET_AT_LINE_START = re.compile("(?<=[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])\\[")
_ROUND = str.maketrans("[]", "()")


def unit(who: str | None, occurred_at: datetime | None, created_at: datetime, text: str) -> str:
    """The unit of a memory. Times need a zone."""
    name = _name(who or "")
    head = f"{name}, " if name else ""
    return f"[{head}{_moment(occurred_at, created_at)}] {_body(text)}\n"


def _name(who: str) -> str:
    name = " ".join(who.split()).translate(_ROUND)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1].rstrip() + "…"


def _moment(occurred_at: datetime | None, created_at: datetime) -> str:
    if occurred_at is None:
        return _day(created_at)
    moment = occurred_at.astimezone(UTC)
    clock = "" if (moment.hour, moment.minute) == (0, 0) else f" {moment:%H:%M}"
    return _day(moment) + clock


def _day(moment: datetime) -> str:
    """Years before 1000 keep their four digits, which strftime would not promise."""
    return moment.astimezone(UTC).date().isoformat()


def _body(text: str) -> str:
    return _BRACKET_AT_LINE_START.sub(" [", text.strip())
