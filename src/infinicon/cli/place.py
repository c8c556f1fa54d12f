"""The data directory of `infinicon up`: who holds it, where it answers, and what stands in dev.json."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infinicon.embedded.files import write_private
from infinicon.errors import Unavailable

DEV_FILE = "dev.json"
LOCK_FILE = "up.lock"
FLOWER_PORT_FILE = "flower.port"
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared with, not bound to


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Hold the directory against a second `up`. The kernel lets go of it when we end, however we end.

    Raises:
        Unavailable: another process holds it.
    """
    handle = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "r+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = file.read().strip() or "?"
            raise Unavailable(
                f"infinicon is already running on {directory} (process {holder}); stop it first, or choose another --data-dir"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
        file.truncate(0)


def free_port(host: str, port: int) -> int:
    """The port, if it can be bound now; a free one for 0.

    Raises:
        Unavailable: somebody listens there, or the address is not ours to bind.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            # As the server will bind it: connections that a former one left in TIME_WAIT are no obstacle.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            found: int = probe.getsockname()[1]
            return found
    except OSError as fault:
        if fault.errno == errno.EADDRINUSE:
            raise Unavailable(
                f"port {port} on {host} is in use by another program; choose another with --port"
            ) from None
        raise Unavailable(f"port {port} on {host} cannot be used: {fault.strerror}") from None


def flower_port(directory: Path, host: str) -> int:
    """The port of the last start if it is still free, so that an open page finds Flower again; else a free one, kept for the next."""
    file = directory / FLOWER_PORT_FILE
    try:
        port = free_port(host, int(file.read_text(encoding="ascii")))
    # A file that is not there or damaged, a number that is no port, a port that is taken: all mean another one.
    except (OSError, ValueError, OverflowError, Unavailable):
        port = free_port(host, 0)
    write_private(file, f"{port}\n")
    return port


def url_of(host: str, port: int) -> str:
    """How a client on this machine reaches what listens there."""
    reachable = _EVERYWHERE.get(host, host)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


@dataclass(frozen=True, slots=True)
class Dev:
    """What a program on this machine needs to talk to us."""

    url: str
    api_key: str
    tenant_id: str
    flower_url: str
    flower_user: str
    flower_password: str

    def publish(self, directory: Path) -> None:
        """Write DIR/dev.json, readable by its owner alone."""
        wire = {
            "url": self.url,
            "apiKey": self.api_key,
            "tenantId": self.tenant_id,
            "flowerUrl": self.flower_url,
            "flowerUser": self.flower_user,
            "flowerPassword": self.flower_password,
        }
        write_private(directory / DEV_FILE, json.dumps(wire, indent=2) + "\n")


def withdraw(directory: Path) -> None:
    """Remove dev.json, so that nobody talks to an address where we no longer are. Keys stay in secrets.json."""
    (directory / DEV_FILE).unlink(missing_ok=True)
