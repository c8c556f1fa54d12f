"""The clock: names, periods and expiries from infinicon.tasks.schedule, and no task code. `python beat/schedule.py`."""

from infinicon.cli.main import main

if __name__ == "__main__":
    main(["beat"])
