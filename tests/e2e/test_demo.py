"""`infinicon demo` from start to stop, on a small transcript, and docs/demo.md, which shows the whole one."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

from infinicon.cli import transcript

PAGE = Path(__file__).parents[2] / "docs" / "demo.md"
AROUND_THE_ACCIDENT = range(2395, 2695)


def test_the_demo_shows_what_its_page_says_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """The small transcript holds everything that the page shows as an answer, so the best answers are the same ones."""
    shown = PAGE.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    lines = gzip.decompress(transcript.SAMPLE.read_bytes()).splitlines(keepends=True)
    times = set(re.findall(r"mission time (-?[\d:]+)", shown))
    answers = {at for at, line in enumerate(lines) if json.loads(line)["get"] in times}
    (tmp_path / "small.jsonl").write_bytes(b"".join(lines[at] for at in sorted(answers | set(AROUND_THE_ACCIDENT))))
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
    assert len(answers_of(shown)) == 15
    assert answers_of(done.stdout) == answers_of(shown)
    assert form_of(done.stdout) == form_of(shown)
    assert "infinicon.embed" in done.stdout.partition("\nFlower (")[2]
    assert not (tmp_path / "data" / "dev.json").exists(), "it still answers"


def answers_of(output: str) -> list[tuple[str, str]]:
    """Text and speaker of every answer, in order."""
    return re.findall(r"^     “(.*)”\n     (.*)$", output, re.MULTILINE)


def form_of(output: str) -> str:
    """The output without what differs from run to run: ids, numbers, lines of progress, and what Flower has heard of so far."""
    output = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", output)
    output = re.sub(r"\d+(?:[.:T-]\d+)*Z?", "#", output)
    output = re.sub(r"(?m)(?:^ *# s +accepted .*\n)+", "progress\n", output)
    output = re.sub(r"(?s)(?<=\nFlower \().*(?=\nStopping)", "", output)
    return " ".join(output.split())
