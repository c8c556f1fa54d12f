"""Filters of a question, from options of the command line to the wire."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from infinicon.cli.client import Wire
from infinicon.cli.faults import WrongUsage

TYPES = ("episode", "atom", "consolidation")
PAIR = re.compile(r"([^=]+)=(.*)", re.DOTALL)


def filters(
    *,
    types: Sequence[str],
    tags: Sequence[str],
    metadata: Sequence[str],
    after: str | None,
    before: str | None,
    disputed: bool,
    superseded: bool,
) -> Wire:
    """MemoryFilters with what was asked for and nothing else. Raises WrongUsage."""
    for name in types:
        if name not in TYPES:
            raise WrongUsage("--type is none that can be found", f"one of {', '.join(TYPES)}")
    asked: Wire = {
        "types": list(types),
        "tags": list(tags),
        "metadata": _metadata(metadata),
        "createdAfter": _moment("--after", after),
        "createdBefore": _moment("--before", before),
        "includeDisputed": disputed,
        "includeSuperseded": superseded,
    }
    return {name: value for name, value in asked.items() if value}


def _metadata(pairs: Sequence[str]) -> Wire:
    """NAME=VALUE, where the value is JSON or else text: `n=1` is a number, `n="1"` a string."""
    found: Wire = {}
    for pair in pairs:
        match = PAIR.fullmatch(pair)
        if match is None:
            raise WrongUsage("--metadata needs a name and a value", "write --metadata NAME=VALUE")
        name, value = match.groups()
        try:
            found[name] = json.loads(value, parse_constant=_no_number)
        except ValueError:
            found[name] = value
    return found


def _no_number(name: str) -> None:
    """NaN and Infinity are no JSON, though Python reads them."""
    raise ValueError(name)


def _moment(option: str, given: str | None) -> str | None:
    """RFC 3339. A date is its first moment; without a zone it is UTC."""
    if given is None:
        return None
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise WrongUsage(f"{option} is no date or time", "write 2026-05-01, or 2026-05-01T09:30:00+02:00") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
