"""Consolidations: what is in memory is made into fewer and better memories. `python workers/consolidate.py`."""

from infinicon.cli.main import main

if __name__ == "__main__":
    main(["worker", "consolidate"])
