"""Bulk embedding: the one worker that loads a model, on cuda where there is one. `python workers/embed.py`."""

from infinicon.tasks.process import run_worker

if __name__ == "__main__":
    run_worker("embed")
