"""What every route begins with: who is calling, then the body. In this order: a body is not read for a caller without a key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, ParamSpec, TypeVar

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, QueryParams

from infinicon.api import body, gate
from infinicon.api.discovery import Discovery
from infinicon.api.player import Player
from infinicon.api.rates import Rates
from infinicon.api.readiness import Readiness
from infinicon.api.streams import Streams
from infinicon.api.waiting import WaitingRoom
from infinicon.domain import Caller
from infinicon.errors import InvalidRequest, Unauthorized
from infinicon.operations import keys
from infinicon.runtime import Runtime
from infinicon.tasks.enqueue import Dispatcher

WITH_BODY = frozenset({"POST", "PUT"})

REPEATABLE = frozenset({"eventTypes"})
"""Query parameters that make one list, however often they are there."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class House:
    """What one API process has, for all of its requests."""

    runtime: Runtime
    dispatcher: Dispatcher
    waiting: WaitingRoom
    readiness: Readiness
    streams: Streams
    discovery: Discovery
    player: Player
    rates: Rates = field(default_factory=Rates)


@dataclass(frozen=True, slots=True)
class Call:
    """One authenticated request. `body` is raw JSON text, empty where the route takes none."""

    house: House
    caller: Caller
    request: Request
    body: bytes

    @property
    def runtime(self) -> Runtime:
        return self.house.runtime

    def leave_gate(self) -> None:
        """Give up the place among the requests in work, before waiting for something that others must do."""
        slot = self.request.scope.get(gate.SLOT)
        if slot is not None:
            slot.release()


def house_of(request: Request) -> House:
    house = request.app.state.house
    assert isinstance(house, House)
    return house


async def admit(request: Request) -> Call:
    """Authenticate, count the request as the key's, then read the body where the method has one.

    Raises:
        InvalidRequest: a query parameter is there twice, or the body is none.
    """
    house = house_of(request)
    caller = await in_thread(keys.authenticate, house.runtime.database, bearer_token(request.headers))
    house.rates.take(caller.key)
    slot = request.scope.get(gate.SLOT)
    if slot is not None:
        slot.belong_to(caller)
    check_once(request.query_params)
    return Call(house, caller, request, await body.read(request) if request.method in WITH_BODY else b"")


Admitted = Annotated[Call, Depends(admit)]


def check_once(parameters: QueryParams) -> None:
    """Raises InvalidRequest where a parameter is there twice: a proxy or a log may have read the other one."""
    seen = [name for name, _ in parameters.multi_items() if name not in REPEATABLE]
    if len(set(seen)) != len(seen):
        rule = "must be there once each"
        raise InvalidRequest(f"query parameters {rule}", details={"field": "parameters", "rule": rule})


def bearer_token(headers: Headers) -> str:
    """The token of `Authorization: Bearer …`. Raises Unauthorized where there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token.isascii() or not token:
        raise Unauthorized("an API key is needed: Authorization: Bearer KEY")
    return token


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run synchronous work beside the event loop, in one of the `limits.THREADS` threads."""
    return await run_in_threadpool(function, *args, **kwargs)
