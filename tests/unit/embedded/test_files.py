"""Private files are whole and closed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from infinicon.embedded.files import private_directory, write_new, write_private


def test_replaces_a_file_that_was_open_to_others(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text("old")
    path.chmod(0o644)

    write_private(path, "new")

    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text("old")

    with pytest.raises(UnicodeEncodeError):
        write_private(path, "\ud800")

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_is_closed_and_an_old_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_new(path, "first")

    with pytest.raises(FileExistsError):
        write_new(path, "second")

    assert path.read_text() == "first"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_an_open_folder_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir(mode=0o755)

    assert stat.S_IMODE(private_directory(folder).stat().st_mode) == 0o700
