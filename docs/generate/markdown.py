"""Pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def made_from(*sources: str) -> str:
    """The first line of a page that nobody should edit."""
    return f"<!-- Made by `make docs` from {', '.join(sources)}: change it there. -->"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells may hold anything but what a table is made of."""
    lines = [headers, ["---"] * len(headers), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: object) -> str:
    return f"`{text}`"


def listed(words: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def page(*parts: str) -> str:
    """Parts with an empty line between; those that are empty are left out."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
