"""Requests and readings that several tests of the API share."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import psutil

from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance

JSON = {"Content-Type": "application/json"}
ROUTES = ("/v0/ingest", "/v0/query", "/v0/hydrate", "/v0/assemble-context", "/v0/get-job", "/v0/subscribe")
NIL = "00000000-0000-0000-0000-000000000000"


def note(content: object = "The orchard gate code is on the blue tag.", **fields: object) -> Wire:
    return {"contentType": "text/plain", "content": content, **fields}


def send(http: httpx.Client, path: str, body: object, headers: Mapping[str, str] = JSON) -> httpx.Response:
    """POST any JSON value; lone surrogates travel as escapes. Bytes are sent as they are."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return http.post(path, content=raw, headers=headers)


def valid_body(path: str, scope: Wire) -> Wire:
    """A request that the route takes."""
    own: dict[str, Wire] = {
        "/v0/ingest": {"episodes": [note()]},
        "/v0/query": {"query": "gate code"},
        "/v0/hydrate": {"refs": [{"id": NIL, "type": "episode", "scope": scope}]},
        "/v0/assemble-context": {"task": "Open the gate.", "budget": {"maxTokens": 100}},
        "/v0/get-job": {"jobId": NIL},
        "/v0/subscribe": {},
    }
    return {"scope": scope, **own[path]}


def refusal(reply: httpx.Response, status: int, code: str) -> Wire:
    """The MemoryApiError of a reply, after a look at its shape."""
    fault: Wire = reply.json()
    assert (reply.status_code, fault["code"]) == (status, code)
    assert fault.keys() <= {"code", "message", "retryable", "details"}
    assert isinstance(fault["message"], str)
    assert isinstance(fault["retryable"], bool)
    return fault


def ingest_indexed(client: Client, *episodes: Wire, **fields: object) -> list[Wire]:
    """Refs of episodes that are now visible to query."""
    reply = client.ingest(list(episodes), consistency="indexed", **fields)
    assert [result["status"] for result in reply["results"]] == ["created"] * len(episodes)
    return [result["ref"] for result in reply["results"]]


def api_process(live: Instance) -> psutil.Process:
    for process in psutil.Process(live.pid).children(recursive=True):
        if process.cmdline()[-1:] == ["api"]:
            return process
    raise AssertionError("`infinicon up` runs no API process")


@contextlib.contextmanager
def bulk_stands_still(live: Instance) -> Iterator[None]:
    """No bulk work is finished during the block: its embed worker is halted. A person may be slower than 400 episodes."""
    workers = [
        process
        for process in psutil.Process(live.pid).children(recursive=True)
        if process.cmdline()[-2:] == ["worker", "embed"]
    ]
    assert workers, "`infinicon up` runs no embed worker"
    try:
        for worker in workers:
            worker.suspend()
        yield
    finally:
        for worker in workers:
            worker.resume()


def logs_of(live: Instance) -> str:
    files = [path for path in live.data_dir.rglob("*.log*") if path.is_file()]
    assert files
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)


def content_of(client: Client, ref: Wire) -> Any:
    return client.hydrate([ref])[ref["id"]]["content"]
