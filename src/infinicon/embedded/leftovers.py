"""What a killed supervisor may leave running, found by facts that a reused process id cannot fake."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil

OWNER_VARIABLE = "INFINICON_SUPERVISED_FOR"
"""Every child but Postgres carries it, with the data directory as its value; grandchildren inherit it."""


def marked_processes(directory: Path) -> list[psutil.Process]:
    """Our children, and theirs, that were started for this data directory."""
    return [process for process in _others() if _environment(process).get(OWNER_VARIABLE) == str(directory)]


def postgres_processes(data: Path) -> list[psutil.Process]:
    """Servers that work in this data directory: the postmaster and its backends all have it as their current folder."""
    try:
        wanted = data.stat()
    except FileNotFoundError:
        return []
    return [process for process in _others() if _works_in(process, wanted) and _is_postgres(process)]


def end_marked(directory: Path) -> int:
    """Kill what `marked_processes` finds, and wait until it is gone. Returns how many there were."""
    found = marked_processes(directory)
    for process in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(found, timeout=5)
    return len(found)


def send(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _others() -> Iterator[psutil.Process]:
    return (process for process in psutil.process_iter() if process.pid != os.getpid())


def _environment(process: psutil.Process) -> dict[str, str]:
    # Other users' processes cannot be read, and none of those is ours.
    try:
        return dict(process.environ())
    except (psutil.Error, OSError):
        return {}


def _works_in(process: psutil.Process, wanted: os.stat_result) -> bool:
    try:
        found = Path(process.cwd()).stat()
    except (psutil.Error, OSError):
        return False
    return (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino)


def _is_postgres(process: psutil.Process) -> bool:
    try:
        return Path(process.exe().removesuffix(" (deleted)")).name == "postgres"
    except (psutil.Error, OSError):
        return False
