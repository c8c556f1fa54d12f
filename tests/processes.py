"""The processes of a running `infinicon up`."""

from __future__ import annotations

import contextlib

import psutil

from infinicon.cli.instance import Instance
from tests.waiting import wait_until


def processes(instance: Instance, *words: str) -> list[psutil.Process]:
    """Those whose command has these words, one after the other."""
    found = []
    for child in psutil.Process(instance.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # others come and go meanwhile
            command = child.cmdline()
            if any(command[at : at + len(words)] == [*words] for at in range(len(command))):
                found.append(child)
    return found


def the_process(instance: Instance, *words: str) -> psutil.Process:
    """The one, as soon as there is one: it may be starting anew."""
    wait_until(lambda: len(processes(instance, *words)) == 1, f"there is one process {' '.join(words)}")
    return processes(instance, *words)[0]
