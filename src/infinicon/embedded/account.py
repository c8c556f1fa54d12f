"""Which account the bundled servers run as. An ordinary user runs them as themselves; root has to lend them another one."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

_NOBODY = 65534


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine, by number."""

    uid: int
    gid: int

    @property
    def ids(self) -> tuple[int, int]:
        return self.uid, self.gid

    def own(self, path: Path) -> None:
        os.chown(path, self.uid, self.gid)


def service_account(data: Path) -> Account | None:
    """The account for the servers, or None where no change of account is needed (we are not root).

    Data that is there already stays with its owner, since Postgres insists on owning it; otherwise `postgres`, else `nobody`.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    return Account(_NOBODY, _NOBODY)
