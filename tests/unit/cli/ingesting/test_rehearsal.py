"""--dry-run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infinicon.cli.faults import CommandFailed
from infinicon.cli.ingesting.formats import Reader
from infinicon.cli.ingesting.rehearsal import rehearse
from infinicon.cli.ingesting.sources import expand


def test_it_counts_and_shows_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"content": "one"}\n{"content": "two"}\n{"role": "user", "content": ""}\n{"content": "three"}\n')

    rehearse(expand([str(path)]), Reader(), batch=2, skip=False, as_json=True)
    found = json.loads(capsys.readouterr().out)
    rehearse(expand([str(path)]), Reader(), batch=2, skip=False, as_json=False)
    text = capsys.readouterr().out

    assert (found["episodes"], found["requests"], found["leftOut"], found["dryRun"]) == (3, 2, 1, True)
    assert found["first"]["content"] == "one"
    assert "3 episodes in 2 requests" in text
    assert '"one"' in text


def test_nothing_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    rehearse(expand([str(path)]), Reader(), batch=2, skip=False, as_json=True)

    assert json.loads(capsys.readouterr().out)["first"] is None


def test_what_is_broken_ends_it_or_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"content": "one"}\n{\n{"content": "two"}\n')

    with pytest.raises(CommandFailed, match="line 2"):
        rehearse(expand([str(path)]), Reader(), batch=2, skip=False, as_json=True)
    capsys.readouterr()
    rehearse(expand([str(path)]), Reader(), batch=2, skip=True, as_json=True)
    out, err = capsys.readouterr()

    assert json.loads(out)["broken"] == 1
    assert "a.jsonl, line 2" in err
