"""The broker: Valkey on a Unix socket, with a password, in memory only. What it holds can be lost; the truth is in Postgres."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from urllib.parse import quote

from infinicon.embedded import launch
from infinicon.embedded.account import Account
from infinicon.embedded.binaries import valkey_server
from infinicon.embedded.child import ChildSpec
from infinicon.settings import child_environment

SOCKET = "valkey.sock"
MAX_MEMORY = "512mb"


class Valkey:
    """The server whose socket is in the folder `sockets`."""

    def __init__(self, sockets: Path, account: Account | None, password: str) -> None:
        self._sockets = sockets
        self._account = account
        self._password = password

    @property
    def path(self) -> Path:
        return self._sockets / SOCKET

    @property
    def url(self) -> str:
        """For kombu, which takes the password of a socket from the place of the user (a `password=` in the query is dropped)."""
        return f"redis+socket://:{quote(self._password, safe='')}@{quote(str(self.path))}?virtual_host=0"

    def spec(self, marks: dict[str, str]) -> ChildSpec:
        program = valkey_server()
        command = launch.command(
            [str(program), "-"],
            death_signal=signal.SIGKILL,
            account=self._account.ids if self._account else None,
            reach=[str(program), str(self._sockets)],
        )
        return ChildSpec(
            name="valkey",
            command=command,
            environment=child_environment(marks, bare=True),
            stdin=self._configuration().encode(),
            stop=((signal.SIGTERM, 2.0),),
            layer=0,
            directory=Path("/"),
        )

    def is_ready(self) -> bool:
        """Whether it answers a ping from somebody who knows the password."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            try:
                connection.connect(str(self.path))
                connection.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                answer = b""
                while answer.count(b"\r\n") < 2:
                    part = connection.recv(256)
                    if not part:
                        return False
                    answer += part
            except OSError:
                return False
        return answer == b"+OK\r\n+PONG\r\n"

    def _configuration(self) -> str:
        """Read from standard input, so that the password is neither in the argument list nor in a file."""
        lines = {
            "port": "0",
            "unixsocket": _quoted(str(self.path)),
            "unixsocketperm": "700",
            "requirepass": self._password,
            "dir": _quoted(str(self._sockets)),
            "save": '""',
            "appendonly": "no",
            "maxmemory": MAX_MEMORY,
            # An eviction would lose a message silently; a refused write is retried by whoever publishes.
            "maxmemory-policy": "noeviction",
            "shutdown-on-sigterm": "nosave now",
            "daemonize": "no",
            # A changed title would overwrite the environment, by which a start after a kill finds what is left.
            "set-proc-title": "no",
            "loglevel": "notice",
        }
        return "".join(f"{name} {value}\n" for name, value in lines.items())


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
