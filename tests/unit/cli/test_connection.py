from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from infinicon.cli import connection
from infinicon.cli.connection import Connection, find
from infinicon.cli.faults import NoServer, WrongUsage
from infinicon.settings import Settings


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    monkeypatch.chdir(tmp_path)

    def set_to(**values: object) -> None:
        monkeypatch.setattr(connection, "settings", lambda: Settings(**values))  # type: ignore[arg-type]

    set_to()
    return set_to


def running(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "dev.json").write_text(json.dumps({"url": "http://127.0.0.1:1", "apiKey": "inf_dev"}))
    return directory


def test_the_command_line_wins_over_the_environment(known: Callable[..., None], tmp_path: Path) -> None:
    known(url="http://elsewhere/", api_key="inf_env", data_dir=tmp_path / "other")
    directory = running(tmp_path / "here")

    assert find("https://given", None) == Connection("https://given", "inf_env")
    assert find(None, directory) == Connection("http://127.0.0.1:1", "inf_dev", directory)
    assert find() == Connection("http://elsewhere", "inf_env")


def test_a_data_directory_by_environment_or_by_default(known: Callable[..., None], tmp_path: Path) -> None:
    known(data_dir=running(tmp_path / "named"))
    assert find().data_dir == tmp_path / "named"
    known()
    running(tmp_path / ".infinicon")
    assert find() == Connection("http://127.0.0.1:1", "inf_dev", Path(".infinicon"))


def test_no_server_says_how_to_get_one(known: Callable[..., None], tmp_path: Path) -> None:
    with pytest.raises(NoServer) as caught:
        find()
    assert "infinicon up" in caught.value.remedy
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("content", ["", "{", "[]", '{"url": "x"}', "null"])
def test_a_damaged_dev_json_is_no_traceback(known: Callable[..., None], tmp_path: Path, content: str) -> None:
    (tmp_path / "dev.json").write_text(content)
    with pytest.raises(NoServer):
        find(None, tmp_path)


@pytest.mark.parametrize(
    ("url", "key", "both"), [("ftp://x", "inf_k", False), ("http://x", "", False), ("http://x", "inf_k", True)]
)
def test_what_makes_no_sense_together(
    known: Callable[..., None], tmp_path: Path, url: str, key: str, *, both: bool
) -> None:
    known(api_key=key)
    with pytest.raises(WrongUsage) as caught:
        find(url, tmp_path if both else None)
    assert caught.value.exit_code == 2
