"""`python -m tests.mutants [NAME…]`: put each fault in, and see its tests turn red. Exits with 1 where one survives."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.mutants import ROOT, Mutant, mutants, plant

TESTS_FAILED = 1
"""pytest's exit status. Any other, also that of a run which could not collect, proves nothing."""


def survives(mutant: Mutant) -> bool:
    """Whether the tests pass, or do not run, with the fault in."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(plant(mutant, Path(folder)))}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *mutant.tests]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    killed = done.returncode == TESTS_FAILED
    red = next((line for line in done.stdout.splitlines() if line.startswith("FAILED")), done.stdout[-2000:])
    print(f"{'red ' if killed else 'SURVIVES'} {mutant.name}: {red[:200] if killed else red}", flush=True)
    return not killed


def main(names: list[str]) -> int:
    """Run the mutants of these names, or all."""
    chosen = [mutant for mutant in mutants() if not names or mutant.name in names]
    survivors = [mutant.name for mutant in chosen if survives(mutant)]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants turned their tests red")
    return 1 if survivors or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
