"""One event stream: Server-Sent Events (WHATWG HTML, 9.2) until the reader goes, the server stops, or the key or cursor is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from dataclasses import replace

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from infinicon.api import errors, limits
from infinicon.api.entry import Call, bearer_token
from infinicon.api.protocol import HANG_UP
from infinicon.api.wire import events as wire
from infinicon.domain import EventPage, SubscribeRequest
from infinicon.errors import InfiniconError, Overloaded, Unavailable
from infinicon.operations import events, keys

HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",  # nginx would keep events until a buffer is full
    "X-Content-Type-Options": "nosniff",
}
RETRY_MILLISECONDS = 2_000
LAST_WORD_SECONDS = 1.0
"""What a stopping server gives readers to take what is on its way; it is itself given three seconds."""
OPENING = f": Infinicon\nretry: {RETRY_MILLISECONDS}\n\n".encode()
FAREWELL = b": the server is stopping; come back with your cursor\n\n"


class EventStream(Response):
    """The answer of `GET /v0/events`, whose first page is already read: what is wrong with the request was told by then.

    It takes its place among the streams when it is sent and not when it is made, so that a reader who has gone in between holds none.
    """

    def __init__(self, call: Call, request: SubscribeRequest, first: EventPage) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._streams = call.house.streams
        self._caller = call.caller
        self._token = bearer_token(call.request.headers)
        self._request = replace(request, limit=limits.EVENTS_DEFAULT)
        self._first = first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as stack:
            try:
                stack.enter_context(self._streams.place(self._caller.key))
            except (Overloaded, Unavailable) as fault:
                await errors.response(fault)(scope, receive, send)
            else:
                await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write until there is nothing more to write, or nobody to read it. A reader that takes nothing is hung up on."""
        writer = asyncio.create_task(self._write(send))
        gone = asyncio.create_task(_disconnected(receive))
        late = asyncio.create_task(self._overtime())
        tasks = (writer, gone, late)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            stalled = late.done() or (writer.done() and not writer.result())
            if stalled and not gone.done() and HANG_UP in scope:
                scope[HANG_UP]()  # closing would first wait for the reader to take what it does not take
                await gone
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _write(self, send: Send) -> bool:
        """Everything, to the end; False where the reader takes nothing."""
        try:
            await _send(send, {"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with aclosing(self._frames()) as frames:
                async for frame in frames:
                    await _send(send, {"type": "http.response.body", "body": frame, "more_body": True})
            await _send(send, {"type": "http.response.body", "body": b""})
        except TimeoutError:
            return False
        return True

    async def _overtime(self) -> None:
        """Return when the server stops and has waited for last words long enough."""
        await self._streams.until_closing()
        await asyncio.sleep(LAST_WORD_SECONDS)

    async def _frames(self) -> AsyncGenerator[bytes]:
        """What to send. A page is read when the one before was taken: a slow reader holds one, and nobody else."""
        clock = asyncio.get_running_loop().time
        page, spoke = self._first, -limits.HEARTBEAT_SECONDS  # a reader without events learns its cursor at once
        yield OPENING
        try:
            while not self._streams.closing:
                if page.events:
                    yield b"".join(map(wire.event_frame, page.events))
                    spoke = clock()
                elif clock() - spoke >= limits.HEARTBEAT_SECONDS:
                    yield wire.cursor_frame(page.next_cursor)
                    spoke = clock()
                if not page.more:
                    quiet = max(0.0, spoke + limits.HEARTBEAT_SECONDS - clock())
                    await self._streams.until_moved(
                        self._caller.tenant, self._request.scope.namespace_id, page.position, quiet
                    )
                page = await self._next(page)
        except InfiniconError as fault:
            yield wire.fault_frame(fault)
            return
        yield FAREWELL

    async def _next(self, page: EventPage) -> EventPage:
        """The page behind this one. The key is looked up again: what was revoked reads no further.

        Raises:
            Unauthorized: the key is not valid any more.
            InvalidCursor: the reader was too slow, and what came next is not kept any more.
        """
        own = self._streams.runtime
        request = replace(self._request, cursor=page.next_cursor)
        try:
            self._caller = await self._streams.ask(keys.authenticate, own.database, self._token)
            return await self._streams.ask(events.subscribe, own.database, own.keyring, self._caller, request)
        except Unavailable:  # the database is away: that is no news, and no reason to hang up
            return replace(page, events=(), more=False)


async def _send(send: Send, message: Message) -> None:
    async with asyncio.timeout(limits.STREAM_STALL_SECONDS):
        await send(message)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
