"""What the commands of deletion ask and how they show it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infinicon.cli import exits
from infinicon.cli.client import Client, Wire
from infinicon.cli.connection import database
from infinicon.cli.faults import NoServer, WrongUsage
from infinicon.cli.output import note, show_json, visible
from infinicon.cli.reading import refs_of

if TYPE_CHECKING:
    from infinicon.operations.verify_erasure import Report

POLL_SECONDS = 1.0
DELETABLE = ("episode", "atom", "consolidation")
NOT_LOOKED_FOR = (
    "what says the same in other words, single words, and parts of a sentence of fewer than 48 letters",
    "Base64, entities of HTML and other encodings than UTF-8 and the escapes of JSON",
    "vectors and digests, which hold no text",
)
OUT_OF_REACH = (
    "backups and replicas, and the write-ahead log that was archived",
    "copies that clients, exports and other systems have made",
)


def tombstone(client: Client, scope: Wire, ids: Sequence[str], reason: str, cascade: str, *, as_json: bool) -> None:
    """Delete by name; exit 5 where something is not there."""
    refs = [ref for given in ids for ref in refs_of(given, scope, DELETABLE)]
    reply = client.post("/v0/tombstone", {"scope": scope, "refs": refs, "reason": reason, "cascadePolicy": cascade})
    reply = {**reply, "results": _one_each(reply["results"])}
    if as_json:
        show_json(reply)
    else:
        for result in reply["results"]:
            derived = len(result.get("affectedDerivedRefs", ()))
            name = visible(result["ref"]["id"])
            # An id alone that leads nowhere was asked for as every type, and is none of them.
            if result["status"] != "not_found" or result["ref"]["id"] not in ids:
                name = f"{result['ref']['type']} {name}"
            print(f"{result['status']:<19} {name}  {derived} derived")
    if any(result["status"] in {"not_found", "rejected"} for result in reply["results"]):
        sys.exit(exits.NOT_FOUND)


def _one_each(results: Sequence[Wire]) -> list[Wire]:
    """An id alone was asked for as every type; at most one of them is there, and the others say nothing."""
    best: dict[str, Wire] = {}
    for result in results:
        name = result["ref"]["id"]
        if name not in best or best[name]["status"] == "not_found":
            best[name] = result
    return list(best.values())


def metadata_of(pairs: Sequence[str]) -> Wire | None:
    """NAME=VALUE pairs; a value that is JSON is taken as such."""
    found: Wire = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise WrongUsage("metadata is NAME=VALUE", "for example --metadata person=p-17")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found or None


def check_extent(agent: str | None, session: str | None, metadata: Wire | None, *, everything: bool) -> None:
    """A whole namespace goes only where that is said. Raises WrongUsage."""
    narrowed = agent is not None or session is not None or metadata is not None
    if not narrowed and not everything:
        raise WrongUsage(
            "this would erase the whole namespace", "say --everything, or narrow it by --agent, --session, --metadata"
        )
    if narrowed and everything:
        raise WrongUsage("--everything and a narrower scope are two wishes", "give one of them")


def erase(
    client: Client,
    scope: Wire,
    reason: str,
    metadata: Wire | None,
    *,
    everything: bool,
    wait: bool,
    as_json: bool,
) -> None:
    """Start an erasure, and see it through if that is wanted."""
    extent = {"everything": True} if everything else {} if metadata is None else {"metadata": metadata}
    job = client.post("/v0/erase", {"scope": scope, "reason": reason, **extent})
    while wait and job["status"] in {"queued", "running"}:
        time.sleep(POLL_SECONDS)
        job = client.post("/v0/get-job", {"scope": scope, "jobId": job["jobId"]})
    if as_json:
        show_json(job)
    else:
        progress = job["progress"]
        print(f"{job['jobId']}  {job['status']}  {progress['done']} of {progress['total']} episodes")
    if not wait:
        note(f"watch it: infinicon jobs {job['jobId']} --namespace {visible(scope['namespaceId'])} --watch")
    elif job["status"] != "completed":
        sys.exit(exits.FAILED)


def verify(data_dir: Path | None, *, rewrite: bool, skip_short: bool, as_json: bool) -> None:
    """Look for the text of standard input everywhere; exit 1 where something of it is left, 7 where that cannot be known.

    Raises:
        WrongUsage: the text, or the role, cannot prove anything.
        NoServer: Postgres does not answer.
    """
    from infinicon.embedded.bootstrap import superuser_url
    from infinicon.errors import InvalidRequest, MissingDependency, Unavailable
    from infinicon.operations.verify_erasure import verify_erasure

    url, _ = database(data_dir, superuser_url, "a role that sees every row")
    if sys.stdin.isatty():
        note("type or paste the text, then Ctrl-D:")
    try:
        report = verify_erasure(url, sys.stdin.read(), rewrite=rewrite, skip_short=skip_short)
    except (InvalidRequest, MissingDependency) as fault:
        raise WrongUsage(fault.message, str(fault.details.get("remedy", ""))) from None
    except Unavailable as fault:
        raise NoServer(fault.message) from None
    if as_json:
        show_json(_as_json(report))
    else:
        _show(report)
    if not report.proven:
        sys.exit(exits.NOT_PROVEN if report.clean else exits.FAILED)


def _as_json(report: Report) -> Wire:
    return {
        "clean": report.clean,
        "proven": report.proven,
        "tables": report.tables,
        "traces": [
            {
                "what": "whole" if t.whole else "piece",
                "table": t.place.table,
                "column": t.place.column,
                "id": t.place.name,
                "rows": t.rows,
            }
            | ({} if t.kind is None else {"type": t.kind, "status": t.status})
            for t in report.traces
        ],
        "files": report.files,
        "logFiles": report.log,
        "tooShort": report.short,
        "notRead": report.unread,
        "notLookedFor": list(NOT_LOOKED_FOR),
        "notReached": list(OUT_OF_REACH),
    }


def _show(report: Report) -> None:
    for t in report.traces:
        holder = f"{t.kind} {t.place.name} ({t.status})" if t.kind else f"{t.rows} rows"
        print(f"{'whole' if t.whole else 'piece'} text in {t.place.table}.{t.place.column}: {holder}")
    for name in report.files:
        where = "" if report.traces else ", outside of living rows: --rewrite removes them"
        print(f"bytes of it in the file of {name}{where}")
    if report.log:
        print(f"bytes of it in {report.log} files of the write-ahead log, until they are recycled")
    for place in report.unread:
        print(f"could not be read: {place} (--rewrite removes them)")
    if report.short:
        print(
            f"too short to be looked for by themselves: {report.short} sentences or values of fewer than 8 letters and digits "
            "(--skip-short passes over them)"
        )
    left = "something of it is left" if not report.clean else "nothing of it is left"
    verdict = (
        left
        if report.proven or not report.clean
        else "nothing of it was found, which is not proof that nothing is left"
    )
    print(f"{report.tables} tables, their indexes and files were searched: {verdict}")
    for what in NOT_LOOKED_FOR:
        print(f"not looked for: {what}")
    for place in OUT_OF_REACH:
        print(f"not looked at: {place}")
