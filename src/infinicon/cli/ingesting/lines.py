"""Lines of a stream with their numbers. One over the limit is reported and passed over, and never lies in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator

from infinicon.cli.ingesting.places import Broken, Place
from infinicon.cli.ingesting.sources import READING_FAULTS

RECORD_BYTES = 32 * 1024 * 1024
"""A line, or an element of a JSON document. An episode may have 1 MiB; a whole conversation in one line is longer."""


def numbered(stream: io.BufferedIOBase, source: str, limit: int = RECORD_BYTES) -> Iterator[tuple[Place, str] | Broken]:
    """Lines that are not blank, without their ends. What is not UTF-8 is broken; so is the rest of a file that cannot be read on."""
    number = 0
    while True:
        number += 1
        place = Place(source, number)
        try:
            line = stream.readline(limit + 1)
            too_long = len(line) > limit
            while len(line) > limit and not line.endswith(b"\n"):
                line = stream.readline(limit + 1)
        except READING_FAULTS as fault:
            yield Broken(place, unreadable(fault))
            return
        if too_long:
            yield Broken(place, f"longer than {limit // 1024 // 1024} MiB")
        elif not line:
            return
        else:
            try:
                text = line.decode()
            except UnicodeDecodeError as fault:
                yield Broken(place, f"not UTF-8 at byte {fault.start + 1} of the line")
                continue
            if text := text.strip():
                yield place, text


def unreadable(fault: BaseException) -> str:
    """Why a stream cannot be read on."""
    if isinstance(fault, EOFError):
        return "the compressed file ends too early"
    return getattr(fault, "strerror", None) or "the compressed file is damaged"
