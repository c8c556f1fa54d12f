"""The command line as a person calls it: a process, its output, its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from infinicon.cli.instance import Instance


def run(
    live: Instance | None, *arguments: str, stdin: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """`infinicon ARGUMENTS`, pointed at the instance; `variables` are added to its environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INFINICON_")}
    here = {} if live is None else {"INFINICON_DATA_DIR": str(live.data_dir)}
    return subprocess.run(
        [sys.executable, "-m", "infinicon.cli", *arguments],
        env={**environment, **here, **variables},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def answer(live: Instance, *arguments: str, **variables: str) -> Any:
    """What a command that must succeed says with --json."""
    done = run(live, *arguments, "--json", **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
