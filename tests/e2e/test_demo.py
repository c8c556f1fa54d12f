"""`infinicon demo` from start to stop, on a small transcript."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

from infinicon.cli import transcript


def test_the_demo_shows_the_main_job_and_leaves_nothing_behind(tmp_path: Path) -> None:
    lines = gzip.decompress(transcript.SAMPLE.read_bytes()).splitlines(keepends=True)
    (tmp_path / "small.jsonl").write_bytes(b"".join(lines[2395:2695]))
    command = [
        sys.executable,
        "-m",
        "infinicon.cli",
        "demo",
        "--sample",
        str(tmp_path / "small.jsonl"),
        "--data-dir",
        str(tmp_path / "data"),
    ]

    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    for part in (
        "300 created",
        "completed",
        "we've had a problem",
        "CDR (Lovell), mission time 02:07:55:35",
        "Flower",
        "Everything that went in",
    ):
        assert part in done.stdout
    assert not (tmp_path / "data" / "dev.json").exists(), "it still answers"
