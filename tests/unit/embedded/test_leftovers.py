"""Leftovers are known by their mark, never by a number that may meanwhile be another's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infinicon.embedded.leftovers import OWNER_VARIABLE, end_marked, marked_processes, postgres_processes
from tests.waiting import wait_until

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]
WITH_CHILD = [sys.executable, "-c", f"import subprocess; subprocess.run({SLEEPER!r})"]


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    children: list[subprocess.Popen[bytes]] = []
    yield children
    for child in children:
        child.kill()
        child.wait()


def environment(directory: Path) -> dict[str, str]:
    return {"PATH": os.defpath, OWNER_VARIABLE: str(directory)}


def test_children_and_grandchildren_end_and_those_of_others_stay(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    started += [
        subprocess.Popen(WITH_CHILD, env=environment(ours)),
        subprocess.Popen(SLEEPER, env=environment(theirs)),
    ]
    wait_until(lambda: len(marked_processes(ours)) == 2, "parent and child run")

    assert end_marked(ours) == 2
    assert marked_processes(ours) == []
    assert len(marked_processes(theirs)) == 1


def test_a_person_who_stands_in_the_data_directory_is_no_postgres(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    started.append(subprocess.Popen(SLEEPER, cwd=tmp_path))

    assert postgres_processes(tmp_path) == []


def test_no_data_directory_has_no_servers(tmp_path: Path) -> None:
    assert postgres_processes(tmp_path / "none") == []
