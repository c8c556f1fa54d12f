"""DIR/logs: the output of every child, one file each, kept from filling the disk."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 10 * 1024 * 1024


def open_log(path: Path) -> BinaryIO:
    """Open for appending, mode 0600; one that has grown too big becomes PATH.1 first."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    keep_small(path)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab", buffering=0)


def keep_small(path: Path, limit: int = MAX_BYTES) -> bool:
    """Move the content of a log over `limit` bytes to PATH.1, replacing what is there. True if that was needed.

    The file itself stays, since a running child writes to it: it is copied, then emptied. Its children append, so they go on at the
    start; a line written between copy and emptying is lost. Where the disk has no room for the copy, the log is emptied without one: a
    full disk is no reason to stop, and this is the file that can give some of it back.
    """
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > limit:
            with contextlib.suppress(OSError):
                _copy_end(path, path.with_name(f"{path.name}.1"), limit)
            os.truncate(path, 0)
            return True
    return False


def _copy_end(path: Path, older: Path, limit: int) -> None:
    with (
        path.open("rb") as source,
        os.fdopen(os.open(older, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as target,
    ):
        source.seek(-limit, os.SEEK_END)
        shutil.copyfileobj(source, target)


def last_lines(path: Path, count: int = 5, reach: int = 4096) -> list[str]:
    """The end of a log, for a person who has to find out why a child does not start."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - reach))
            return file.read().decode("utf-8", "replace").splitlines()[-count:]
    except FileNotFoundError:
        return []
