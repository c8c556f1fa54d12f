"""How many requests the process works on at once. One over the number is told to come back; health never passes here."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from infinicon.api import errors
from infinicon.errors import Overloaded

SLOT = "infinicon.slot"
UNGATED = frozenset({"/healthz", "/readyz"})


class Slot:
    """One request's place. A request that waits gives it up early; giving it up twice is harmless."""

    def __init__(self, gate: Gate) -> None:
        self._gate: Gate | None = gate
        gate.taken += 1

    def release(self) -> None:
        if self._gate is not None:
            self._gate.taken -= 1
            self._gate = None


class Gate:
    """Pure ASGI, because the count must hold before anything of the request is read."""

    def __init__(self, app: ASGIApp, capacity: int) -> None:
        self._app = app
        self._capacity = capacity
        self.taken = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNGATED:
            await self._app(scope, receive, send)
            return
        if self.taken >= self._capacity:
            fault = Overloaded("the server has as many requests as it takes", details={"limit": self._capacity})
            await errors.response(fault)(scope, receive, send)
            return
        scope[SLOT] = slot = Slot(self)
        try:
            await self._app(scope, receive, send)
        finally:
            slot.release()
