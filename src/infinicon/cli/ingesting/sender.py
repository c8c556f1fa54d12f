"""Requests on their way: several in flight, tried again while the server is busy or away, halved where they are too large."""

from __future__ import annotations

import json
import queue
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from infinicon.cli import exits
from infinicon.cli.client import Client, Wire, refusal
from infinicon.cli.faults import ApiRefused, CommandFailed
from infinicon.cli.ingesting.batches import Request
from infinicon.cli.ingesting.places import Place

PATH = "/v0/ingest"
FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
LOOK_SECONDS = 0.2
TEMPORARY = frozenset({408, 429, 500, 502, 503, 504})
WHOLE = frozenset({400, 413, 422, 500})
"""Answers that refuse a request for something in it: halves of it are sent, down to the episode that is at fault."""
FAULTS_ENOUGH = 5
"""So many times 500 for one request, while others go through, are taken for a fault of what is in it."""
BESIDE = ("scope", "label", "lane", "consistency")
"""Fields beside the episodes. A fault there is one of every request."""


class GaveUp(CommandFailed):
    """The server could not be reached, or was busy, for too long."""

    EXIT = exits.TEMPORARY


class _Stopped(Exception):
    """The run is ending; this request was not sent."""


@dataclass(slots=True)
class Tally:
    """What has become of the episodes so far. Written under `lock`."""

    created: int = 0
    deduplicated: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    """By code."""
    tombstoned: int = 0
    """Of those deduplicated: deleted before, and not stored again."""
    requests: int = 0
    retries: int = 0
    trouble: str = ""
    """Why nothing moves right now."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def answered(self) -> int:
        return self.created + self.deduplicated + self.rejected.total()


@dataclass(frozen=True, slots=True)
class Manner:
    """How to send. `fields` go beside scope and episodes in every request; `patience` is how long nothing may succeed, in seconds."""

    scope: Wire
    fields: Wire
    in_flight: int = 4
    patience: float = 600.0


Rejected = Callable[[Place, str, str], None]
"""Hears of each rejected episode: where it stands, the code, and the server's sentence, which holds nothing of what was sent."""


