"""What the exit code of a command says. Scripts branch on these, so they do not change."""

from __future__ import annotations

FINE = 0
"""All is well, also where nothing was found."""
FAILED = 1
"""The work was done and did not succeed: a job failed, episodes were rejected, the doctor found something."""
USAGE = 2
"""The command line or a setting is wrong."""
NO_SERVER = 3
"""Nobody answered at the address, or no address is known."""
REFUSED = 4
"""The key is not valid, or lacks a permission."""
NOT_FOUND = 5
"""What was named does not exist, or is not for this key to see."""
TEMPORARY = 6
"""The server could not do it now; the same command may succeed later."""
NOT_PROVEN = 7
"""verify-erasure found nothing, and could not look at everything."""
INTERRUPTED = 130
"""Ctrl-C, as shells report it."""
