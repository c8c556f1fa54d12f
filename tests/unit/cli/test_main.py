"""The command line as a whole: light, and clear about what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

HEAVY = {"torch", "celery", "sqlalchemy", "psycopg", "fastapi", "tornado", "httpx", "numpy"}


def infinicon(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INFINICON_")}
    return subprocess.run(
        [sys.executable, "-m", "infinicon.cli", *arguments],
        env={**environment, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_every_process_of_the_list_is_a_command() -> None:
    shown = infinicon("--help").stdout

    for command in ("up", "demo", "api", "encoder", "worker", "beat", "flower", "migrate"):
        assert f" {command} " in shown


def test_the_version_is_that_of_the_package() -> None:
    done = infinicon("--version")

    assert (done.returncode, done.stdout) == (0, version("infinicon") + "\n")


@pytest.mark.parametrize("command", ["up", "demo"])
def test_an_unset_variable_is_no_data_dir(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = infinicon(command, "--data-dir", "")

    assert done.returncode == 2
    assert "must not be empty" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_loads_nothing_heavy() -> None:
    code = f"import sys, infinicon.cli.commands; print(sorted({HEAVY!r} & set(sys.modules)))"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"[]"


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["api"], "INFINICON_DATABASE_URL, INFINICON_SWEEPER_DATABASE_URL, INFINICON_BROKER_URL"),
        (["encoder"], "INFINICON_ENCODER_URL, INFINICON_MASTER_KEY"),
        (["worker", "embed"], "INFINICON_DATABASE_URL, INFINICON_RESULTS_DATABASE_URL"),
        (["beat"], "INFINICON_BROKER_URL"),
        (["flower"], "INFINICON_BROKER_URL, INFINICON_FLOWER_PASSWORD"),
        (["migrate"], "INFINICON_OWNER_DATABASE_URL"),
    ],
)
def test_missing_settings_are_one_line_and_code_2(arguments: list[str], missing: str) -> None:
    done = infinicon(*arguments)

    assert done.returncode == 2
    assert done.stderr.startswith(f"infinicon: not set: {missing}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_wrong_setting_is_named_without_its_value() -> None:
    done = infinicon("beat", INFINICON_PORT="CANARY-77")

    assert done.returncode == 2
    assert "INFINICON_PORT" in done.stderr
    assert "CANARY" not in done.stderr


def test_an_unknown_kind_of_worker_is_refused() -> None:
    done = infinicon("worker", "gpu")

    assert done.returncode == 2
    assert "interactive" in done.stderr
