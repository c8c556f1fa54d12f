"""verify-erasure: is a text that was deleted really gone?

What it reaches: every text, JSON and byte column of every table of ours and of Celery's results, for all tenants, after a VACUUM; where
the data directory is at hand, the files of the database too. What it cannot reach it says: backups, replicas, the write-ahead log that
was archived, and what others have copied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from infinicon.errors import InvalidRequest
from infinicon.store import verification
from infinicon.store.verification import Trace

SHORTEST = 8
"""Characters: less is found everywhere and says nothing."""

PIECE = 24
"""Characters from which on a line or sentence of the text is looked for by itself: what was derived from it holds pieces."""

READ_BYTES = 1 << 20


@dataclass(slots=True)
class Report:
    """`whole`: the text itself stands there. `pieces`: a line or sentence of it does. `files`: its bytes, outside of living rows."""

    whole: list[Trace] = field(default_factory=list)
    pieces: list[Trace] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    log: int = 0
    tables: int = 0
    expression_indexes: Sequence[str] = ()

    @property
    def clean(self) -> bool:
        return not (self.whole or self.pieces or self.files)


def verify_erasure(url: str, text: str, *, rewrite: bool, data: Path | None) -> Report:
    """Look for a text everywhere. `data` is Postgres's data directory, where it is on this machine.

    Raises:
        InvalidRequest: the text is too short to say anything.
        MissingDependency: the role of `url` does not see every row.
        Unavailable: Postgres does not answer.
    """
    whole = text.strip()
    if len(whole) < SHORTEST:
        raise InvalidRequest(f"a text of fewer than {SHORTEST} characters is found everywhere, and proves nothing")
    report = Report()
    with verification.looking(url) as connection:
        verification.vacuum(connection, rewrite=rewrite)
        report.tables = len(verification.tables(connection))
        report.expression_indexes = verification.expression_indexes(connection)
        for spelling in _spellings(whole):
            report.whole += verification.traces(connection, spelling)
        for piece in pieces(whole):
            for spelling in _spellings(piece):
                report.pieces += verification.traces(connection, spelling)
        if data is not None:
            needles = [piece.encode() for piece in [whole, *pieces(whole)]]
            names = verification.files(connection)
            report.files = [name for path, name in sorted(names.items()) if _holds(data, path, needles)]
            report.log = sum(_contains(file, needles) for file in (data / "pg_wal").glob("*") if file.is_file())
    return report


def pieces(text: str) -> list[str]:
    """Its lines and sentences that are long enough to be told from other people's, but for the text itself."""
    parts = (part.strip() for part in re.split(r"\n+|(?<=[.!?。！？])\s+", text))
    return list(dict.fromkeys(part for part in parts if len(part) >= PIECE and part != text))


def _spellings(text: str) -> list[str]:
    """As it is, and as it stands inside of JSON."""
    return list(dict.fromkeys([text, json.dumps(text, ensure_ascii=False)[1:-1]]))


def _holds(data: Path, path: str, needles: Sequence[bytes]) -> bool:
    """A relation lies in segments: PATH, PATH.1, PATH.2, …"""
    first = data / path
    return any(_contains(file, needles) for file in (first, *first.parent.glob(f"{first.name}.*")))


def _contains(file: Path, needles: Sequence[bytes]) -> bool:
    overlap = max(map(len, needles)) - 1
    tail = b""
    for block in _blocks(file):
        window = tail + block
        if any(needle in window for needle in needles):
            return True
        tail = window[-overlap:] if overlap else b""
    return False


def _blocks(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as opened:
            while block := opened.read(READ_BYTES):
                yield block
    except FileNotFoundError:  # dropped, or recycled, since it was listed
        return
