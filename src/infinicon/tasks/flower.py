"""Flower inside our own process: a password on every path, nothing that changes anything, no text of users.

Flower's own switches (basic_auth, read_only) are on as well, but the gate in front of all handlers does not depend on which of them a
release of Flower asks: by itself it leaves /metrics, /healthcheck and its files open to everybody.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import signal
import socket
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import tornado.httputil
import tornado.web
from flower.app import Flower
from flower.events import Events
from flower.inspector import Inspector
from flower.options import default_options
from flower.urls import settings as flower_settings
from kombu.utils.url import maybe_sanitize_url
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop

from infinicon.settings import PREFIX, Settings, SettingsError
from infinicon.tasks.app import configure

MAX_TASKS = 5_000
MAX_WORKERS = 200
COLUMNS = "name,uuid,state,args,received,started,runtime,worker"
_READS = frozenset({"GET", "HEAD"})
# The table of tasks is read by POST, because its query is too long for a URL.
_READS_BY_POST = frozenset({"/tasks/datatable"})
# Results are the API's business, and this process has no way to them.
_CLOSED = "/api/task/result/"


class Refusal(tornado.web.RequestHandler):
    """The answer of the gate."""

    def initialize(self, status: int, reason: str) -> None:
        self._status = status
        self._why = reason

    def prepare(self) -> None:
        self.set_status(self._status)
        if self._status == 401:
            self.set_header("WWW-Authenticate", 'Basic realm="Infinicon", charset="UTF-8"')
        _ = self.finish(self._why + "\n")

    def check_xsrf_cookie(self) -> None:
        """Nothing to protect: the request is refused."""


class Gate(Flower):
    """Flower behind one door. It tells Flower of who has passed by a password that only the two of them know."""

    def __init__(self, credentials: str, inner: str, **options: Any) -> None:
        super().__init__(**options)
        self._credentials = credentials.encode()
        self._passed = "Basic " + b64encode(inner.encode()).decode()

    def find_handler(self, request: tornado.httputil.HTTPServerRequest, **options: Any) -> Any:
        if not knows(self._credentials, request.headers.get("Authorization", "")):
            return self._refuse(request, 401, "a user and a password are needed")
        if request.method not in _READS and not (request.method == "POST" and request.path in _READS_BY_POST):
            return self._refuse(request, 403, "this Flower is read-only")
        if request.path.startswith(_CLOSED):
            return self._refuse(request, 403, "results are asked of the API")
        # Flower compares texts, which fails on a password with letters beyond ASCII; its own password has none.
        request.headers["Authorization"] = self._passed
        return super().find_handler(request, **options)

    def _refuse(self, request: tornado.httputil.HTTPServerRequest, status: int, reason: str) -> Any:
        return self.get_handler_delegate(request, Refusal, {"status": status, "reason": reason})


def knows(credentials: bytes, header: str) -> bool:
    """Whether an Authorization header holds these credentials (`user:password`); takes the same time for every wrong one."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        given = b64decode(encoded.strip(), validate=True)
    except ValueError:
        return False
    return hmac.compare_digest(given, credentials)


class QuietEvents(Events):
    """Keeps of an event what an operator needs: names, ids, states, times; of a failure its type."""

    def on_event(self, event: Mapping[str, Any]) -> None:
        super().on_event(without_text(event))


def without_text(event: Mapping[str, Any]) -> dict[str, Any]:
    """The event without its result and traceback, and its exception cut down to the type: messages can quote what users wrote."""
    kept = {name: value for name, value in event.items() if name not in {"result", "traceback"}}
    if "exception" in kept:
        kept["exception"] = str(kept["exception"]).partition("(")[0]
    return kept


class QuietInspector(Inspector):
    """Masks the broker's password, which Celery's statistics hold where the broker is a Unix socket."""

    def _on_update(self, workername: str, method: str, response: Any) -> None:
        if method == "stats":
            mask_broker(response)
        super()._on_update(workername, method, response)


def mask_broker(stats: dict[str, Any]) -> None:
    """Mask passwords in the broker's part of a worker's statistics, in place."""
    broker = (stats.get("consumer") or stats).get("broker", {})
    broker.pop("alternates", None)
    broker["hostname"] = maybe_sanitize_url(broker.get("hostname"))


def create(settings: Settings, app: Any, loop: IOLoop) -> Gate:
    """Flower for the Celery application `app`, not yet listening."""
    credentials = f"{settings.flower_user}:{settings.flower_password.get_secret_value()}"
    inner = f"gate:{secrets.token_urlsafe(32)}"
    options = default_options
    options.address = settings.flower_host
    options.port = settings.flower_port
    options.basic_auth = [inner]
    options.read_only = True
    options.persistent = False
    options.max_tasks = MAX_TASKS
    options.max_workers = MAX_WORKERS
    options.tasks_columns = COLUMNS
    # A worker that was restarted has another name only if its host has; one that is gone should not stay on the page for ever.
    options.purge_offline_workers = 600
    events = QuietEvents(
        app, loop, enable_events=True, max_tasks_in_memory=MAX_TASKS, max_workers_in_memory=MAX_WORKERS
    )
    gate = Gate(credentials, inner, options=options, capp=app, events=events, io_loop=loop, **flower_settings)
    gate.inspector = QuietInspector(loop, app, options.inspect_timeout / 1000.0)
    return gate


def tls_of(broker_url: str) -> dict[str, str] | None:
    """The TLS options in the query of a rediss URL. Celery reads them there; Flower's own page of queues reads only the setting."""
    parts = urlsplit(broker_url)
    if parts.scheme != "rediss":
        return None
    return {name: value for name, value in parse_qsl(parts.query) if name.startswith("ssl_")}


def run(settings: Settings) -> None:
    """The process behind `infinicon flower`: serves until SIGTERM or SIGINT.

    Raises:
        SettingsError: there is no password, or the address cannot be listened on.
    """
    settings.need("broker_url", "flower_password")
    app = configure(settings)
    # Flower watches; it needs no handler, and so nothing that handlers import.
    app.conf.imports = ()
    app.conf.broker_use_ssl = tls_of(settings.broker_url.get_secret_value())
    serve(settings, app)


def serve(settings: Settings, app: Any) -> None:
    """Listen and work until a signal comes."""
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # Requests are not logged, as in the API: a path of Flower can hold a search.
    access = logging.getLogger("tornado.access")
    access.addHandler(logging.NullHandler())
    access.propagate = False
    listening = _listen(settings.flower_host, settings.flower_port)
    loop = IOLoop(make_current=True)
    gate = create(settings, app, loop)
    server = HTTPServer(gate)
    server.add_socket(listening)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.asyncio_loop.add_signal_handler(number, gate.stop)
    gate.start()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as fault:
        rule = f"cannot listen on {host}:{port}: {fault.strerror}"
        raise SettingsError(f"{PREFIX}FLOWER_HOST and {PREFIX}FLOWER_PORT: {rule}") from None
    listening.setblocking(False)
    return listening
