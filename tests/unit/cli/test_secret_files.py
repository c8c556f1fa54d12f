"""`infinicon secrets`: what it writes, whom it lets read, and that it never writes over anything."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from infinicon.cli import secret_files
from infinicon.cli.faults import CommandFailed, WrongUsage
from infinicon.cli.secret_files import GROUPS, run, scram_verifier
from infinicon.embedded import bootstrap, postgres
from infinicon.settings import SECRETS, Settings

NAMES = {name for group in GROUPS for name in group}


def make(folder: Path) -> None:
    run(folder, database="db.example:6432", broker="valkey:6379", as_json=False)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_every_file_is_its_owners_alone(tmp_path: Path) -> None:
    make(tmp_path / "a" / "secrets")

    files = list((tmp_path / "a" / "secrets").iterdir())
    assert {path.name for path in files} == NAMES
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "a" / "secrets").stat().st_mode) == 0o700


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    make(tmp_path)

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_settings_take_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path)
    for name in NAMES & SECRETS:
        monkeypatch.setenv(f"INFINICON_{name.upper()}_FILE", str(tmp_path / name))

    found = Settings()

    assert {"api_key"} == SECRETS - NAMES, "an API key is made in the database, not here"
    url = urlsplit(found.sweeper_database_url.get_secret_value())
    assert (url.username, url.hostname, url.port, url.path) == ("infinicon_sweeper", "db.example", 6432, "/infinicon")
    assert found.broker_url.get_secret_value().endswith("@valkey:6379/0")


def test_files_of_one_secret_agree_and_others_differ(tmp_path: Path) -> None:
    make(tmp_path)

    found = contents(tmp_path)
    assert f"requirepass {urlsplit(found['broker_url']).password}\n" == found["valkey.conf"]
    passwords = {urlsplit(found[name].strip()).password for name in found if name.endswith("_url")}
    assert len(passwords) == 5
    assert not [word for word in passwords if word and word in found["postgres_init.sql"]], (
        "only verifiers of passwords"
    )


def test_running_it_again_changes_nothing_and_brings_back_what_is_missing(tmp_path: Path) -> None:
    make(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "flower_password").unlink()

    make(tmp_path)

    after = contents(tmp_path)
    assert after.pop("flower_password") != before.pop("flower_password")
    assert after == before


@pytest.mark.parametrize("gone", ["postgres_init.sql", "owner_database_url", "valkey.conf", "broker_url"])
def test_half_of_a_pair_is_not_made_anew(tmp_path: Path, gone: str) -> None:
    make(tmp_path)
    (tmp_path / gone).unlink()

    with pytest.raises(CommandFailed, match=f"and {gone}, which belongs to it, is not"):
        make(tmp_path)

    assert not (tmp_path / gone).exists()


def test_no_secret_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, database="db", broker="valkey", as_json=True)

    told = capsys.readouterr()
    assert json.loads(told.out)["made"] == [name for group in GROUPS for name in group]
    words = [word for text in contents(tmp_path).values() for word in text.split() if len(word) > 40]
    assert words
    assert not [word for word in words if word in told.out + told.err]


@pytest.mark.parametrize("host", ["", " ", "user@host", "host/path", "a b"])
def test_a_host_that_is_none_is_refused_before_anything_is_made(tmp_path: Path, host: str) -> None:
    with pytest.raises(WrongUsage):
        run(tmp_path / "new", database=host, broker="valkey", as_json=False)

    assert not (tmp_path / "new").exists()


def test_names_are_those_of_the_embedded_start() -> None:
    """Data moves from one to the other without a change of owner."""
    assert (secret_files.OWNER, secret_files.DATABASE) == (bootstrap.OWNER, postgres.DATABASE)


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(CommandFailed, match="cannot be written: Not a directory"):
        make(tmp_path / "file" / "secrets")


def test_the_verifier_is_that_of_the_standard() -> None:
    """RFC 7677, section 3: the example exchange of SCRAM-SHA-256."""
    import base64

    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")

    assert scram_verifier("pencil", salt, 4096) == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ=="
        "$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )
