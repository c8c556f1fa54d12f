"""Asks the encoder process. Imports no model library: the API must stay small."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from threading import Lock
from types import TracebackType
from typing import cast

import httpx
import numpy as np

from infinicon.domain import Json, Span
from infinicon.errors import InfiniconError, InvalidContent, PluginFailed, Unavailable
from infinicon.ports import ModelInfo, Vectors

_UNIX = "unix://"
_SIXTEEN_BITS = np.dtype("<f2")
REFUSED_FOR_CONTENT = (400, 413, 422)
_TEXTS_A_CALL = 256
_CHARACTERS_A_CALL = 100_000
"""A call stays far below the server's limits and the time-out, however long the document is that it is part of."""


class EncoderClient:
    """Implements ports.Embedder over HTTP. Safe to call from several threads; opens no connection before the first call."""

    def __init__(self, url: str, token: str, timeout: float = 30.0, *, connections: int = 32) -> None:
        """`url` is http://host:port or unix:///path; `timeout` in seconds bounds each wait for the encoder."""
        self._socket_path = url.removeprefix(_UNIX) if url.startswith(_UNIX) else None
        limits = httpx.Limits(max_connections=connections, keepalive_expiry=30.0)
        self._client = httpx.Client(
            base_url="http://encoder" if self._socket_path else url,
            transport=httpx.HTTPTransport(uds=self._socket_path, limits=limits),
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(timeout, connect=min(timeout, 2.0)),
        )
        self._model: ModelInfo | None = None
        self._model_lock = Lock()

    @property
    def model(self) -> ModelInfo:
        """Asked once.

        Raises:
            Unavailable: the encoder does not answer, or answers with a fault.
        """
        with self._model_lock:
            if self._model is None:
                found = self._send("GET", "/model").json()
                self._model = ModelInfo(found["name"], found["revision"], found["dimension"], found["maxTokens"])
            return self._model

    def ready(self) -> bool:
        """Whether the encoder would answer now. Never raises."""
        if self._socket_path and not _listens(self._socket_path):
            return False
        try:
            return self._client.get("/readyz", timeout=1.0).is_success
        except httpx.HTTPError:
            return False

    def chunk(self, texts: Sequence[str]) -> list[list[Span]]:
        """As ports.Embedder. Raises Unavailable, InvalidContent."""
        found: list[list[Span]] = []
        for part in slices(texts):
            reply = self._send("POST", "/chunk", {"texts": list(part)}).json()
            found += [[Span(start, end) for start, end in spans] for spans in reply]
        return found

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As ports.Embedder. Raises Unavailable, InvalidContent."""
        if not texts:
            return np.empty((0, self.model.dimension), np.float16)
        return np.concatenate([self._vectors(part, "document") for part in slices(texts)])

    def embed_query(self, text: str) -> Vectors:
        """As ports.Embedder. Raises Unavailable, InvalidContent."""
        return self._vectors([text], "query")

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> EncoderClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _vectors(self, texts: Sequence[str], kind: str) -> Vectors:
        reply = self._send("POST", "/embed", {"texts": list(texts), "kind": kind})
        dimension = int(reply.headers.get("X-Dimension", 0))
        if len(reply.content) != len(texts) * dimension * _SIXTEEN_BITS.itemsize:
            raise Unavailable("the encoder answered with another number of vectors than it was asked for")
        return cast(
            Vectors, np.frombuffer(reply.content, _SIXTEEN_BITS).reshape(len(texts), dimension).astype(np.float16)
        )

    def _send(self, method: str, path: str, body: Json = None) -> httpx.Response:
        # ASCII escapes carry a lone surrogate as far as the encoder, which refuses it as content, not as an accident of transport.
        content = json.dumps(body).encode() if body is not None else None
        try:
            reply = self._once_more(method, path, content)
        except httpx.TimeoutException:
            raise Unavailable("the encoder did not answer in time") from None
        except httpx.HTTPError as fault:
            raise Unavailable(f"the encoder does not answer ({type(fault).__name__})") from None
        if reply.is_success:
            return reply
        raise _fault(reply)

    def _once_more(self, method: str, path: str, content: bytes | None) -> httpx.Response:
        """A kept connection may have been closed at the other end just now; asking twice changes nothing there."""
        headers = {"Content-Type": "application/json"} if content is not None else {}
        try:
            return self._client.request(method, path, content=content, headers=headers)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            return self._client.request(method, path, content=content, headers=headers)


def slices(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Runs of texts that go in one call; a text that is too long by itself goes alone."""
    start = characters = 0
    for at, text in enumerate(texts):
        if at > start and (at - start == _TEXTS_A_CALL or characters + len(text) > _CHARACTERS_A_CALL):
            yield texts[start:at]
            start, characters = at, 0
        characters += len(text)
    if start < len(texts):
        yield texts[start:]


def _listens(path: str) -> bool:
    """Asked before httpx is: it leaves a Unix socket that did not connect to the garbage collector."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _fault(reply: httpx.Response) -> InfiniconError:
    """What the encoder refuses for its content is the caller's fault, whatever its code: sent again it would be refused again."""
    try:
        body = reply.json()
    except ValueError:
        body = None
    details = body.get("details") if isinstance(body, dict) else None
    if isinstance(body, dict) and body.get("code") == InvalidContent.code:
        return InvalidContent("a text cannot be embedded", details=details if isinstance(details, dict) else None)
    if reply.status_code in REFUSED_FOR_CONTENT:
        return PluginFailed(f"the encoder refused a call with status {reply.status_code}")
    return Unavailable(f"the encoder refused with status {reply.status_code}")
