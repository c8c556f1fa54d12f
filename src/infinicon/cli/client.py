"""HTTP to a running Infinicon. Every answer but 200 is an ApiRefused, no answer a NoServer; both say what to do."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

import httpx

from infinicon.cli.connection import Connection
from infinicon.cli.faults import ApiRefused, NoServer

Wire: TypeAlias = dict[str, Any]
"""A JSON object as it travels."""


class Client:
    """Memory API v0 at one server with one key. Safe to call from several threads."""

    def __init__(self, connection: Connection, *, timeout: float = 120.0) -> None:
        self.connection = connection
        self.http = httpx.Client(
            base_url=connection.url,
            headers={"Authorization": f"Bearer {connection.api_key}"},
            timeout=httpx.Timeout(timeout, connect=10.0),
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    @cached_property
    def tenant_id(self) -> str:
        """The tenant of the key, asked once."""
        return str(self.get("/v0/key")["tenantId"])

    def scope(self, namespace: str, agent: str | None = None, session: str | None = None) -> Wire:
        """A scope of the key's tenant."""
        optional = {"agentId": agent, "sessionId": session}
        return {
            "tenantId": self.tenant_id,
            "namespaceId": namespace,
            **{name: value for name, value in optional.items() if value is not None},
        }

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Wire:
        """The answer to a GET.

        Raises:
            ApiRefused: any status but 200.
            NoServer: nobody answers.
        """
        return self._reply(path, "GET", params=dict(params or {}))

    def post(self, path: str, body: Mapping[str, object], *, timeout: float | None = None) -> Wire:
        """The answer to a POST of `body`. Raises ApiRefused, NoServer."""
        return self._send("POST", path, body, timeout)

    def put(self, path: str, body: Mapping[str, object]) -> Wire:
        """The answer to a PUT of `body`. Raises ApiRefused, NoServer."""
        return self._send("PUT", path, body, None)

    def _send(self, method: str, path: str, body: Mapping[str, object], timeout: float | None) -> Wire:
        # ASCII with escapes: a lone surrogate then travels as JSON has it, and the API is asked what it makes of it.
        raw = json.dumps(body).encode("ascii")
        more: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        return self._reply(path, method, content=raw, headers={"Content-Type": "application/json"}, **more)

    def delete(self, path: str, params: Mapping[str, str | int] | None = None) -> Wire:
        """The answer to a DELETE. Raises ApiRefused, NoServer."""
        return self._reply(path, "DELETE", params=dict(params or {}))

    def _reply(self, path: str, method: str, **request: Any) -> Wire:
        try:
            answer = self.http.request(method, path, **request)
        except httpx.TimeoutException:
            raise NoServer(
                f"{self.connection.url} did not answer in time", "`infinicon doctor` says what is down"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            raise NoServer(
                f"{self.connection.url} does not answer ({type(fault).__name__})",
                "is it running, and is the address right?",
            ) from None
        if answer.status_code != 200:
            raise refusal(path, answer)
        try:
            reply: Wire = answer.json()
        except ValueError:
            raise ApiRefused(path, 200, "(not JSON)", "the answer is not Infinicon's") from None
        return reply


def refusal(path: str, answer: httpx.Response) -> ApiRefused:
    """The error that an answer holds, or what stands in for one that is no MemoryApiError."""
    status = answer.status_code
    try:
        error = answer.json()
        return ApiRefused(
            path,
            status,
            str(error["code"]),
            str(error["message"]),
            retryable=bool(error["retryable"]),
            details=error.get("details") or {},
            retry_after=_seconds(answer.headers.get("retry-after")),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return ApiRefused(
            path, status, "(not a MemoryApiError)", retry_after=_seconds(answer.headers.get("retry-after"))
        )


def _seconds(header: str | None) -> float | None:
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
