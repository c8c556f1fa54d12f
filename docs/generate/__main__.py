"""`python -m docs.generate`: make the pages that the code makes, then paste what commands print. `--pages` leaves the second out."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from docs.generate import pages, transcripts


def main(arguments: list[str]) -> None:
    changed = [f"docs/{name}" for name in pages.write()]
    if "--pages" not in arguments:
        with tempfile.TemporaryDirectory(prefix="infinicon-docs-") as folder:
            changed += transcripts.write(Path(folder), [f"docs/{name}" for name in pages.PAGES])
    sys.stdout.writelines(f"{line}\n" for line in changed)


if __name__ == "__main__":
    main(sys.argv[1:])
