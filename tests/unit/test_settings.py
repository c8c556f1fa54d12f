"""Settings: read once, frozen, and silent about values."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from infinicon.settings import SettingsError, child_environment, load_settings, set_for_libraries


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.upper().startswith("INFINICON_")]:
        monkeypatch.delenv(name)


def test_defaults_need_nothing() -> None:
    assert load_settings().port == 8420


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("INFINICON_PORT", "99999999", "65535"),
        ("INFINICON_MASTER_KEY", "CANARY-short", "32 characters"),
        ("INFINICON_ENCODER_URL", "ftp://CANARY", "unix:///"),
        ("INFINICON_LEASE_SECONDS", "CANARY", "number"),
    ],
)
def test_a_bad_value_is_told_by_name_and_rule_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, rule: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError) as told:
        load_settings()

    assert name in str(told.value)
    assert rule in str(told.value)
    assert value not in str(told.value)


def test_every_bad_value_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINICON_PORT", "-1")
    monkeypatch.setenv("INFINICON_BULK_WINDOW", "0")

    with pytest.raises(SettingsError, match=r"INFINICON_PORT.*INFINICON_BULK_WINDOW"):
        load_settings()


def test_an_empty_variable_is_an_unset_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINICON_PORT", "")

    assert load_settings().port == 8420


def test_the_master_key_may_be_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k" * 40 + "\n")
    monkeypatch.setenv("INFINICON_MASTER_KEY_FILE", str(tmp_path / "key"))

    assert load_settings().master_key.get_secret_value() == "k" * 40


def test_a_key_file_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INFINICON_MASTER_KEY_FILE", str(tmp_path / "nothing"))

    with pytest.raises(SettingsError, match="MASTER_KEY_FILE cannot be read"):
        load_settings()


def test_settings_are_frozen_and_print_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINICON_DATABASE_URL", "postgresql://u:CANARY-77@h/d")
    found = load_settings()

    assert "CANARY-77" not in repr(found)
    with pytest.raises(ValidationError):
        found.port = 1  # type: ignore[misc]  # the point of the test


def test_what_a_process_needs_is_told_by_name() -> None:
    with pytest.raises(SettingsError, match="INFINICON_DATABASE_URL, INFINICON_MASTER_KEY"):
        load_settings().need("port", "database_url", "master_key")


def test_a_child_gets_no_secret_that_was_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINICON_OWNER_DATABASE_URL", "postgresql://owner")
    monkeypatch.setenv("infinicon_master_key", "k" * 32)
    monkeypatch.setenv("INFINICON_BULK_WINDOW", "3")

    found = child_environment({"INFINICON_BROKER_URL": "redis://"})

    assert "INFINICON_OWNER_DATABASE_URL" not in found
    assert "infinicon_master_key" not in found
    assert (found["INFINICON_BULK_WINDOW"], found["INFINICON_BROKER_URL"]) == ("3", "redis://")


def test_a_bare_environment_has_no_more_than_where_programs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")

    assert set(child_environment({"X": "1"}, bare=True)) <= {"PATH", "LD_LIBRARY_PATH", "X"}


def test_a_library_variable_that_a_person_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    set_for_libraries({"GOMP_SPINCOUNT": "0"})

    assert os.environ["GOMP_SPINCOUNT"] == "7"
