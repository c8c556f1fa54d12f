"""Private files and folders: nobody but their owner reads them, and a file is there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def private_directory(path: Path) -> Path:
    """Make the folder, and what is missing above it, and close it to others. An existing one is closed too."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path


def write_private(path: Path, text: str) -> None:
    """Replace the file with `text`, mode 0600. A reader, and a machine that loses power, sees the old text or the new."""
    with _written(path, text) as temporary:
        temporary.replace(path)
    sync_directory(path.parent)


def write_new(path: Path, text: str) -> None:
    """Make the file with `text`, mode 0600; one that is there stays as it is.

    Raises:
        FileExistsError: it is there.
    """
    with _written(path, text) as temporary:
        path.hardlink_to(temporary)
    sync_directory(path.parent)


@contextmanager
def _written(path: Path, text: str) -> Iterator[Path]:
    """A temporary file beside `path` that holds `text`, whole and on disk."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        # After a replacement there is no file of this name; before it, the half-written secret must not stay.
        temporary.unlink(missing_ok=True)


def sync_directory(path: Path) -> None:
    """Make renames in the folder survive a loss of power."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
