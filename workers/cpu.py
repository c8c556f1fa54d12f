"""Bulk work that needs no model: extract, index, dispatch, reconcile. `python workers/cpu.py`."""

from infinicon.tasks.process import run_worker

if __name__ == "__main__":
    run_worker("cpu")
