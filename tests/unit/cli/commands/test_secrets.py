"""`infinicon secrets`: commands, and the folder that it took before there were any."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from infinicon.cli import secret_values
from infinicon.cli.app import app
from infinicon.cli.commands import secrets
from infinicon.cli.faults import CommandFailed, WrongUsage


def called(*arguments: str) -> str:
    done = CliRunner().invoke(app, [str(secrets.secrets.info.name), *arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("words", [(), ("files",), ("--database", "db:1"), ("files", "--database", "db:1")])
def test_a_folder_is_filled_with_and_without_the_word(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = tmp_path / "new"
    called(*words, str(folder))
    host = "@db:1/" if "--database" in words else "@postgres:5432/"
    assert host in (folder / "database_url").read_text()


def test_its_help_names_the_commands() -> None:
    assert all(name in called("--help") for name in ("add", "list", "remove", "files"))


@pytest.mark.parametrize(
    ("raw", "value"), [(b"s3cret\n", "s3cret"), (b"s3cret\r\n", "s3cret"), (b" a\n\n", " a\n"), ("ß".encode(), "ß")]
)
def test_one_line_end_is_not_part_of_the_value(tmp_path: Path, raw: bytes, value: str) -> None:
    file = tmp_path / "secret"
    file.write_bytes(raw)
    assert secret_values.read(file) == value


def test_what_cannot_be_read_is_said_without_an_echo(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed):
        secret_values.read(tmp_path / "nothing")
    file = tmp_path / "secret"
    file.write_bytes(b"CANARY\xff")
    with pytest.raises(WrongUsage) as fault:
        secret_values.read(file)
    assert "CANARY" not in str(fault.value.message)
