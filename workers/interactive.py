"""Every stage of the interactive lane, so that a person never waits behind a back-fill. `python workers/interactive.py`."""

from infinicon.tasks.process import run_worker

if __name__ == "__main__":
    run_worker("interactive")
