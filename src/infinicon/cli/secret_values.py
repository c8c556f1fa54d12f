"""What `infinicon secrets add|list|remove` and `infinicon redact` ask, and how they show it."""

from __future__ import annotations

import getpass
import sys
import time
from pathlib import Path
from urllib.parse import quote

from infinicon.cli import exits
from infinicon.cli.client import Client, Wire
from infinicon.cli.connection import find
from infinicon.cli.faults import CommandFailed, WrongUsage
from infinicon.cli.output import note, show_json, table

POLL_SECONDS = 1.0

ANY_NAMESPACE = "-"
"""A job of the whole tenant is answered whatever namespace is asked."""


def add(url: str | None, data_dir: Path | None, file: Path | None, *, as_json: bool) -> None:
    """Make a secret known."""
    value = read(file)
    with Client(find(url, data_dir)) as client:
        reply = client.post("/v0/secrets", {"tenantId": client.tenant_id, "value": value})
    if as_json:
        show_json(reply)
        return
    secret = reply["secret"]["secretId"]
    print(secret)
    note(f"what was written before may still hold it: infinicon redact --secret {secret}")


def read(file: Path | None) -> str:
    """The secret, less one line end.

    Raises:
        CommandFailed: the file cannot be read.
        WrongUsage: it is not UTF-8.
    """
    if file is None and sys.stdin.isatty():
        return getpass.getpass("secret (it is not shown): ")
    try:
        raw = sys.stdin.buffer.read() if file is None else file.read_bytes()
    except OSError as fault:
        raise CommandFailed(f"{file} cannot be read: {fault.strerror}") from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise WrongUsage("the secret is not UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


def show(url: str | None, data_dir: Path | None, *, as_json: bool) -> None:
    """The tenant's secrets, by id."""
    with Client(find(url, data_dir)) as client:
        reply = client.get("/v0/secrets", {"tenantId": client.tenant_id})
    if as_json:
        show_json(reply)
        return
    table(("secret", "known since"), [(one["secretId"], one["createdAt"]) for one in reply["secrets"]])


def remove(url: str | None, data_dir: Path | None, secret: str, *, as_json: bool) -> None:
    """Forget a secret."""
    with Client(find(url, data_dir)) as client:
        reply = client.delete(f"/v0/secrets/{quote(secret, safe='') or '-'}", {"tenantId": client.tenant_id})
    if as_json:
        show_json(reply)
    else:
        print(f"removed {reply['secret']['secretId']}")


def redact(url: str | None, data_dir: Path | None, secret: str, *, wait: bool, as_json: bool) -> None:
    """Start to take a secret out of what is stored, and see it through if that is wanted."""
    with Client(find(url, data_dir)) as client:
        job = client.post("/v0/redact", {"tenantId": client.tenant_id, "secretId": secret})
        scope = client.scope(ANY_NAMESPACE)
        while wait and job["status"] in {"queued", "running"}:
            time.sleep(POLL_SECONDS)
            job = client.post("/v0/get-job", {"scope": scope, "jobId": job["jobId"]})
    _report(job, wait=wait, as_json=as_json)


def _report(job: Wire, *, wait: bool, as_json: bool) -> None:
    if as_json:
        show_json(job)
    else:
        progress = job["progress"]
        print(f"{job['jobId']}  {job['status']}  {progress['done']} of {progress['total']} memories")
    if not wait:
        note(f"watch it: infinicon jobs {job['jobId']} --namespace {ANY_NAMESPACE} --watch")
    elif job["status"] != "completed":
        sys.exit(exits.FAILED)
