"""Files, folders and standard input as streams of bytes: unpacked, without a byte order mark, and counted as they are read."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Protocol

from infinicon.cli.faults import WrongUsage
from infinicon.cli.output import note

STDIN = "-"
HEAD_BYTES = 64 * 1024
READ_BYTES = 256 * 1024
GZIP_MAGIC = b"\x1f\x8b"
WALKED = frozenset({".jsonl", ".ndjson", ".json", ".md", ".markdown", ".txt"})
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
ARCHIVES = {
    b"PK\x03\x04": "a ZIP archive",
    b"BZh": "packed by bzip2",
    b"\xfd7zXZ": "packed by xz",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
}

READING_FAULTS = (OSError, EOFError, zlib.error)
"""What reading a stream that was opened here may raise: the disk, or gzip that is cut off or damaged."""


class Unreadable(Exception):
    """A source cannot be read. The message says why, not what stands in it."""


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is what keys are derived from and what errors say. `path` is None for standard input, `size` where it is unknown."""

    name: str
    path: Path | None
    size: int | None

    @property
    def suffix(self) -> str:
        """In lower case, and what stands before .gz."""
        return _suffix("" if self.path is None else self.path.name)


@dataclass(slots=True)
class Meter:
    """How much of all sources has been read, in bytes as they lie on the disk. `total` is None where a pipe is among them."""

    total: int | None
    sources: int
    read: int = 0
    number: int = 0
    name: str = ""

    @classmethod
    def of(cls, sources: Sequence[Source]) -> Meter:
        sizes = [source.size for source in sources if source.size is not None]
        return cls(sum(sizes) if len(sizes) == len(sources) else None, len(sources))


def expand(arguments: Sequence[str], name: str | None = None) -> list[Source]:
    """The sources that the command line names, each once. A folder gives the files in it, called by their path in it.

    A file is called by its base name; where two have the same, by as many of their folders as tell them apart. `name` is the name
    of a single source, and goes before the names of several.

    Raises:
        WrongUsage: nothing is there, standard input is named twice, or two sources would have the same name.
    """
    if arguments.count(STDIN) > 1:
        raise WrongUsage("- stands for standard input, which can be read only once", "give - once")
    tails = _tails([path for argument in arguments if argument != STDIN and not _is_folder(path := Path(argument))])
    found: dict[Path | None, str] = {}
    for argument in arguments:
        path = Path(argument)
        if argument == STDIN:
            found[None] = "stdin"
        elif path in tails:
            found.setdefault(path, tails[path])
        else:
            for file in _walk(path):
                found.setdefault(file, file.relative_to(path).as_posix())
    found = {where: _sayable(own) for where, own in found.items()}
    if name is not None:
        found = {where: name if len(found) == 1 else f"{name}/{own}" for where, own in found.items()}
    twice = [own for own, count in Counter(found.values()).items() if count > 1]
    if twice:
        raise WrongUsage(
            f"two sources would be called {twice[0]}", "ingest them by two commands, and give one of them --source NAME"
        )
    return [Source(own, where, _size(where)) for where, own in found.items()]


def _sayable(name: str) -> str:
    """A name as JSON and a label can carry it: file systems also know control characters, and bytes that are no UTF-8."""
    text = name.encode(errors="surrogateescape").decode(errors="replace")
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or "not a path"
        raise WrongUsage(f"{path}: {reason}", "name files that exist, a folder, or - for standard input") from None


def _walk(folder: Path) -> list[Path]:
    """Files of the kinds that their names tell; hidden ones, and folders behind links, stay out."""
    files: list[Path] = []
    passed = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = [Path(root, name) for name in sorted(names) if not name.startswith(".")]
        known = [path for path in paths if _suffix(path.name) in WALKED and path.is_file()]
        files += known
        passed += len(paths) - len(known)
    if passed and files:
        note(f"{passed} files of other kinds in {_sayable(folder.name)} are passed over: name those that you want too")
    if not files:
        raise WrongUsage(f"{folder}: no file in it ends with {', '.join(sorted(WALKED))}", "name the files themselves")
    return files


