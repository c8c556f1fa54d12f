"""How many requests the process works on at once. One over the number is told to come back; health never passes here.

No key, and no tenant, may have all the places: otherwise one that sends its bodies slowly, or takes its answers slowly, shuts the door
for everybody else. Whose a request is is known once its key is, which is before its body is read.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeVar
from uuid import UUID

from starlette.types import ASGIApp, Receive, Scope, Send

from infinicon.api import errors
from infinicon.domain import Caller
from infinicon.errors import Overloaded

T = TypeVar("T")

SLOT = "infinicon.slot"
UNGATED = frozenset({"/healthz", "/readyz"})


class Slot:
    """One request's place. A request that waits gives it up early; giving it up twice is harmless."""

    def __init__(self, gate: Gate) -> None:
        self._gate: Gate | None = gate
        self._caller: Caller | None = None
        gate.taken += 1

    def belong_to(self, caller: Caller) -> None:
        """Count this place as the caller's. Raises Overloaded where key or tenant have their share already."""
        if self._gate is not None:
            self._gate.share(caller)
            self._caller = caller

    def release(self) -> None:
        if self._gate is not None:
            self._gate.give_back(self._caller)
            self._gate = None


class Gate:
    """Pure ASGI, because the count must hold before anything of the request is read."""

    def __init__(self, app: ASGIApp, capacity: int) -> None:
        self._app = app
        self._capacity = capacity
        self._key_share = max(1, capacity // 2)
        self._tenant_share = max(1, capacity * 3 // 4)
        self._of_key: Counter[UUID] = Counter()
        self._of_tenant: Counter[int] = Counter()
        self.taken = 0

    def share(self, caller: Caller) -> None:
        """Count a place that is taken as this caller's. Raises Overloaded."""
        if self._of_key[caller.key] >= self._key_share:
            raise Overloaded("this key has as many requests at once as one may", details={"limit": self._key_share})
        if self._of_tenant[caller.tenant] >= self._tenant_share:
            limit = self._tenant_share
            raise Overloaded("this tenant has as many requests at once as one may", details={"limit": limit})
        self._of_key[caller.key] += 1
        self._of_tenant[caller.tenant] += 1

    def give_back(self, caller: Caller | None) -> None:
        """Make a place free again."""
        self.taken -= 1
        if caller is not None:
            _one_less(self._of_key, caller.key)
            _one_less(self._of_tenant, caller.tenant)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNGATED:
            await self._app(scope, receive, send)
            return
        if self.taken >= self._capacity:
            fault = Overloaded("the server has as many requests as it takes", details={"limit": self._capacity})
            await errors.response(fault, scope=scope)(scope, receive, send)
            return
        scope[SLOT] = slot = Slot(self)
        try:
            await self._app(scope, receive, send)
        finally:
            slot.release()


def _one_less(held: Counter[T], whose: T) -> None:
    held[whose] -= 1
    if not held[whose]:
        del held[whose]  # who has none is forgotten
