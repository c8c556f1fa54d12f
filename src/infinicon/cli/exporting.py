"""`infinicon export`: page by page, in constant memory."""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from infinicon.cli.client import Client, Wire
from infinicon.cli.faults import ApiRefused, NoServer
from infinicon.cli.output import note

TRIES = 6
KEPT = ("contentType", "content", "dedupeKey", "createdBy", "metadata", "tags", "occurredAt", "expiresAt")


def export(client: Client, scope: Wire, output: Path | None) -> None:
    """Write every episode as a line. What only this server knows (id, status, tenant, namespace) is left out."""
    number = 0
    with _written(output) as lines:
        for episode in _episodes(client, scope):
            lines.write(json.dumps(_line(episode), ensure_ascii=False, separators=(",", ":")) + "\n")
            number += 1
        lines.flush()
    note(f"exported {number} episodes")


def _line(episode: Wire) -> Wire:
    line = {name: episode[name] for name in KEPT if name in episode}
    inner = {name: episode["scope"][name] for name in ("agentId", "sessionId", "filters") if name in episode["scope"]}
    return {**line, "scope": inner} if inner else line


def _episodes(client: Client, scope: Wire) -> Iterator[Wire]:
    cursor = ""
    while True:
        page = _page(client, {**scope, **({"cursor": cursor} if cursor else {})})
        yield from page["episodes"]
        cursor = page.get("cursor", "")
        if not cursor:
            return


def _page(client: Client, parameters: Wire) -> Wire:
    """A page; a server that is away for a moment does not end a long export."""
    for attempt in range(TRIES - 1):
        try:
            return client.get("/v0/episodes", parameters)
        except ApiRefused as fault:
            if not fault.retryable:
                raise
            pause = fault.retry_after or 2.0**attempt
        except NoServer:
            pause = 2.0**attempt
        time.sleep(pause)
    return client.get("/v0/episodes", parameters)


@contextmanager
def _written(output: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that takes its name when it is complete, readable by its owner alone."""
    if output is None:
        yield sys.stdout
        return
    partial = output.with_name(output.name + ".part")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as raw:
        if output.suffix == ".gz":
            with gzip.open(raw, "wt", encoding="utf-8") as packed:
                yield packed
        else:
            with open(raw.fileno(), "w", encoding="utf-8", closefd=False) as plain:
                yield plain
        raw.flush()
        os.fsync(raw.fileno())
    partial.replace(output)
