"""Settings: read once, frozen, and silent about values."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from infinicon.settings import (
    SECRETS,
    WHEN_WRONG,
    Settings,
    SettingsError,
    child_environment,
    load_settings,
    set_for_libraries,
)

VALUES = {
    "database_url": "postgresql://app@host/db",
    "owner_database_url": "postgresql+psycopg://owner@host/db",
    "sweeper_database_url": "postgres://sweeper@host/db",
    "results_database_url": "postgresql://results@/db?host=%2Frun",
    "broker_url": "rediss://:p%40ss@host:6380/0?ssl_cert_reqs=required",
}


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.upper().startswith("INFINICON_")]:
        monkeypatch.delenv(name)


def test_defaults_need_nothing() -> None:
    assert load_settings().port == 8420


def test_every_setting_says_what_it_is_and_what_a_wrong_value_does() -> None:
    assert list(WHEN_WRONG) == list(Settings.model_fields)
    assert all(field.description and field.description.endswith(".") for field in Settings.model_fields.values())
    assert all(text.endswith(".") for text in WHEN_WRONG.values())


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


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_every_secret_may_be_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text(VALUES.get(name, "k" * 40) + "\n")
    monkeypatch.setenv(f"INFINICON_{name.upper()}_FILE", str(tmp_path / "secret"))

    assert getattr(load_settings(), name).get_secret_value() == VALUES.get(name, "k" * 40)


def test_the_secrets_are_those_that_are_never_shown() -> None:
    assert {"database_url", "owner_database_url", "broker_url", "master_key", "flower_password", "api_key"} <= SECRETS


def test_a_secret_keeps_its_spaces_and_loses_its_line_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b" pass word \r\n\n")
    monkeypatch.setenv("infinicon_flower_password_file", str(tmp_path / "secret"))

    assert load_settings().flower_password.get_secret_value() == " pass word "


def test_the_variable_counts_and_the_file_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INFINICON_MASTER_KEY", "v" * 40)
    monkeypatch.setenv("INFINICON_MASTER_KEY_FILE", str(tmp_path / "nothing"))

    assert load_settings().master_key.get_secret_value() == "v" * 40


def test_an_empty_variable_leaves_it_to_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k" * 40)
    monkeypatch.setenv("INFINICON_MASTER_KEY", "")
    monkeypatch.setenv("INFINICON_MASTER_KEY_FILE", str(tmp_path / "key"))

    assert load_settings().master_key.get_secret_value() == "k" * 40


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (None, "cannot be read: No such file"),
        (b"\n", "is empty"),
        (b"CANARY-one\nCANARY-two", "has more than one line"),
        (b"CANARY\xff", "is no text"),
    ],
)
def test_a_file_without_a_secret_is_told_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, rule: str
) -> None:
    if content is not None:
        (tmp_path / "CANARY").write_bytes(content)
    monkeypatch.setenv("INFINICON_BROKER_URL_FILE", str(tmp_path / "CANARY"))

    with pytest.raises(SettingsError, match=f"^INFINICON_BROKER_URL_FILE: the file {rule}") as told:
        load_settings()

    assert "CANARY" not in str(told.value), "the variable may hold the secret itself"


def test_a_bad_value_from_a_file_is_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("CANARY")
    monkeypatch.setenv("INFINICON_MASTER_KEY_FILE", str(tmp_path / "key"))

    with pytest.raises(SettingsError, match=r"INFINICON_MASTER_KEY: .*32 characters") as told:
        load_settings()

    assert "CANARY" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("DATABASE_URL", "mysql://u:CANARY@h/d", "must start with postgresql://"),
        ("OWNER_DATABASE_URL", "host=h password=CANARY", "must start with postgresql://"),
        ("RESULTS_DATABASE_URL", "postgresql://u:CANARY/x@h:5432/d", "special characters of the password"),
        ("BROKER_URL", "http://CANARY", "must start with redis://, rediss://"),
        ("BROKER_URL", "redis://:CANARY#x@h:6379/0", "special characters of the password"),
    ],
)
def test_a_url_is_checked_before_a_library_stumbles_over_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, rule: str
) -> None:
    monkeypatch.setenv(f"INFINICON_{name}", value)

    with pytest.raises(SettingsError, match=f"INFINICON_{name}: .*{rule}") as told:
        load_settings()

    assert "CANARY" not in str(told.value)


def test_settings_are_frozen_and_print_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINICON_DATABASE_URL", "postgresql://u:CANARY-77@h/d")
    found = load_settings()

    assert "CANARY-77" not in repr(found)
    with pytest.raises(ValidationError):
        found.port = 1  # type: ignore[misc]  # the point of the test


def test_what_a_process_needs_is_told_by_name() -> None:
    with pytest.raises(SettingsError, match=r"INFINICON_DATABASE_URL, INFINICON_MASTER_KEY \(.*INFINICON_…_FILE"):
        load_settings().need("port", "database_url", "master_key")
    with pytest.raises(SettingsError, match=r"^not set: INFINICON_ENCODER_URL$"):
        load_settings().need("encoder_url")


def test_a_child_gets_no_secret_that_was_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINICON_OWNER_DATABASE_URL", "postgresql://owner")
    monkeypatch.setenv("infinicon_master_key", "k" * 32)
    monkeypatch.setenv("infinicon_Sweeper_Database_Url_File", "/run/secrets/sweeper")
    monkeypatch.setenv("INFINICON_BULK_WINDOW", "3")

    found = child_environment({"INFINICON_BROKER_URL": "redis://"})

    assert "INFINICON_OWNER_DATABASE_URL" not in found
    assert "infinicon_master_key" not in found
    assert "/run/secrets/sweeper" not in found.values()
    assert (found["INFINICON_BULK_WINDOW"], found["INFINICON_BROKER_URL"]) == ("3", "redis://")


def test_a_bare_environment_has_no_more_than_where_programs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")

    assert set(child_environment({"X": "1"}, bare=True)) <= {"PATH", "LD_LIBRARY_PATH", "X"}


def test_a_library_variable_that_a_person_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    set_for_libraries({"GOMP_SPINCOUNT": "0"})

    assert os.environ["GOMP_SPINCOUNT"] == "7"
