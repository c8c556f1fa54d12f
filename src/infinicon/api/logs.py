"""Logs of the API process. They hold no user text: no bodies, queries or paths, and of an exception only its type and our lines."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType

PACKAGE = str(Path(__file__).resolve().parent.parent)


class Formatter(logging.Formatter):
    """Formats an exception without its text, which may quote what a caller sent."""

    def formatException(  # noqa: N802 -- overrides logging's own name
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        kind, _, stack = ei
        name = "no exception" if kind is None else f"{kind.__module__}.{kind.__qualname__}"
        lines = [
            f"  {Path(frame.filename).relative_to(PACKAGE)}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(stack)
            if frame.filename.startswith(PACKAGE)
        ]
        return "\n".join([name, *lines])


def configure(level: str) -> None:
    """Send everything that this process logs to stderr through `Formatter`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    threading.excepthook = _log_thread  # Python's own prints the text of the exception
    for noisy in ("httpx", "httpcore", "httpx2", "httpcore2"):  # these log the address of every call
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _log_thread(ended: threading.ExceptHookArgs) -> None:
    name = "a thread" if ended.thread is None else ended.thread.name
    fault = ended.exc_value or ended.exc_type()
    logging.getLogger(__name__).error("%s ended", name, exc_info=fault.with_traceback(ended.exc_traceback))
