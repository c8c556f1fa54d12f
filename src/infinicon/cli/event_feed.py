"""How `infinicon events` reads a feed: page by page, or as a stream of Server-Sent Events that it takes up again where it broke off."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import httpx

from infinicon.cli import exits
from infinicon.cli.client import Client, Wire, refusal
from infinicon.cli.faults import ApiRefused, NoServer, WrongUsage
from infinicon.cli.output import note
from infinicon.domain import MEMORY_EVENTS

PAGE = 1_000
SILENCE_SECONDS = 40.0
"""The server breaks its silence every ten seconds; one that does not is gone, whatever the connection says."""
FIRST_WAIT = 0.5
LONGEST_WAIT = 5.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for, and from where on."""

    namespace: str
    agent: str | None
    session: str | None
    types: Sequence[str]
    cursor: str | None
    as_json: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a stream. `id` is the last that was said; without data it only moves the cursor."""

    event: str
    data: str
    id: str | None


def chosen(types: Iterable[str]) -> list[str]:
    """Types in the order they were given. Raises WrongUsage for one that does not exist."""
    known = [kind.value for kind in MEMORY_EVENTS]
    named = [one.strip() for given in types for one in given.split(",")]
    if any(one not in known for one in named):
        raise WrongUsage("there is no event of such a type", "types are " + ", ".join(known))
    return named


def read(client: Client, wanted: Wanted) -> None:
    """What is there now, page after page."""
    body: Wire = {"scope": client.scope(wanted.namespace, wanted.agent, wanted.session), "limit": PAGE}
    if wanted.types:
        body["eventTypes"] = list(wanted.types)
    if wanted.cursor is not None:
        body["cursor"] = wanted.cursor
    while True:
        reply = client.post("/v0/subscribe", body)
        for event in reply["events"]:
            show(event, as_json=wanted.as_json)
        body["cursor"] = reply["nextCursor"]
        if not reply["hasMore"]:
            break
    if not wanted.as_json:
        note(f"to go on from here: --from {body['cursor']}")


def follow(connect: Callable[[], Client], wanted: Wanted) -> None:
    """What is there and what comes, for ever. A server that was there once is waited for; it may come back at another address.

    Raises:
        NoServer: nobody answers at first.
        ApiRefused: the server will not serve this, now or later.
    """
    served, wait = False, FIRST_WAIT
    while True:
        try:
            with connect() as client:
                for frame in _stream(client, wanted):
                    served, wait = True, FIRST_WAIT
                    wanted = replace(wanted, cursor=frame.id or wanted.cursor)
                    if frame.data:
                        show(json.loads(frame.data), as_json=wanted.as_json)
        except (NoServer, ApiRefused) as fault:
            if not served or fault.exit_code not in {exits.NO_SERVER, exits.TEMPORARY}:
                raise
            note(f"{fault.message}; trying again")
        time.sleep(wait)
        wait = min(LONGEST_WAIT, 2 * wait)


def _stream(client: Client, wanted: Wanted) -> Iterator[Frame]:
    """Frames until the server ends the stream. Raises NoServer, ApiRefused."""
    parameters = client.scope(wanted.namespace, wanted.agent, wanted.session)
    if wanted.types:
        parameters["eventTypes"] = ",".join(wanted.types)
    headers = {"Accept": "text/event-stream", **({"Last-Event-ID": wanted.cursor} if wanted.cursor else {})}
    patience = httpx.Timeout(SILENCE_SECONDS, connect=10.0)
    try:
        with client.http.stream("GET", "/v0/events", params=parameters, headers=headers, timeout=patience) as answer:
            if answer.status_code != 200:
                answer.read()
                raise refusal("/v0/events", answer)
            for frame in frames(answer.iter_bytes()):
                if frame.event == "error":
                    raise _ended(json.loads(frame.data))
                yield frame
    except (httpx.HTTPError, httpx.StreamError) as fault:
        raise NoServer(f"the stream broke off ({type(fault).__name__})", "is the server running?") from None


def frames(chunks: Iterable[bytes]) -> Iterator[Frame]:
    """Frames from the pieces in which they come. Lines end with a line feed; what else Unicode calls a line break is data."""
    rest, last, event, data = b"", None, "", list[str]()
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            name, _, value = line.rstrip(b"\r").decode().partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                last = value
            elif name == "event":
                event = value
            elif name == "data":
                data.append(value)
            elif not name and not value and b":" not in line:
                yield Frame(event, "\n".join(data), last)
                event, data = "", []


def _ended(fault: Wire) -> ApiRefused:
    """Why the server ended a stream that had begun."""
    status = 401 if fault["code"] == "unauthorized" else 400
    return ApiRefused("/v0/events", status, fault["code"], fault["message"], retryable=fault["retryable"])


def show(event: Wire, *, as_json: bool) -> None:
    """One line, at once: whoever reads it may be a pipe."""
    if as_json:
        print(json.dumps(event, ensure_ascii=False, separators=(",", ":")), flush=True)
        return
    ref = event.get("ref")
    parts = [event["occurredAt"].ljust(27), event["type"].ljust(23)]
    if ref is not None:
        parts.append(f"{ref['type']} {ref['id']}")
    if "jobId" in event:
        parts.append(f"job {event['jobId']}")
    print("  ".join(parts).rstrip(), flush=True)
