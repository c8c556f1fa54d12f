"""What `infinicon doctor` checks. Every finding is a sentence, and one that is not fine has a remedy."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import infinicon
from infinicon.cli import exits
from infinicon.cli.client import Client, Wire
from infinicon.cli.connection import Connection
from infinicon.cli.faults import ApiRefused
from infinicon.cli.output import show_json
from infinicon.embedded.processes import WORKER_KINDS

FINE, WARNING, WRONG = "ok", "warning", "wrong"
LITTLE_DISK_BYTES = 2 * 1024**3
LONG_WAIT_SECONDS = {"interactive": 60.0, "bulk": 3600.0}
SKEW_SECONDS = 2.0
SLOW_MILLISECONDS = 100.0
PGVECTOR = (0, 8)


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. `state` is ok, warning or wrong."""

    check: str
    state: str
    text: str
    remedy: str = ""


def run(connection: Connection, *, as_json: bool) -> None:
    """Print all findings; exit 1 where one of them is wrong."""
    with Client(connection, timeout=15.0) as client:
        found = list(_findings(client))
    if as_json:
        show_json({"findings": [_wire(finding) for finding in found]})
    else:
        for finding in found:
            print(f"{finding.state:<8} {finding.check:<10} {finding.text}")
            if finding.remedy and finding.state != FINE:
                print(f"{'':<8} {'':<10} → {finding.remedy}")
    if any(finding.state == WRONG for finding in found):
        sys.exit(exits.FAILED)


def _wire(finding: Finding) -> Wire:
    wire = {"check": finding.check, "state": finding.state, "text": finding.text}
    return {**wire, "remedy": finding.remedy} if finding.remedy else wire


def _findings(client: Client) -> Iterator[Finding]:
    yield _server(client)
    yield from _disk(client.connection)
    try:
        own = client.get("/v0/key")
        yield _key(own)
        status = client.get("/v0/status", {"tenantId": own["tenantId"]})
    except ApiRefused as fault:
        yield Finding("key" if fault.status in {401, 403} else "database", WRONG, str(fault), fault.remedy)
        return
    yield _version(status)
    yield from _database(status["database"])
    yield from _parts(status)
    yield from _work(status["work"])


def _server(client: Client) -> Finding:
    """Raises NoServer where nobody answers: then there is nothing else to check."""
    try:
        client.get("/readyz")
    except ApiRefused as fault:
        return Finding(
            "server", WRONG, f"{client.connection.url} answers, but is not ready: {fault.reason}", fault.remedy
        )
    return Finding("server", FINE, f"{client.connection.url} is ready")


def _disk(connection: Connection) -> Iterator[Finding]:
    if connection.data_dir is None:
        return
    free = shutil.disk_usage(connection.data_dir).free
    text = f"{free / 1024**3:.1f} GiB free where {connection.data_dir} is"
    enough = free >= LITTLE_DISK_BYTES
    yield Finding("disk", FINE if enough else WARNING, text, "" if enough else "make room: a full disk stops writing")


def _key(own: Wire) -> Finding:
    expires = own.get("expiresAt")
    text = f"valid, {len(own['permissions'])} permissions" + (f", runs out {expires}" if expires else "")
    if expires and datetime.fromisoformat(expires) < datetime.now(UTC) + timedelta(days=7):
        return Finding("key", WARNING, text, f"infinicon keys rotate {own['keyId']}")
    return Finding("key", FINE, text)


def _version(status: Wire) -> Finding:
    same = status["version"] == infinicon.__version__
    text = f"server {status['version']}, this command {infinicon.__version__}"
    return Finding("version", FINE if same else WARNING, text, "" if same else "run the same release at both ends")


def _database(database: Wire) -> Iterator[Finding]:
    version = f"Postgres {database['version']}, pgvector {database.get('pgvector', 'missing')}"
    pgvector = tuple(int(part) for part in database.get("pgvector", "0.0").split(".")[:2])
    good = pgvector >= PGVECTOR
    yield Finding("database", FINE if good else WRONG, version, "" if good else "pgvector must be 0.8 or newer")
    found, expected = database["schemaVersion"], database["expectedSchemaVersion"]
    remedy = "" if found == expected else "run `infinicon migrate`, then restart the processes"
    yield Finding("schema", FINE if not remedy else WRONG, f"{found}, this release needs {expected}", remedy)
    slow = database["milliseconds"] > SLOW_MILLISECONDS
    text = f"answered in {database['milliseconds']:.1f} ms"
    yield Finding("latency", WARNING if slow else FINE, text, "put API and workers near the database" if slow else "")
    skewed = abs(database["clockSkewSeconds"]) > SKEW_SECONDS
    text = f"database and API differ by {abs(database['clockSkewSeconds']):.1f} s"
    yield Finding("clock", WARNING if skewed else FINE, text, "run NTP on both hosts" if skewed else "")


def _parts(status: Wire) -> Iterator[Finding]:
    if status["broker"]["ok"]:
        yield Finding("broker", FINE, "takes connections")
    else:
        yield Finding(
            "broker",
            WRONG,
            "takes no connection; what is ingested is stored and waits in Postgres",
            "start it, or correct INFINICON_BROKER_URL; nothing is lost meanwhile",
        )
    for kind in WORKER_KINDS:
        number = status["workers"].get(kind, 0)
        remedy = "" if number else f"start one: infinicon worker {kind}"
        yield Finding("workers", FINE if number else WRONG, f"{number} of kind {kind} answer", remedy)
    if status["encoder"]["ok"]:
        yield Finding("encoder", FINE, f"answers, model {status['encoder']['model']}")
    else:
        yield Finding("encoder", WRONG, "does not answer: no query can be served", "start it: infinicon encoder")
    yield _scheduler(status["scheduler"])


def _scheduler(scheduler: Wire) -> Finding:
    age = scheduler.get("ageSeconds")
    text = "its tick never came" if age is None else f"its tick came {age:.1f} s ago"
    if scheduler["ok"]:
        return Finding("scheduler", FINE, text)
    remedy = "start beat (infinicon beat), or look at broker and cpu workers; what is due waits in Postgres, and nothing is lost"
    return Finding("scheduler", WRONG, f"{text}: no consolidation starts by itself", remedy)


def _work(work: Wire) -> Iterator[Finding]:
    for lane in work["lanes"]:
        name = lane["lane"]
        text = f"{name}: {lane['waiting']} waiting, {lane['claimed']} in work, the oldest for {lane['oldestSeconds']:.0f} s"
        late = lane["oldestSeconds"] > LONG_WAIT_SECONDS.get(name, 3600.0)
        remedy = "infinicon jobs shows which; add workers, or look at their logs" if late else ""
        yield Finding("work", WARNING if late else FINE, text, remedy)
        if lane["failed"]:
            text = f"{name}: {lane['failed']} episodes failed or were cancelled"
            yield Finding("work", WARNING, text, "infinicon jobs --status failed shows why; infinicon jobs JOB --retry")
    if work["troubledBatches"]:
        text = f"{work['troubledBatches']} open batches were tried before or are taken by nobody"
        yield Finding(
            "work", WARNING, text, "they are tried again by themselves; the workers' logs say why they failed"
        )
    elif not work["lanes"]:
        yield Finding("work", FINE, "nothing waits, nothing failed")
    if work.get("uncountedEntries"):
        text = "entries that the counter of budgets has not counted: each budget counts them when it reads"
        yield Finding(
            "entries", WARNING, text, "infinicon reindex --namespace NAME counts them, once for each namespace"
        )
