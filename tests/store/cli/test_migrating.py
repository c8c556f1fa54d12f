"""`infinicon migrate` as a person and a script meet it."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

from infinicon.cli import migrating
from infinicon.cli.faults import WrongUsage
from infinicon.operations.keys import authenticate
from infinicon.settings import Settings, SettingsError
from infinicon.store.database import Database
from infinicon.store.migrate import HEAD
from tests.conftest import Cluster


@pytest.fixture
def environment(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINICON_OWNER_DATABASE_URL", cluster.owner_url)
    monkeypatch.setenv("INFINICON_DATABASE_URL", cluster.app_url)
    monkeypatch.setenv("INFINICON_RESULTS_DATABASE_URL", cluster.results_url)
    monkeypatch.setattr(migrating, "settings", Settings)


@pytest.mark.usefixtures("environment")
def test_notes_tell_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    migrating.run(None, quiet=False, as_json=False)

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        f"the schema is at {HEAD}",
        "INFINICON_DATABASE_URL gets in, as infinicon_app",
        "INFINICON_RESULTS_DATABASE_URL gets in, as infinicon_results",
    ]


@pytest.mark.usefixtures("environment")
def test_quiet_prints_the_key_and_nothing_else_and_only_once(capsys: pytest.CaptureFixture[str], app: Database) -> None:
    tenant = f"tenant-{uuid4()}"

    migrating.run(tenant, quiet=True, as_json=False)
    first = capsys.readouterr()
    migrating.run(tenant, quiet=True, as_json=False)
    second = capsys.readouterr()

    assert first.err == ""
    assert authenticate(app, first.out.removesuffix("\n")).tenant_name == tenant
    assert (second.out, second.err) == ("", "")


@pytest.mark.usefixtures("environment")
def test_notes_do_not_name_the_tenant(capsys: pytest.CaptureFixture[str]) -> None:
    """They travel to logs of whatever runs migrations."""
    tenant = f"tenant-{uuid4()}"

    for _ in range(2):
        migrating.run(tenant, quiet=False, as_json=False)

    told = capsys.readouterr()
    assert "keep it now" in told.err
    assert "has a key already" in told.err
    assert tenant not in told.err + told.out


@pytest.mark.usefixtures("environment")
def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    migrating.run(f"tenant-{uuid4()}", quiet=True, as_json=True)

    told = json.loads(capsys.readouterr().out)
    assert told.pop("apiKey").startswith("inf_")
    assert told == {"schema": HEAD, "logins": ["infinicon_app", "infinicon_results"]}


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("tenant", ["", "  ", "x" * 257])
def test_a_name_that_is_none_changes_nothing(tenant: str) -> None:
    with pytest.raises(WrongUsage):
        migrating.run(tenant, quiet=True, as_json=False)


def test_the_owners_url_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "settings", lambda: Settings(owner_database_url=""))  # type: ignore[arg-type] # parsed

    with pytest.raises(SettingsError, match="INFINICON_OWNER_DATABASE_URL"):
        migrating.run(None, quiet=True, as_json=False)
