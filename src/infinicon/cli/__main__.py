"""`python -m infinicon.cli`, which is how the supervisor starts our processes."""

from __future__ import annotations

from infinicon.cli.main import main

if __name__ == "__main__":
    main()
