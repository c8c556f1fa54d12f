"""Own services: Postgres over TCP, and for each broker our processes beside it, started one by one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from infinicon.cli.instance import Instance
from tests.e2e.external.deployment import Deployment
from tests.e2e.external.postgres import postgres
from tests.e2e.external.servers import HOST, Broker, free_port, rabbitmq, redis

INTERACTIVE = ("api", "worker-cpu", "worker-interactive", "beat", "flower")
BESIDE = {
    "redis": (*INTERACTIVE, "worker-embed"),
    "rediss": INTERACTIVE,  # loading one more model would show nothing new about TLS
    "amqp": (*INTERACTIVE, "worker-embed", "worker-consolidate"),
}
"""What runs beside each broker, and the encoder, which needs none."""
BROKERS: dict[str, Callable[[Path], AbstractContextManager[Broker]]] = {
    "redis": lambda folder: redis(folder, tls=False),
    "rediss": lambda folder: redis(folder, tls=True),
    "amqp": rabbitmq,
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A deployment whose database is ready and whose encoder runs. No broker yet."""

    deployment: Deployment
    api_key: str


@dataclass(frozen=True, slots=True)
class Own:
    """All of it, with one broker."""

    kind: str
    broker: Broker
    deployment: Deployment
    instance: Instance


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """`infinicon secrets`, Postgres, `infinicon migrate --tenant`, and the encoder, which needs no broker."""
    folder = tmp_path_factory.mktemp("own")
    port, secrets = free_port(), folder / "secrets"
    made = [sys.executable, "-m", "infinicon.cli", "secrets", str(secrets), "--database", f"{HOST}:{port}"]
    subprocess.run(made, check=True, capture_output=True)
    server = folder / "postgres"
    server.mkdir()
    with postgres(server, port, (secrets / "postgres_init.sql").read_text()):
        deployment = Deployment(folder, secrets)
        api_key = deployment.run("migrate", "--tenant", "default", "--quiet").strip()
        deployment.start(["encoder"])
        try:
            yield Prepared(deployment, api_key)
        finally:
            deployment.stop()


@pytest.fixture(scope="session")
def own(request: pytest.FixtureRequest, prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """Everything, with the broker that the test names."""
    kind, deployment = request.param, prepared.deployment
    with BROKERS[kind](tmp_path_factory.mktemp(kind)) as broker:
        (deployment.secrets / "broker_url").write_text(broker.url + "\n")
        try:
            deployment.start(BESIDE[kind])
            yield Own(kind, broker, deployment, deployment.instance(prepared.api_key))
        finally:
            ended = deployment.stop(BESIDE[kind])
    assert set(ended.values()) == {0}, ended
