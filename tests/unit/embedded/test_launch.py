"""The launcher: a child dies with its parent, and root is given up for good."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from infinicon.embedded import launch
from tests.waiting import wait_until

STATUS = ["/bin/cat", "/proc/self/status"]  # every account can run it, wherever our Python lives
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give root up")


def test_the_program_gets_its_arguments_as_they_are() -> None:
    program = [sys.executable, "-I", "-c", "import sys; print(sys.argv[1:])", "--parent", "--", "a b"]

    done = subprocess.run(launch.command(program, death_signal=signal.SIGKILL), capture_output=True, check=True)

    assert done.stdout.decode().strip() == "['--parent', '--', 'a b']"


def test_a_program_that_is_not_there_is_named() -> None:
    done = subprocess.run(
        launch.command(["/no/such/program"], death_signal=signal.SIGKILL), capture_output=True, check=False
    )

    assert done.returncode == launch.NOT_FOUND
    assert done.stderr.decode() == "/no/such/program: not found\n"


def test_a_child_whose_parent_is_gone_already_does_not_start() -> None:
    command = launch.command(STATUS, death_signal=signal.SIGKILL)
    command[command.index("--parent") + 1] = "1"

    done = subprocess.run(command, capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (launch.CANNOT_START, b"")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_child_dies_with_a_parent_that_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    report = tmp_path / "child"
    child = f"import os, time; open({str(report)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    code = (
        "import subprocess, sys; from infinicon.embedded import launch; "
        f"subprocess.run(launch.command([sys.executable, '-I', '-c', {child!r}], death_signal={int(number)}))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    pid = int(wait_until(lambda: report.exists() and report.read_text(), "the child runs"))

    parent.kill()
    parent.wait()

    wait_until(lambda: not _runs(pid), "the child is gone")


@as_root
def test_root_is_given_up_with_every_right() -> None:
    done = subprocess.run(
        launch.command(STATUS, death_signal=signal.SIGKILL, account=(65534, 65534), reach=["/"]),
        capture_output=True,
        check=True,
        cwd="/",
    )
    output = done.stdout.decode()

    assert "Uid:\t65534\t65534\t65534\t65534" in output
    assert "Gid:\t65534\t65534\t65534\t65534" in output
    assert "Groups:\t \n" in output
    assert _mask(output, "CapEff") == _mask(output, "CapPrm") == _mask(output, "CapAmb") == 0
    assert "NoNewPrivs:\t1" in output


@as_root
def test_a_closed_folder_is_passed_with_one_right_and_stays_closed(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    data = closed / "data"
    data.mkdir(parents=True)
    closed.chmod(0o700)

    done = subprocess.run(
        launch.command(STATUS, death_signal=signal.SIGKILL, account=(65534, 65534), reach=[str(data)]),
        capture_output=True,
        check=True,
        cwd="/",
    )
    output = done.stdout.decode()

    assert _mask(output, "CapEff").bit_count() == 1
    assert _mask(output, "CapEff") == _mask(output, "CapPrm") == _mask(output, "CapAmb")
    assert closed.stat().st_mode & 0o777 == 0o700


@as_root
def test_what_cannot_be_reached_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        launch.command(STATUS, death_signal=signal.SIGKILL, account=(65534, 65534), reach=[str(tmp_path / "none")]),
        capture_output=True,
        check=False,
    )

    assert done.returncode == launch.CANNOT_START
    assert b"cannot reach all of" in done.stderr


def _mask(status: str, name: str) -> int:
    return next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith(f"{name}:"))


def _runs(pid: int) -> bool:
    return psutil.pid_exists(pid) and bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
