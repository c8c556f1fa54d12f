"""Brokers that are not ours: Debian's Redis and RabbitMQ, each on free ports, with data and logs in a folder of the test."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from infinicon.embedded import launch
from tests.waiting import wait_until

HOST = "127.0.0.1"
RABBITMQ = Path(
    "/usr/lib/rabbitmq/bin"
)  # Debian's; what is in the PATH changes to an account that owns the system's server
AWKWARD_PASSWORD = "p@ss:/#%?w"


def needed(program: str, package: str) -> str:
    """Where a program is. A missing one skips on a laptop, and fails in CI, which installs it."""
    found = shutil.which(program)
    if found is None:
        reason = f"{program} is not installed (Debian: apt-get install {package})"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


@dataclass
class Server:
    """A child process that can be stopped and started again on the same ports."""

    command: list[str]
    folder: Path
    port: int
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                # It ends with us, however we end.
                launch.command(self.command, death_signal=signal.SIGKILL),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"], **self.environment},
                start_new_session=True,
            )
        wait_until(lambda: self._alive() and answers(self.port), f"{self.command[0]} listens", within=90)

    def _alive(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError((self.folder / "server.log").read_text(errors="replace")[-2000:])
        return True

    def stop(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGCONT)


@dataclass
class Broker:
    """A broker and the URL by which everything reaches it."""

    url: str
    server: Server


@contextlib.contextmanager
def redis(folder: Path, *, tls: bool) -> Iterator[Broker]:
    """Redis in memory only, with a password that a URL has to quote; with `tls`, and a certificate of our own, on nothing but TLS."""
    program = needed("redis-server", "redis-server")
    port = free_port()
    lines = [f"bind {HOST}", f'requirepass "{AWKWARD_PASSWORD}"', 'save ""', "appendonly no", f'dir "{folder}"']
    url = f"redis://:{quote(AWKWARD_PASSWORD, safe='')}@{HOST}:{port}/0"
    if tls:
        certificate, key = _certificate(folder)
        lines += ["port 0", f"tls-port {port}", f"tls-cert-file {certificate}", f"tls-key-file {key}"]
        lines += [f"tls-ca-cert-file {certificate}", "tls-auth-clients no"]
        url = (
            f"rediss{url.removeprefix('redis')}?ssl_cert_reqs=required&ssl_ca_certs={quote(str(certificate), safe='')}"
        )
    else:
        lines += [f"port {port}"]
    configuration = folder / "redis.conf"
    configuration.write_text("\n".join(lines) + "\n")
    yield from _running(Broker(url, Server([program, str(configuration)], folder, port)))


@contextlib.contextmanager
def rabbitmq(folder: Path) -> Iterator[Broker]:
    """RabbitMQ with a user and a virtual host of its own, and a name server that is not the system's."""
    needed("rabbitmq-server", "rabbitmq-server")
    epmd = needed("epmd", "rabbitmq-server")
    port, names = free_port(), Server([epmd, "-address", HOST, "-port", str(free_port())], folder, 0)
    names.port = int(names.command[-1])
    password = AWKWARD_PASSWORD.replace("#", "")  # its configuration has no way to write this one
    configuration = folder / "rabbitmq.conf"
    configuration.write_text(
        f"listeners.tcp.1 = {HOST}:{port}\ndefault_user = infinicon\ndefault_pass = {password}\n"
        "default_vhost = memory\nconsumer_timeout = 60000\n"
    )
    environment = {
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(names.port),
        "ERL_EPMD_ADDRESS": HOST,
        "RABBITMQ_NODENAME": f"infinicon{port}@localhost",
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_CONFIG_FILE": str(configuration),
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "RABBITMQ_PID_FILE": str(folder / "pid"),
        # As under systemd its script becomes the server, instead of waiting for it: then it is our child, and ends with us.
        "NOTIFY_SOCKET": str(folder / "notify"),
    }
    (folder / "enabled_plugins").write_text("[].\n")
    cookie = folder / ".erlang.cookie"
    cookie.write_text(secrets.token_hex(16))
    cookie.chmod(0o400)
    url = f"amqp://infinicon:{quote(password, safe='')}@{HOST}:{port}/memory"
    names.start()
    try:
        server = Server([str(RABBITMQ / "rabbitmq-server")], folder, port, environment)
        yield from _running(Broker(url, server))
    finally:
        names.stop()


def rabbitmq_says(broker: Broker, *arguments: str) -> str:
    """What rabbitmqctl answers about this server."""
    done = subprocess.run(
        [str(RABBITMQ / "rabbitmqctl"), "--quiet", *arguments],
        env={"PATH": os.environ["PATH"], **broker.server.environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def _running(broker: Broker) -> Iterator[Broker]:
    broker.server.start()
    try:
        yield broker
    finally:
        broker.server.stop()


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate that vouches for itself, for this address, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths
