"""Bulk work that needs no model: extract, index, dispatch, reconcile. `python workers/cpu.py`."""

from infinicon.cli.main import main

if __name__ == "__main__":
    main(["worker", "cpu"])