def _suffix(name: str) -> str:
    path = PurePath(name.lower())
    return PurePath(path.stem).suffix if path.suffix == ".gz" else path.suffix


def _tails(paths: Sequence[Path]) -> dict[Path, str]:
    """The shortest ends of the paths that differ."""
    whole = {path: path.absolute().parts for path in paths}
    tails: dict[tuple[str, ...], str] = {}
    length = 1
    while len(tails) < len(set(whole.values())):
        shared = Counter(parts[-length:] for parts in set(whole.values()))
        for parts in whole.values():
            if parts not in tails and (shared[parts[-length:]] == 1 or length >= len(parts)):
                tails[parts] = PurePath(*parts[-length:]).as_posix()
        length += 1
    return {path: tails[parts] for path, parts in whole.items()}


def _size(path: Path | None) -> int | None:
    """None for pipes, whose end nobody knows."""
    if path is None:
        return None
    found = path.stat()
    return found.st_size if stat.S_ISREG(found.st_mode) else None


# --- Reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opened:
    """An open source. `head` is how it begins: up to the end of its first line that is not blank, as far as 64 KiB show it."""

    stream: io.BufferedIOBase
    head: bytes


@contextmanager
def opened(source: Source, meter: Meter) -> Iterator[Opened]:
    """Open, unpack and look at the first bytes. Reading on may raise READING_FAULTS.

    Raises:
        Unreadable: it cannot be opened or unpacked, or is not UTF-8 by its first bytes.
    """
    meter.number += 1
    meter.name = source.name
    try:
        handle = os.dup(sys.stdin.fileno()) if source.path is None else os.open(source.path, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError) as fault:
        raise Unreadable(getattr(fault, "strerror", None) or "cannot be opened") from None
    try:
        raw = _unpacked(_Counted(handle, meter))
        head = _head(raw, lambda head: b"\n" in head.lstrip())
        if head.startswith(UTF_16_MARKS):
            raise Unreadable("it is UTF-16 and not UTF-8; convert it, for example by `iconv -f UTF-16 -t UTF-8`")
        head = head.removeprefix(BYTE_ORDER_MARK)
        with io.BufferedReader(_Rewound(head, raw), READ_BYTES) as stream:
            yield Opened(stream, head)
    finally:
        os.close(handle)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes | None: ...


def _unpacked(raw: _Readable) -> _Readable:
    longest = max(map(len, ARCHIVES))
    magic = _head(
        raw, lambda head: len(head) >= longest or b"\n" in head
    )  # a short line of a live pipe is no reason to wait
    for other, name in ARCHIVES.items():
        if magic.startswith(other):
            raise Unreadable(f"it is {name}; unpack it first (gzip is unpacked here)")
    whole = _Rewound(magic, raw)
    return gzip.GzipFile(fileobj=whole, mode="rb") if magic.startswith(GZIP_MAGIC) else whole


def _head(raw: _Readable, is_enough: Callable[[bytes], bool]) -> bytes:
    """The first bytes, also where a pipe brings them in drops: until they are enough, or 64 KiB, or all there are."""
    head = b""
    while not is_enough(head) and len(head) < HEAD_BYTES and (more := raw.read(HEAD_BYTES - len(head))):
        head += more
    return head


class _Counted:
    """An open file, read without a buffer: what a pipe brings is there at once."""

    def __init__(self, handle: int, meter: Meter) -> None:
        self._handle = handle
        self._meter = meter

    def read(self, size: int, /) -> bytes:
        data = os.read(self._handle, size)
        self._meter.read += len(data)
        return data


class _Rewound(io.RawIOBase):
    """What was read ahead, and then the rest."""

    def __init__(self, head: bytes, rest: _Readable) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override] # what BufferedReader and gzip hand in
        view = memoryview(buffer).cast("B")
        data = self._head[: len(view)] or self._rest.read(len(view)) or b""
        self._head = self._head[len(data) :]
        view[: len(data)] = data
        return len(data)
