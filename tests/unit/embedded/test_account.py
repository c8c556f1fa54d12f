"""Who runs the servers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infinicon.embedded.account import Account, service_account


def test_an_ordinary_user_runs_them_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    assert service_account(tmp_path) is None


def test_root_lends_another_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)

    account = service_account(tmp_path / "none")

    assert account is not None
    assert account.uid != 0


def test_a_machine_without_those_accounts_has_one_anyway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("pwd.getpwnam", unknown)

    assert service_account(tmp_path / "none") == Account(65534, 65534)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_data_stays_with_its_owner(tmp_path: Path) -> None:
    Account(4321, 4322).own(tmp_path)

    assert service_account(tmp_path) == Account(4321, 4322)
