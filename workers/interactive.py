"""Every stage of the interactive lane, so that a person never waits behind a back-fill. `python workers/interactive.py`."""

from infinicon.cli.main import main

if __name__ == "__main__":
    main(["worker", "interactive"])
