"""Which page is made by what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.generate import command_line, configuration, http_api

DOCS = Path(__file__).parents[1]

PAGES: Mapping[str, Callable[[], str]] = {
    "api-reference.md": http_api.make,
    "cli.md": command_line.make,
    "configuration.md": configuration.make,
    "openapi.json": http_api.make_document,
}


def write() -> list[str]:
    """Make every page; answers with those that changed."""
    changed = []
    for name, make in PAGES.items():
        text, path = make(), DOCS / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(name)
    return changed
