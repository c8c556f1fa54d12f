"""What a process hands on of its environment."""

from __future__ import annotations

import os

import pytest

from infinicon.settings import child_environment, set_for_libraries


def test_addresses_and_secrets_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINICON_MASTER_KEY", "secret")
    monkeypatch.setenv("INFINICON_MASTER_KEY_FILE", "/secret")
    monkeypatch.setenv("infinicon_broker_url", "secret")
    monkeypatch.setenv("INFINICON_MODEL", "path:/model")

    environment = child_environment({"INFINICON_ENCODER_URL": "unix:///own"})

    assert "secret" not in environment.values()
    assert "INFINICON_MASTER_KEY_FILE" not in environment
    assert environment["INFINICON_MODEL"] == "path:/model"
    assert environment["INFINICON_ENCODER_URL"] == "unix:///own"


def test_a_bare_one_is_where_programs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "secret")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)

    assert child_environment({"MARK": "1"}, bare=True) == {"PATH": os.environ["PATH"], "MARK": "1"}


def test_a_persons_own_choice_for_a_library_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)

    set_for_libraries({"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"})

    assert (os.environ["OMP_WAIT_POLICY"], os.environ["GOMP_SPINCOUNT"]) == ("ACTIVE", "0")
