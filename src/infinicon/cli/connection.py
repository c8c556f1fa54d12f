"""Where a command finds its server: an address that is given, else a running `infinicon up`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infinicon.cli.faults import NoServer, WrongUsage
from infinicon.cli.place import DEV_FILE
from infinicon.settings import settings

DEFAULT_DATA_DIR = Path(".infinicon")


@dataclass(frozen=True, slots=True)
class Connection:
    """A server's root address and an API key. `data_dir` is that of the `up` it was found by."""

    url: str
    api_key: str
    data_dir: Path | None = None


def find(url: str | None = None, data_dir: Path | None = None) -> Connection:
    """What is given on the command line wins over the environment, an address over a data directory.

    Raises:
        NoServer: there is no running `up` in the data directory.
        WrongUsage: both are given, or an address without a key.
    """
    if url and data_dir:
        raise WrongUsage("--url and --data-dir are two servers", "give one of them")
    known = settings()
    address = url or (None if data_dir else known.url)
    if not address:
        return of_data_dir(data_dir or known.data_dir or DEFAULT_DATA_DIR)
    key = known.api_key.get_secret_value()
    if not address.startswith(("http://", "https://")):
        raise WrongUsage("the address must start with http:// or https://", "for example --url http://127.0.0.1:8420")
    if not key:
        raise WrongUsage("an address is given, and no key", "set INFINICON_API_KEY (or INFINICON_API_KEY_FILE)")
    return Connection(address.rstrip("/"), key)


def of_data_dir(directory: Path) -> Connection:
    """The `up` that runs there. Raises NoServer."""
    try:
        stored = json.loads((directory / DEV_FILE).read_text(encoding="utf-8"))
        return Connection(stored["url"], stored["apiKey"], directory)
    except FileNotFoundError:
        raise NoServer(
            f"no running infinicon in {directory}",
            f"start one with `infinicon up --data-dir {directory}`, or name a server by INFINICON_URL and INFINICON_API_KEY",
        ) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise NoServer(f"{directory / DEV_FILE} cannot be read", "is it yours, and written by this version?") from None


def database(data_dir: Path | None, of_running: Callable[[Path], str], role: str) -> tuple[str, Path | None]:
    """How to reach the database itself: INFINICON_OWNER_DATABASE_URL, else as `of_running` says of a running `up`, and where that is.

    Raises:
        NoServer: neither is there; `role` says who the address should name.
    """
    given = settings().owner_database_url.get_secret_value()
    if given and data_dir is None:
        return given, None
    directory = data_dir or settings().data_dir or DEFAULT_DATA_DIR
    if not (directory / DEV_FILE).exists():
        raise NoServer(
            f"no running infinicon in {directory}",
            f"start one, name its --data-dir, or set INFINICON_OWNER_DATABASE_URL to {role}",
        )
    return of_running(directory), directory