class Sender:
    """A bounded queue and the threads that empty it.

    `stopping` ends it: what is in flight is finished, what waits is not sent.
    """

    def __init__(self, client: Client, manner: Manner, on_rejected: Rejected) -> None:
        self.tally = Tally()
        self.stopping = threading.Event()
        self.failure: CommandFailed | None = None
        self._client = client
        self._manner = manner
        self._on_rejected = on_rejected
        self._waiting: queue.Queue[Request] = queue.Queue(manner.in_flight)
        self._closed = threading.Event()
        self._succeeded = time.monotonic()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(manner.in_flight)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def put(self, request: Request, may_block: bool = True) -> bool:
        """Take a request; wait for a place, unless it must not block. What comes after the end is dropped."""
        while not self.stopping.is_set():
            try:
                self._waiting.put(request, timeout=LOOK_SECONDS if may_block else 0)
                return True
            except queue.Full:
                if not may_block:
                    return False
        return True

    def close(self) -> None:
        """Nothing more comes."""
        self._closed.set()

    def is_done(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def join(self, seconds: float) -> None:
        """Wait so long, or until a thread ends."""
        for thread in self._threads:
            if thread.is_alive():
                thread.join(seconds)
                return

    def _work(self) -> None:
        fault: CommandFailed | None = CommandFailed(
            "a request was lost", "run the same command again; nothing is added twice"
        )
        try:
            while (request := self._next()) is not None:
                self._deliver(request)
            fault = None
        except _Stopped:
            fault = None
        except CommandFailed as expected:
            fault = expected
        finally:
            # Also for what nobody expected: a thread that ends early must not look like a run that is complete.
            if fault is not None:
                self.failure = self.failure or fault
                self.stopping.set()

    def _next(self) -> Request | None:
        while not self.stopping.is_set():
            closed = self._closed.is_set()
            try:
                return self._waiting.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                if closed:
                    break
        return None

    def _deliver(self, request: Request) -> None:
        left, suspect = [request], False
        while left:
            part = left.pop()
            try:
                self._note(part, self._post(part, suspect=suspect))
            except ApiRefused as refused:
                if refused.status not in WHOLE or str(refused.details.get("field", "")).split(".")[0] in BESIDE:
                    raise
                suspect = refused.status == 500
                if len(part.episodes) > 1:
                    left += reversed(part.halves())
                else:
                    self._reject(part.episodes[0].place, refused.code, refused.reason)

    def _post(self, request: Request, *, suspect: bool = False) -> Wire:
        """The server's answer, waited for as long as there is hope; less long where the request is suspected to be at fault.

        Raises:
            ApiRefused: it will not take this request.
            GaveUp: nothing has succeeded for as long as patience goes.
            _Stopped: the run ended first.
        """
        body = self._body(request)
        began, attempt = 0.0, 0
        while not self.stopping.is_set():
            answer, trouble = self._attempt(body)
            if answer is not None and answer.status_code not in TEMPORARY:
                return self._reply(answer)
            attempt += 1
            began = began or time.monotonic()
            if answer is not None and answer.status_code == 500 and attempt >= FAULTS_ENOUGH:
                suspect = suspect or self._succeeded > began
                if suspect:
                    raise refusal(PATH, answer)
            patience = self._manner.patience - (time.monotonic() - max(began, self._succeeded))
            wait = max(_asked(answer), _back_off(attempt))
            if wait > patience:
                raise GaveUp(
                    f"{trouble} for too long", "run the same command again when it is back; nothing is added twice"
                )
            with self.tally.lock:
                self.tally.retries += 1
                self.tally.trouble = trouble
            self.stopping.wait(wait)
        raise _Stopped

    def _attempt(self, body: bytes) -> tuple[httpx.Response | None, str]:
        """An answer, and what is wrong with it where it is one of TEMPORARY, or there is none."""
        try:
            answer = self._client.http.post(PATH, content=body, headers={"Content-Type": "application/json"})
        except httpx.HTTPError as fault:
            return None, f"{self._client.connection.url} does not answer ({type(fault).__name__})"
        code = refusal(PATH, answer).code if answer.status_code in TEMPORARY else ""
        return answer, f"the server answers {answer.status_code} {code}"

    def _reply(self, answer: httpx.Response) -> Wire:
        if answer.status_code != 200:
            raise refusal(PATH, answer)
        try:
            reply: Wire = answer.json()
        except ValueError:
            raise CommandFailed("what answers is no Infinicon server", "check the address") from None
        self._succeeded = time.monotonic()
        return reply

    def _body(self, request: Request) -> bytes:
        scope = {**self._manner.scope, **json.loads(request.scope)}
        # Bytes that are ready are put together, and not parsed and written again.
        head = json.dumps({**self._manner.fields, "scope": scope}, separators=(",", ":")).encode()
        return b'%s,"episodes":[%s]}' % (head[:-1], b",".join(episode.wire for episode in request.episodes))

    def _note(self, request: Request, reply: Wire) -> None:
        results = _results(reply, len(request.episodes))
        with self.tally.lock:
            self.tally.requests += 1
            self.tally.trouble = ""
            for result in results:
                self.tally.created += result["status"] == "created"
                self.tally.deduplicated += result["status"] == "deduplicated"
                self.tally.tombstoned += any(
                    warning.get("code") == "tombstoned" for warning in result.get("warnings", ())
                )
        for episode, result in zip(request.episodes, results, strict=True):
            if result["status"] == "rejected":
                error = result.get("error") or {}
                self._reject(episode.place, str(error.get("code")), str(error.get("message")))

    def _reject(self, place: Place, code: str, reason: str) -> None:
        with self.tally.lock:
            self.tally.rejected[code] += 1
        self._on_rejected(place, code, reason)


def _results(reply: Any, count: int) -> Sequence[Wire]:
    """The results of an answer, where it is one of ours."""
    try:
        results: Sequence[Wire] = reply["results"]
        if len(results) == count and all(isinstance(result["status"], str) for result in results):
            return results
    except (KeyError, TypeError):
        pass
    raise CommandFailed("the answer to an ingest is not Infinicon's", "check the address, and the server's version")


def _back_off(attempt: int) -> float:
    """Seconds before the next attempt: twice as many each time, and never the same for two who failed together."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempt - 1, 16)) * random.uniform(0.5, 1)  # noqa: S311 - no secret


def _asked(answer: httpx.Response | None) -> float:
    """The seconds that the server asks for."""
    seconds: float | None = None if answer is None else refusal(PATH, answer).retry_after
    return seconds or 0.0
