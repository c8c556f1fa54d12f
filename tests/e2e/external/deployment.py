"""docker-compose.yml without containers: its services as plain processes, with its command lines, settings and health checks.

Names of services become this host, ports free ones, /run/secrets a folder; infinicon.env is TUNING, and nothing else is changed. What
runs in the small image runs without the model libraries.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from infinicon.cli.instance import Instance
from infinicon.embedded import launch
from tests.e2e.external.servers import HOST, free_port
from tests.waiting import wait_until

ROOT = Path(__file__).parents[3]
TUNING = {"INFINICON_REPUBLISH_AFTER": "3"}  # so that a test need not wait half a minute for what a broker has lost
PROGRAM = [sys.executable, "-m", "infinicon.cli"]


class Deployment:
    """Services of docker-compose.yml that run here. `secrets` is a folder that `infinicon secrets` has filled."""

    def __init__(self, folder: Path, secrets: Path) -> None:
        self.secrets = secrets
        self._folder = folder
        compose: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
        self._services: dict[str, dict[str, Any]] = compose["services"]
        ports = {name: free_port() for name in ("encoder", "api", "flower")}
        self._places = {
            "INFINICON_ENCODER_URL": f"http://{HOST}:{ports['encoder']}",
            "INFINICON_HOST": HOST,
            "INFINICON_PORT": str(ports["api"]),
            "INFINICON_FLOWER_HOST": HOST,
            "INFINICON_FLOWER_PORT": str(ports["flower"]),
            "INFINICON_HEARTBEAT_FILE": str(folder / "beat.heartbeat"),
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def environment(self, name: str) -> dict[str, str]:
        """The whole environment of a service's process."""
        service = self._services[name]
        given = {key: self._places.get(key, value) for key, value in service["environment"].items()}
        found = {key: value.replace("/run/secrets", str(self.secrets)) for key, value in given.items()}
        if service["build"]["dockerfile"] == "beat/Dockerfile":
            found["PYTHONPATH"] = str(ROOT / "tests" / "bare")
        return {"PATH": os.environ["PATH"], "PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1", **TUNING, **found}

    def run(self, name: str, *more: str) -> str:
        """A service that ends by itself, to its end; its standard output."""
        done = subprocess.run(
            [*PROGRAM, *self._services[name]["command"], *more],
            env=self.environment(name),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, names: Iterable[str]) -> None:
        """Start services and wait until each is healthy."""
        started = list(names)
        for name in started:
            with self.log(name).open("ab") as log:
                self._running[name] = subprocess.Popen(
                    # It ends with us, however we end.
                    launch.command([*PROGRAM, *self._services[name]["command"]], death_signal=signal.SIGKILL),
                    env=self.environment(name),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
        for name in started:
            self.wait_until_healthy(name)

    def wait_until_healthy(self, name: str) -> None:
        """As the container's health check says."""
        test = self._services[name]["healthcheck"]["test"]
        assert test[:2] == ["CMD", "infinicon"]
        command = [*PROGRAM, *test[2:]]

        def healthy() -> bool:
            assert self._running[name].poll() is None, self.log(name).read_text(errors="replace")[-3000:]
            asked = subprocess.run(command, env=self.environment(name), capture_output=True, check=False)
            return asked.returncode == 0

        wait_until(healthy, f"{name} is healthy", within=240, every=0.5)

    def stop(self, names: Iterable[str] | None = None) -> Mapping[str, int]:
        """SIGTERM to each, and their exit codes; what does not end in time is killed, and says so by its code."""
        wanted = list(self._running if names is None else names)
        stopped = {name: self._running.pop(name) for name in wanted if name in self._running}
        for process in stopped.values():
            process.send_signal(signal.SIGTERM)
        return {name: _ended(process) for name, process in stopped.items()}

    def log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def instance(self, api_key: str) -> Instance:
        """For the clients that tests use."""
        return Instance(
            url=f"http://{HOST}:{self._places['INFINICON_PORT']}",
            api_key=api_key,
            tenant_id="default",
            flower_url=f"http://{HOST}:{self._places['INFINICON_FLOWER_PORT']}",
            flower_user="operator",
            flower_password=(self.secrets / "flower_password").read_text().strip(),
            data_dir=self._folder,
            pid=0,
        )


def _ended(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
