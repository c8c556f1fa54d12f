"""How commands print: JSON for programs, tables for people, notes beside both on standard error."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Sequence


def show_json(value: object) -> None:
    """One JSON document, indented where a person looks, on one line where a program reads."""
    indent = 2 if sys.stdout.isatty() else None
    print(json.dumps(value, ensure_ascii=False, indent=indent))


def note(text: str) -> None:
    """Something about the run, apart from its output."""
    print(text, file=sys.stderr, flush=True)


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns under headers, numbers to the right."""
    cells = [[visible(str(cell)) for cell in row] for row in rows]
    widths = [max(_width(row[i]) for row in [list(headers), *cells]) for i in range(len(headers))]
    numeric = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(headers))]
    for row in [list(headers), *cells]:
        padded = [
            " " * (width - _width(cell)) + cell if right else cell + " " * (width - _width(cell))
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        print("  ".join(padded).rstrip())


def visible(text: str) -> str:
    """Memory is other people's text: what would move a terminal's cursor, or change its colours, is shown as a space."""
    return "".join(
        " " if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c != "\u200d" else c for c in text
    )


def clipped(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    line = " ".join(visible(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
