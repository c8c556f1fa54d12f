"""The documents: every path they name exists, every decision has its four parts, the words are the project's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.trees import ROOT

DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "samples/*.md", "workers/*.md", "beat/*.md", "bench/*.md")
    for path in ROOT.glob(pattern)
)
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
DECISION_PARTS = ("Context", "Decision", "Consequences", "Alternatives")

# Words for things that have another name here (docs/architecture.md, Words), and marks of a place that a reader lacks.
FORBIDDEN = re.compile(
    r"\b(memory item|knowledge unit|recall score|this machine|TODO|FIXME)\b|file:///|/home/", re.IGNORECASE
)
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:src|tests|workers|beat|bench|docs|samples)/[\w./*-]+)`")


def forbidden_words(text: str) -> list[str]:
    return [found.group(0) for found in FORBIDDEN.finditer(text)]


def broken_links(document: Path, text: str) -> list[str]:
    return [target for target in LINK.findall(text) if not (document.parent / target).exists()]


def missing_paths(text: str) -> list[str]:
    return [path for path in PATH.findall(text) if not any(ROOT.glob(path.rstrip("/")))]


def missing_parts(text: str) -> list[str]:
    return [part for part in DECISION_PARTS if f"\n## {part}\n" not in text]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_document_keeps_the_rules(document: Path) -> None:
    text = document.read_text(encoding="utf-8")

    assert forbidden_words(text) == []
    assert broken_links(document, text) == []
    assert missing_paths(text) == []


@pytest.mark.parametrize("record", DECISIONS, ids=lambda path: path.stem)
def test_decision_record_is_complete(record: Path) -> None:
    assert missing_parts(record.read_text(encoding="utf-8")) == []


def test_decision_records_are_numbered_without_a_gap() -> None:
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_these_checks_can_fail() -> None:
    assert forbidden_words("See /home/me and the TODO.") == ["/home/", "TODO"]
    assert broken_links(ROOT / "x.md", "[x](docs/nothing.md) [y](Makefile) [z](https://example.org)") == [
        "docs/nothing.md"
    ]
    assert missing_paths("`src/infinicon/nothing.py` and `src/infinicon/errors.py`") == ["src/infinicon/nothing.py"]
    assert missing_parts("# 1\n\n## Context\n\n## Decision\n") == ["Consequences", "Alternatives"]
