"""`python -m bench`."""

from __future__ import annotations

import sys

from bench.command import main

INTERRUPTED = 130

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:  # What was started is stopped by now, and what was measured is kept.
        sys.exit(INTERRUPTED)
