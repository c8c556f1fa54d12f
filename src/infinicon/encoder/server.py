"""The encoder's server. It reads the model before it listens: who gets a connection gets an answer."""

from __future__ import annotations

import contextlib
import hmac
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from infinicon.encoder.remembering import Remembered
from infinicon.errors import InfiniconError, InvalidRequest, TooLarge, Unauthorized, Unavailable
from infinicon.guard import guarded
from infinicon.keyring import Keyring
from infinicon.plugins.coalescing import CoalescingEmbedder
from infinicon.plugins.loader import load_embedder
from infinicon.ports import Embedder, Vectors
from infinicon.settings import Settings

_AT_ONCE = 32  # Texts of a document call: a query waits for at most one such call.
_MOST_TEXTS = 10_000
_Handler = Callable[[Request], Awaitable[Response]]


def run(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT. Without INFINICON_MODEL_THREADS the model takes one thread: the bulk embedder needs the others.

    Raises:
        SettingsError: INFINICON_ENCODER_URL or the master key is not set.
        MissingDependency: the model is not there.
    """
    settings.need("encoder_url", "master_key")
    own = settings.model_copy(update={"model_threads": settings.model_threads or 1})
    embedder = CoalescingEmbedder(load_embedder(own), most_texts=_AT_ONCE)
    token = Keyring(settings.master_key.get_secret_value()).token("encoder")
    app = build_app(embedder, token, most_waiting=settings.max_concurrent_requests, most_bytes=settings.max_body_bytes)
    config = uvicorn.Config(
        app, log_level=settings.log_level.lower(), access_log=False, timeout_keep_alive=60, timeout_graceful_shutdown=5
    )
    with contextlib.closing(listen(settings.encoder_url)) as listener:
        uvicorn.Server(config).run(sockets=[listener])


def listen(url: str) -> socket.socket:
    """A bound socket for http://host:port or unix:///path. A Unix socket is for its owner only, and replaces one that was left behind."""
    if url.startswith("unix://"):
        path = Path(url.removeprefix("unix://"))
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        path.chmod(0o600)
        return listener
    parts = urlsplit(url)
    family = socket.AF_INET6 if ":" in (parts.hostname or "") else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((parts.hostname or "127.0.0.1", 80 if parts.port is None else parts.port))
    except OSError:
        listener.close()
        raise
    return listener


def build_app(embedder: Embedder, token: str, *, most_waiting: int, most_bytes: int) -> Starlette:
    """The ASGI app around an embedder, which it closes at the end where it can be closed."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        close = getattr(embedder, "close", None)
        if close is not None:
            await run_in_threadpool(close)

    door = _Door(token, most_waiting, most_bytes)
    endpoints = _Endpoints(embedder, most_bytes)
    return Starlette(
        routes=[
            Route("/readyz", _ready),
            Route("/model", door.guard(endpoints.model)),
            Route("/embed", door.guard(endpoints.embed), methods=["POST"]),
            Route("/chunk", door.guard(endpoints.chunk), methods=["POST"]),
        ],
        lifespan=lifespan,
    )


async def _ready(_: Request) -> Response:
    return JSONResponse({"status": "ready"})


class _Door:
    """Lets in who has the token, while there is room."""

    def __init__(self, token: str, most_waiting: int, most_bytes: int) -> None:
        self._expected = f"Bearer {token}".encode()
        self._most_waiting = most_waiting
        self._most_bytes = most_bytes
        self._inside = 0

    def guard(self, handler: _Handler) -> _Handler:
        async def guarded_handler(request: Request) -> Response:
            try:
                self._check(request)
                self._inside += 1
                try:
                    return await handler(request)
                finally:
                    self._inside -= 1
            except InfiniconError as fault:
                return JSONResponse(fault.to_wire(), fault.http_status)

        return guarded_handler

    def _check(self, request: Request) -> None:
        if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), self._expected):
            raise Unauthorized("no valid token")
        if self._inside >= self._most_waiting:
            raise Unavailable("too many requests wait for the encoder")


class _Endpoints:
    def __init__(self, embedder: Embedder, most_bytes: int) -> None:
        self._embedder = embedder
        self._most_bytes = most_bytes
        self._remembered = Remembered(lambda text: guarded("embed", "embedder", embedder.embed_query, text))

    async def model(self, _: Request) -> Response:
        info = self._embedder.model
        return JSONResponse(
            {"name": info.name, "revision": info.revision, "dimension": info.dimension, "maxTokens": info.max_tokens}
        )

    async def embed(self, request: Request) -> Response:
        body = await self._body(request)
        texts = _texts(body)
        kind = body.get("kind")
        if kind not in ("document", "query") or (kind == "query" and len(texts) != 1):
            raise InvalidRequest("kind must be document, or query with one text", details={"field": "kind"})
        vectors = await run_in_threadpool(self._query if kind == "query" else self._documents, texts)
        return Response(
            np.ascontiguousarray(vectors, "<f2").tobytes(),
            media_type="application/octet-stream",
            headers={"X-Rows": str(vectors.shape[0]), "X-Dimension": str(vectors.shape[1])},
        )

    async def chunk(self, request: Request) -> Response:
        texts = _texts(await self._body(request))
        chunks = await run_in_threadpool(guarded, "embed", "embedder", self._embedder.chunk, texts)
        return JSONResponse([[(span.start, span.end) for span in spans] for spans in chunks])

    def _query(self, texts: Sequence[str]) -> Vectors:
        return self._remembered(texts[0])

    def _documents(self, texts: Sequence[str]) -> Vectors:
        """In small calls, so that queries get between them; alike in length, because sorting saves padding only within a call."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        found: list[Vectors] = []
        for start in range(0, len(order), _AT_ONCE):
            part = [texts[at] for at in order[start : start + _AT_ONCE]]
            found.append(guarded("embed", "embedder", self._embedder.embed, part))
        vectors = np.concatenate(found) if found else np.empty((0, self._embedder.model.dimension), np.float16)
        return vectors[np.argsort(order)] if order else vectors

    async def _body(self, request: Request) -> dict[str, object]:
        raw = bytearray()
        async for piece in request.stream():
            raw += piece
            if len(raw) > self._most_bytes:
                raise TooLarge("the body is larger than the encoder takes", details={"maxBytes": self._most_bytes})
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            raise InvalidRequest("the body must be JSON") from None
        if not isinstance(body, dict):
            raise InvalidRequest("the body must be an object")
        return body


def _texts(body: dict[str, object]) -> list[str]:
    texts = body.get("texts")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts) or len(texts) > _MOST_TEXTS:
        raise InvalidRequest(f"texts must be a list of at most {_MOST_TEXTS} strings", details={"field": "texts"})
    return texts
