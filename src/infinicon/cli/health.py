"""Whether a process on this host does its work, asked from outside: the probe of containers and service managers."""

from __future__ import annotations

import http.client
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from infinicon.cli import exits
from infinicon.cli.faults import WrongUsage
from infinicon.cli.output import show_json
from infinicon.cli.place import url_of
from infinicon.settings import Settings, settings

PATIENCE_SECONDS = 5.0
BEAT_SECONDS = 30.0
"""Beat sends something every few seconds, whatever its settings; so long without means that it cannot."""


def run(process: str, kind: str | None, *, as_json: bool) -> None:
    """Say what is wrong and end with code 1, or end with 0.

    Raises:
        WrongUsage: a worker without its kind, or a kind of something else.
        SettingsError: a setting by which the process is found is not set.
    """
    if (kind is not None) != (process == "worker"):
        raise WrongUsage("a worker has a kind, and nothing else has", "for example: infinicon health worker cpu")
    wrong = CHECKS[process](settings(), kind or "")
    name = process if kind is None else f"{process} {kind}"
    if as_json:
        show_json({"process": name, "healthy": not wrong, **({"reason": wrong} if wrong else {})})
    else:
        print(f"{name}: {wrong or 'healthy'}")
    sys.exit(exits.FAILED if wrong else exits.FINE)


def _api(chosen: Settings, _kind: str) -> str:
    return _answers(url_of(chosen.host, chosen.port), "/readyz", http.HTTPStatus.OK)


def _encoder(chosen: Settings, _kind: str) -> str:
    from infinicon.encoder.client import EncoderClient

    chosen.need("encoder_url")
    with EncoderClient(chosen.encoder_url, token="none is needed") as client:  # noqa: S106 - readiness asks for no token
        return "" if client.ready() else "it does not answer"


def _worker(chosen: Settings, kind: str) -> str:
    from infinicon.tasks.ping import answering

    chosen.need("broker_url")
    # The name that the worker has given itself (tasks/process.py).
    node = f"{kind}@{socket.gethostname()}"
    found = answering(chosen.broker_url.get_secret_value(), timeout=PATIENCE_SECONDS, node=node)
    return "" if node in found else f"{node} does not answer through the broker"


def _beat(chosen: Settings, _kind: str) -> str:
    chosen.need("heartbeat_file")
    file = chosen.heartbeat_file
    assert file is not None
    return _age_of(file, time.time())


def _age_of(file: Path, now: float) -> str:
    try:
        age = now - file.stat().st_mtime
    except OSError as fault:
        return f"its heartbeat cannot be read: {fault.strerror}"
    return "" if age <= BEAT_SECONDS else f"it has sent nothing for {age:.0f} s"


def _flower(chosen: Settings, _kind: str) -> str:
    return _answers(url_of(chosen.flower_host, chosen.flower_port), "/", http.HTTPStatus.UNAUTHORIZED)


CHECKS: Mapping[str, Callable[[Settings, str], str]] = {
    "api": _api,
    "encoder": _encoder,
    "worker": _worker,
    "beat": _beat,
    "flower": _flower,
}
"""What is wrong with each, in words; nothing if it is healthy."""


def _answers(url: str, path: str, status: int) -> str:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", path)
        found = connection.getresponse().status
    except (OSError, http.client.HTTPException) as fault:
        return f"it does not answer ({type(fault).__name__})"
    finally:
        connection.close()
    return "" if found == status else f"it answers {path} with {found}"
