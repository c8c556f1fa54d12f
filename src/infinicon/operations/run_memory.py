"""Memory as one run has it: put, list and get as everybody has them, in the sight of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from infinicon.domain import (
    Caller,
    Entry,
    ListReply,
    ListRequest,
    Permission,
    PutRequest,
    Scope,
    Sight,
    Written,
)
from infinicon.errors import IndexTimeout
from infinicon.keyring import Keyring
from infinicon.operations import entries, secrets, waiting
from infinicon.operations.counting import Counters
from infinicon.operations.put import put
from infinicon.ports import Embedder
from infinicon.store import conformance
from infinicon.store.database import Database

KEPT = timedelta(hours=1)
"""How long entries of runs live, so that a suite that runs every night leaves nothing."""

PATIENCE_SECONDS = 8.0
"""A suite waits ten for a run."""

LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Parts:
    """What runs are played with. `other` is of another tenant, None where that was not made; `wake` has what was put dispatched;
    `semantic` says whether the encoder answers."""

    database: Database
    keyring: Keyring
    counters: Counters
    embedder: Embedder
    other: Caller | None
    wake: Callable[[], None]
    semantic: Callable[[], bool]


def secret_of(parts: Parts, caller: Caller) -> tuple[str, str]:
    """Id and value of a secret that the tenant has made known: the same for all runs."""
    value = "conformance-" + parts.keyring.mac("openwop secret", str(caller.tenant).encode()).hex()
    known = secrets.add_secret(parts.database, parts.keyring, caller, caller.tenant_name, value)
    return str(known.id), value


def wait(condition: Callable[[], bool], otherwise: str) -> None:
    """Raises IndexTimeout where the condition does not come true in time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise IndexTimeout(otherwise)
        time.sleep(LOOK_SECONDS)


def wait_until_indexed(parts: Parts, memory_ref: str, *tenants: Caller) -> None:
    """Until relevance knows what these have put there by now. Raises IndexTimeout."""
    before = waiting.now(parts.database)
    asked = [(one, Scope(one.tenant_name, memory_ref)) for one in tenants]
    wait(
        lambda: not any(waiting.pending(parts.database, *one, before, Permission.HYDRATE) for one in asked),
        "the entries of the run were not indexed in time",
    )


class RunMemory:
    """Entries are seen that were there when the run began, and its own: not what other runs write meanwhile (W32)."""

    def __init__(self, parts: Parts, caller: Caller, run: UUID, began_at: datetime) -> None:
        self.parts = parts
        self.caller = caller
        self._run = run
        self._began_at = began_at
        self._own: set[UUID] = set()

    @property
    def _sight(self) -> Sight:
        return Sight(self._began_at, frozenset(self._own))

    def now(self) -> datetime:
        """The database's clock, by which entries expire."""
        return waiting.now(self.parts.database)

    def put(
        self, memory_ref: str, content: str, *, tags: Sequence[str] = (), expires_at: datetime | None = None
    ) -> Entry:
        """Write an entry, and record that this run did."""
        parts = self.parts
        request = PutRequest(memory_ref, content, tags, expires_at or self.now() + KEPT)
        entry = put(parts.database, parts.keyring, parts.counters, self.caller, request).entry
        parts.wake()
        self._own.add(entry.id)
        with parts.database.transaction(self.caller.tenant) as tx:
            conformance.wrote(self.caller.tenant, tx, self._run, Written(memory_ref, entry.id, entry.created_at))
        return entry

    def list(self, memory_ref: str, **wanted: Any) -> ListReply:
        """As the operation list; `wanted` as in ListRequest."""
        parts = self.parts
        request = ListRequest(memory_ref, sight=self._sight, **wanted)
        return entries.list_entries(parts.database, parts.embedder, parts.counters, self.caller, request)

    def get(self, memory_ref: str, entry: UUID) -> Entry | None:
        """As the operation get."""
        found = entries.get_entry(self.parts.database, self.caller, memory_ref, str(entry))
        return found if found is not None and self._sight.has(found.id, found.created_at) else None

    def plant(self, memory_ref: str, content: str, other: Caller) -> Entry:
        """An entry of another tenant under this memoryRef: what is there, or a new one."""
        parts = self.parts
        request = ListRequest(memory_ref, limit=1)
        found = entries.list_entries(parts.database, parts.embedder, parts.counters, other, request).entries
        if found:
            return found[0]
        planted = put(parts.database, parts.keyring, parts.counters, other, PutRequest(memory_ref, content)).entry
        parts.wake()
        return planted
