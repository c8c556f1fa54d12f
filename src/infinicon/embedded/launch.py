"""Starts one child of the supervisor: gives up root where asked, asks to die with its parent, and becomes the program.

    python -I -m infinicon.embedded.launch --parent PID --death-signal N [--account UID:GID] [--reach PATH]... -- PROGRAM ...

It is a program of its own because these steps must happen between fork and exec, in this order, in a process with one thread.
Postgres refuses to run as root, so as root it runs as an ordinary account. The folders above its data or its program may be closed
to that account; they are left as they are, and Postgres keeps one capability instead: to pass them and to read
(CAP_DAC_READ_SEARCH), or, where a container has not got that one, CAP_DAC_OVERRIDE. The least that suffices is taken.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from infinicon.embedded.capabilities import (
    CAP_DAC_OVERRIDE,
    CAP_DAC_READ_SEARCH,
    ON_LINUX,
    become,
    signal_on_parent_death,
)

CANNOT_START = 126
NOT_FOUND = 127


def command(
    program: Sequence[str],
    *,
    death_signal: int,
    account: tuple[int, int] | None = None,
    reach: Sequence[str] = (),
) -> list[str]:
    """The argument list that starts `program` through this module, as a child of the calling process."""
    options = ["--parent", str(os.getpid()), "--death-signal", str(death_signal)]
    if account is not None:
        options += ["--account", f"{account[0]}:{account[1]}"]
        options += [part for path in reach for part in ("--reach", path)]
    return [sys.executable, "-I", "-m", "infinicon.embedded.launch", *options, "--", *program]


def main(arguments: Sequence[str]) -> int:
    """Does not return where the program starts."""
    options = _parser().parse_args(arguments)
    program: list[str] = options.program
    try:
        if options.account:
            uid, gid = (int(part) for part in options.account.split(":"))
            become(uid, gid, _least_capability(uid, gid, options.reach))
        signal_on_parent_death(options.death_signal)
        if os.getppid() != options.parent:
            return CANNOT_START  # The parent ended before the kernel knew that we wanted to hear of it.
        os.execv(program[0], program)  # noqa: S606 - the program is the supervisor's choice, and no shell is wanted
    except FileNotFoundError:
        sys.stderr.write(f"{program[0]}: not found\n")
        return NOT_FOUND
    except OSError as fault:
        sys.stderr.write(f"{program[0]}: cannot be started: {fault.strerror}\n")
        return CANNOT_START


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="infinicon.embedded.launch", allow_abbrev=False)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--death-signal", type=int, required=True)
    parser.add_argument("--account")
    parser.add_argument("--reach", action="append", default=[])
    parser.add_argument("program", nargs="+")
    return parser


def _least_capability(uid: int, gid: int, reach: Sequence[str]) -> int | None:
    """The least right with which the account reaches every path: none, if it can."""
    candidates = [None, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE] if ON_LINUX else [None]
    for capability in candidates:
        if _reaches(uid, gid, capability, reach):
            return capability
    raise PermissionError(
        13,
        f"account {uid} cannot reach all of: {', '.join(reach)} (root in this container may not pass closed folders)",
    )


def _reaches(uid: int, gid: int, capability: int | None, reach: Sequence[str]) -> bool:
    """Try it in a child: the kernel's own answer counts access lists and security modules too."""
    child = os.fork()
    if child == 0:
        reached = False
        try:
            become(uid, gid, capability)
            reached = all(os.access(path, os.R_OK | os.X_OK) for path in reach)
        finally:
            os._exit(0 if reached else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
