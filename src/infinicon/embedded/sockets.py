"""The folder of the Unix sockets: DIR/run, or a short one elsewhere, because a socket's path has room for 107 bytes."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import quote

from infinicon.embedded.account import Account

LONGEST_PATH = 107
_LONGEST_NAME = ".s.PGSQL.5432.lock"
_PREFIX = "infinicon-"


def open_socket_directory(directory: Path, account: Account | None) -> Path:
    """Make an empty folder (0700, the account's) for sockets; what a killed run left there is removed.

    Where DIR/run would be too long, or holds characters that a URL has to escape (not every reader of our URLs unescapes them), it is a
    link to a private folder under the system's temporary folder, so that the next start finds and removes that one too.
    """
    close_socket_directory(directory)
    run = directory / "run"
    if _fits(run):
        run.mkdir(mode=0o700)
        place = run
    else:
        place = _short_directory()
        run.symlink_to(place, target_is_directory=True)
    if account is not None:
        account.own(place)
    return place


def close_socket_directory(directory: Path) -> None:
    """Remove the folder of `open_socket_directory`, and the link to it."""
    run = directory / "run"
    if run.is_symlink():
        target = run.readlink()
        run.unlink()
        if _is_ours(target):
            shutil.rmtree(target, ignore_errors=True)
    elif run.exists():
        shutil.rmtree(run)


def _fits(place: Path) -> bool:
    return len(os.fsencode(place / _LONGEST_NAME)) <= LONGEST_PATH and quote(str(place)) == str(place)


def _short_directory() -> Path:
    parents = [tempfile.gettempdir(), "/tmp"]  # noqa: S108 - mkdtemp makes a folder of our own in it; TMPDIR may be too long
    for parent in parents:
        with contextlib.suppress(OSError):
            place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            if _fits(place):
                return place
            place.rmdir()
    raise OSError(f"no folder for sockets whose path is short enough in {' or '.join(parents)}")


def _is_ours(target: Path) -> bool:
    """The link may be older than the last reboot, and a temporary folder is everybody's: check before removing."""
    try:
        found = target.lstat()
    except OSError:
        return False
    return (
        target.name.startswith(_PREFIX)
        and not target.is_symlink()
        and found.st_mode & 0o077 == 0
        and (os.geteuid() == 0 or found.st_uid == os.geteuid())
    )
