"""`infinicon up` as a person meets it: one line when it is ready, nothing left when it has stopped."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from infinicon.cli.instance import Instance
from infinicon.embedded.leftovers import marked_processes, postgres_processes
from infinicon.embedded.processes import MODEL_ENVIRONMENT, PROCESSES, WORKER_KINDS, Process
from infinicon.settings import PREFIX, Settings
from tests.waiting import wait_until

ADDRESSES_AND_SECRETS = {
    PREFIX + name.upper() for name in Settings.model_fields if name.endswith(("_url", "_key", "_password"))
}


def start(data_dir: Path, port: int, errors: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "infinicon.cli", "up", "--data-dir", str(data_dir), "--port", str(port)]
    with errors.open("w") as log:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)


def finish(child: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Exit code and standard output after a signal; fails where it takes longer than promised."""
    child.send_signal(number)
    output, _ = child.communicate(timeout=15)
    return child.returncode, output


def nothing_left(data_dir: Path) -> bool:
    return not marked_processes(data_dir.resolve()) and not postgres_processes(data_dir / "postgres")


def test_a_busy_port_is_refused_before_anything_starts(live: Instance, tmp_path: Path) -> None:
    port = live.url.rsplit(":", 1)[1]
    done = subprocess.run(
        [sys.executable, "-m", "infinicon.cli", "up", "--data-dir", str(tmp_path / "new"), "--port", port],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 is in use" in done.stderr
    assert not (tmp_path / "new" / "postgres").exists()
    assert not (tmp_path / "new" / "secrets.json").exists()


def test_what_it_writes_is_for_its_owner_alone(live: Instance) -> None:
    for name in ("dev.json", "secrets.json", "up.lock"):
        assert stat.S_IMODE((live.data_dir / name).stat().st_mode) == 0o600
    for name in ("postgres", "logs", "run"):
        assert stat.S_IMODE((live.data_dir / name).stat().st_mode) == 0o700


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_processes_run_as_the_list_says(live: Instance, process: Process) -> None:
    wanted = ["-m", "infinicon.cli", *process.argv]
    found = [child for child in psutil.Process(live.pid).children() if child.cmdline()[1:] == wanted]

    assert len(found) == 1
    environment = found[0].environ()
    assert ADDRESSES_AND_SECRETS & set(environment) == {PREFIX + name.upper() for name in process.settings}
    assert all(environment.get(name) == value for name, value in process.environment.items())
    assert process.environment in ({}, MODEL_ENVIRONMENT)


def test_nothing_but_api_and_flower_listens_and_only_here(live: Instance) -> None:
    listening = {
        (connection.laddr.ip, f"http://127.0.0.1:{connection.laddr.port}")
        for child in psutil.Process(live.pid).children(recursive=True)
        for connection in child.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }

    assert listening == {("127.0.0.1", live.url), ("127.0.0.1", live.flower_url)}


def test_no_secret_is_in_an_argument_list_or_a_log(live: Instance) -> None:
    secrets = (live.data_dir / "secrets.json").read_text().split('"')[3::4]
    arguments = [" ".join(child.cmdline()) for child in psutil.Process(live.pid).children(recursive=True)]
    logs = [path.read_text(errors="replace") for path in (live.data_dir / "logs").iterdir()]

    assert len(secrets) == 9
    assert not [secret for secret in secrets for text in [*arguments, *logs] if secret in text]


def test_one_line_then_a_clean_stop_and_the_same_key_again(tmp_path: Path) -> None:
    data_dir, errors = tmp_path / "data", tmp_path / "errors"
    child = start(data_dir, 0, errors)
    wait_until((data_dir / "dev.json").exists, "it is ready", within=180)
    instance = Instance.read(data_dir, child.pid)

    code, output = finish(child, signal.SIGINT)

    assert (code, output) == (0, f"infinicon is ready: {instance.url}\n")
    assert "Traceback" not in errors.read_text()
    assert "does not stop by itself" not in errors.read_text()
    assert nothing_left(data_dir)
    assert sorted(path.name for path in data_dir.iterdir()) == [
        "flower.port",
        "logs",
        "postgres",
        "secrets.json",
        "up.lock",
    ]
    assert instance.api_key in (data_dir / "secrets.json").read_text()


def test_workers_do_not_warn_of_root(live: Instance) -> None:
    logs = [path.read_text(errors="replace") for path in (live.data_dir / "logs").glob("worker-*.log")]

    assert len(logs) == len(WORKER_KINDS)
    assert not [log for log in logs if "superuser" in log]


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("starting Postgres", signal.SIGTERM),
        ("preparing the database", signal.SIGINT),
        ("starting API", signal.SIGTERM),
    ],
)
def test_told_to_stop_while_it_starts(tmp_path: Path, line: str, number: signal.Signals) -> None:
    data_dir, errors = tmp_path / "data", tmp_path / "errors"
    child = start(data_dir, 0, errors)
    wait_until(lambda: line in errors.read_text(), line, within=60)

    assert finish(child, number) == (0, "")
    assert "Traceback" not in errors.read_text()
    assert nothing_left(data_dir)


def test_told_to_stop_before_it_does_anything(tmp_path: Path) -> None:
    child = start(tmp_path / "data", 0, tmp_path / "errors")
    handled = f"{1 << (signal.SIGTERM - 1):x}"
    wait_until(lambda: _caught(child.pid) & int(handled, 16), "it listens", every=0.005)

    assert finish(child, signal.SIGTERM) == (0, "")
    assert "Traceback" not in (tmp_path / "errors").read_text()


def _caught(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt:"))
