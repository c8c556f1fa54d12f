"""Secrets are made once, kept, private, and never made anew beside data that needs the old ones."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from infinicon.embedded.secrets import Secrets, load_or_create
from infinicon.errors import MissingDependency


def load(directory: Path, *, has_data: bool = False) -> Secrets:
    return load_or_create(directory, new_api_key=lambda: "inf_key", has_data=has_data)


def test_made_once_and_kept(tmp_path: Path) -> None:
    first = load(tmp_path)

    assert load(tmp_path, has_data=True) == first
    assert first.api_key == "inf_key"
    assert len(first.master_key) >= 32


def test_every_secret_is_another(tmp_path: Path) -> None:
    load(tmp_path)
    stored = json.loads((tmp_path / "secrets.json").read_text())

    assert len(set(stored.values())) == len(stored) == 9


def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    load(tmp_path)

    assert stat.S_IMODE((tmp_path / "secrets.json").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secrets.json"]


def test_a_secret_of_a_newer_release_is_added_and_what_we_do_not_know_stays(tmp_path: Path) -> None:
    first = load(tmp_path)
    path = tmp_path / "secrets.json"
    stored = json.loads(path.read_text())
    del stored["flower_password"]
    path.write_text(json.dumps({**stored, "of_another_release": "kept"}))

    second = load(tmp_path, has_data=True)

    assert second.master_key == first.master_key
    assert second.flower_password
    assert json.loads(path.read_text())["of_another_release"] == "kept"


def test_a_lost_file_beside_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingDependency, match="backup"):
        load(tmp_path, has_data=True)

    assert not (tmp_path / "secrets.json").exists()


@pytest.mark.parametrize("content", ["", "{", "[1]"])
def test_a_damaged_file_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secrets.json"
    path.write_text(content)

    with pytest.raises(MissingDependency, match="cannot be read"):
        load(tmp_path)
    assert path.read_text() == content


def test_secrets_do_not_show_in_a_repr(tmp_path: Path) -> None:
    made = load(tmp_path)

    assert made.master_key not in repr(made)
    assert "inf_key" not in repr(made)
