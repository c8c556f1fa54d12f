"""The secrets of one data directory: made at the first start, kept for ever, readable by their owner alone."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from infinicon.embedded.files import write_private
from infinicon.errors import MissingDependency

FILE = "secrets.json"


def _password() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Secrets:
    """What DIR/secrets.json holds. All are URL-safe words; none is ever printed or given in an argument list."""

    api_key: str = field(repr=False)
    master_key: str = field(default_factory=_password, repr=False)
    superuser_password: str = field(default_factory=_password, repr=False)
    owner_password: str = field(default_factory=_password, repr=False)
    app_password: str = field(default_factory=_password, repr=False)
    sweeper_password: str = field(default_factory=_password, repr=False)
    results_password: str = field(default_factory=_password, repr=False)
    broker_password: str = field(default_factory=_password, repr=False)
    flower_password: str = field(default_factory=_password, repr=False)


def load_or_create(directory: Path, *, new_api_key: Callable[[], str], has_data: bool) -> Secrets:
    """Read DIR/secrets.json, or make it. A secret that an older release did not know is added.

    Raises:
        MissingDependency: the file cannot be read, or it is gone while data made with its master key is still there.
    """
    path = directory / FILE
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(kept, dict):
            raise ValueError("not an object")
    except FileNotFoundError:
        if has_data:
            raise MissingDependency(
                f"{path} is gone, and the data beside it cannot be read without it: bring it back from a backup"
            ) from None
        kept = {}
    except (OSError, ValueError) as fault:
        raise MissingDependency(f"{path} cannot be read ({type(fault).__name__})") from None
    known = {name: kept[name] for name in (item.name for item in fields(Secrets)) if isinstance(kept.get(name), str)}
    found = Secrets(**{"api_key": known.pop("api_key", None) or new_api_key(), **known})
    if asdict(found) != kept:
        write_private(path, json.dumps({**kept, **asdict(found)}, indent=2) + "\n")
    return found
