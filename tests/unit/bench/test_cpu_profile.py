"""Processes by what they are."""

from __future__ import annotations

import pytest

from bench.cpu_profile import kind_of


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (["python", "-m", "infinicon.cli", "worker", "embed"], "worker embed"),
        (["python", "-m", "infinicon.cli", "api"], "api"),
        (["python", "-m", "bench", "--quick"], "bench"),
        (["/somewhere/bin/valkey-server", "unix:x"], "valkey"),
        (["postgres: autovacuum worker"], "postgres"),
        (["sleep", "1"], "other"),
        ([], "other"),
    ],
)
def test_a_process_is_named_for_its_command(command: list[str], kind: str) -> None:
    assert kind_of(command) == kind
