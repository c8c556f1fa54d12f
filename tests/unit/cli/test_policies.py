"""What a person says of a policy, and what is asked of the server."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from infinicon.cli import policies
from infinicon.cli.app import app
from infinicon.cli.commands import deletion  # noqa: F401 (registers the command)
from infinicon.cli.faults import WrongUsage


@pytest.mark.parametrize(
    ("words", "namespace", "expected"),
    [
        (["home"], None, ("home", [])),
        (["home", "audit=1d"], None, ("home", ["audit=1d"])),
        (["audit=1d"], "home", ("home", ["audit=1d"])),
        ([], "home", ("home", [])),
    ],
)
def test_the_namespace_comes_first_or_as_an_option(words: list[str], namespace: str | None, expected: object) -> None:
    assert policies.place_of(words, namespace) == expected


@pytest.mark.parametrize(("words", "namespace"), [(["home"], "other"), (["audit"], "home"), ([], None)])
def test_it_comes_once(words: list[str], namespace: str | None) -> None:
    with pytest.raises(WrongUsage):
        policies.place_of(words, namespace)


@pytest.mark.parametrize(
    ("option", "value", "wire", "expected"),
    [
        ("consolidate-schedule", "0 3 * * *", "consolidationSchedule", "0 3 * * *"),
        ("consolidate-schedule", "15m", "consolidationSchedule", 900),
        ("consolidate-schedule", "none", "consolidationSchedule", None),
        ("consolidate-threshold", "200", "consolidationThreshold", 200),
        ("consolidate-threshold", "none", "consolidationThreshold", None),
        ("consolidate-max-age", "12h", "consolidationMaxAgeSeconds", 43_200),
        ("consolidate-idle", "30m", "consolidationIdleSeconds", 1_800),
        ("consolidate-width", "session", "consolidationWidth", "session"),
        ("consolidate-width", "none", "consolidationWidth", "agent"),
        ("redact-credentials", "on", "redactCredentials", True),
        ("redact-credentials", "none", "redactCredentials", False),
    ],
)
def test_each_option_is_a_member_and_may_stand_as_a_pair(option: str, value: str, wire: str, expected: Any) -> None:
    assert policies.changes_of([], {option: value, "consolidate-idle-other": None}) == {wire: expected}
    assert policies.changes_of([f"{option}={value}"], {}) == {wire: expected}


@pytest.mark.parametrize("pair", ["colour=1d", "consolidate-threshold=-1", "consolidate-threshold=2.5", "audit"])
def test_what_is_no_member(pair: str) -> None:
    with pytest.raises(WrongUsage):
        policies.changes_of([pair], {})


def test_a_change_changes_something() -> None:
    with pytest.raises(WrongUsage):
        policies.changes_of([], {"consolidate-schedule": None})


def test_every_member_is_named_by_the_help_of_the_command() -> None:
    shown = "".join(CliRunner().invoke(app, ["policy", "set", "--help"]).output.split())  # lines end at hyphens

    assert [name for name in policies.POLICY if name not in shown] == []


def test_a_switch_says_what_it_may_be() -> None:
    with pytest.raises(WrongUsage) as caught:
        policies.changes_of(["redact-credentials=maybe"], {})

    assert caught.value.message == "redact-credentials is on or off"


def test_a_schedule_says_what_it_may_be() -> None:
    with pytest.raises(WrongUsage) as caught:
        policies.changes_of([], {"consolidate-schedule": "whatever"})

    assert "crontab" in caught.value.message


def test_what_is_shown_has_its_own_unit(capsys: pytest.CaptureFixture[str]) -> None:
    policy = {"consolidationThreshold": 25, "consolidationSchedule": 900, "consolidationIdleSeconds": 60}
    policies._show({"policy": policy}, as_json=False)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]

    assert ["consolidate-threshold", "25", "atoms"] in rows
    assert ["consolidate-schedule", "900", "s"] in rows
    assert ["consolidate-idle", "60", "s"] in rows
    assert ["consolidate-max-age", "86400", "s"] in rows
