"""The clock: names, periods and expiries from infinicon.tasks.schedule, and no task code. `python beat/schedule.py`."""

from infinicon.tasks.process import run_beat

if __name__ == "__main__":
    run_beat()
