"""Bulk embedding: the one worker that loads a model, on cuda where there is one. `python workers/embed.py`."""

from infinicon.cli.main import main

if __name__ == "__main__":
    main(["worker", "embed"])
