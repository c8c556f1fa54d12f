"""What `infinicon jobs` and `infinicon reindex` ask of a server and how they show it: many jobs, one, and both as they go on."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from infinicon.cli import exits
from infinicon.cli.client import Client, Wire
from infinicon.cli.faults import CommandFailed
from infinicon.cli.output import note, show_json, table, visible

PAGE = 200
POLL_SECONDS = 1.0
PATIENCE_SECONDS = 60.0
"""How long a server that answered once is waited for while a job is watched."""

OPEN = ("queued", "running")
REMEDIES = {
    "cancelled": "somebody cancelled it: `infinicon jobs {job} --retry` queues again what was not done",
    "stage_timeout": "a stage hung, or its worker died again and again: `infinicon doctor` and the workers' logs say why; "
    "then `infinicon jobs {job} --retry`",
    "plugin_failed": "the plug-in refused some content: correct or update it, then `infinicon jobs {job} --retry`",
    "empty_synthesis": "the consolidator made a text that says nothing: correct or update it, then `infinicon jobs {job} --retry`",
    "invalid_content": "this content cannot be read and will not be the next time: correct it at its source and ingest it again",
}
REMEDY = "`infinicon jobs {job} --retry` queues again what failed; `infinicon doctor` looks for the cause"


@dataclass(frozen=True, slots=True)
class Jobs:
    """Which jobs are meant: those of a scope that fit the filter."""

    client: Client
    scope: Wire
    wanted: Mapping[str, str]

    def page(self, limit: int, cursor: str | None = None) -> Wire:
        """Raises ApiRefused, NoServer."""
        more: dict[str, str | int] = {"limit": limit} if cursor is None else {"limit": limit, "cursor": cursor}
        return self.client.get("/v0/jobs", {**self.scope, **self.wanted, **more})

    def newest(self, number: int) -> Wire:
        """The newest jobs, in as many pages as it takes, with the summary of all."""
        reply = self.page(min(number, PAGE))
        found: list[Wire] = reply["jobs"]
        while "cursor" in reply and len(found) < number:
            reply = self.page(min(number - len(found), PAGE), reply["cursor"])
            found = [*found, *reply["jobs"]]
        return {**reply, "jobs": found}

    def one(self, job: str) -> Wire:
        return self.client.get(_path(job), self.scope)

    def change(self, job: str, verb: str) -> Wire:
        """The job after `cancel` or `retry`; a note where that changed nothing."""
        found = self.client.post(f"{_path(job)}/{verb}", {"scope": self.scope})
        if verb == "cancel" and found["status"] != "cancelled":
            note(f"it was over already: {found['status']}")
        if verb == "retry" and found["status"] not in OPEN:
            note(
                "nothing of it failed or was cancelled"
                if found["status"] == "completed"
                else "nothing is left to retry"
            )
        return found


def _path(job: str) -> str:
    return f"/v0/jobs/{quote(job, safe='')}"


# --- Once -----------------------------------------------------------------------------------------------------------


def show_list(jobs: Jobs, number: int, *, as_json: bool) -> None:
    """The newest jobs as a table, and below it how all of them stand."""
    reply = jobs.newest(number)
    if as_json:
        show_json(reply)
        return
    if reply["jobs"]:
        table(HEADERS, [_row(job) for job in reply["jobs"]])
    else:
        note("no job fits")
    note(_summary(reply["summary"]))
    if "cursor" in reply:
        note("there are older ones: --limit shows more")


def show_job(job: Wire, *, as_json: bool) -> None:
    """One job in full, with what to do about its error."""
    if as_json:
        show_json(job)
        return
    rows = [
        ("type", job["type"]),
        ("status", job["status"]),
        ("stage", job.get("stage")),
        ("progress", _progress(job)),
        ("waiting", job["progress"]["waiting"] or None),
        ("label", job.get("label")),
        ("created", job["createdAt"]),
        ("updated", job["updatedAt"]),
    ]
    print(f"job {job['jobId']}")
    for name, value in rows:
        if value is not None:
            print(f"  {name:<10}{visible(str(value))}")
    if warnings := _warnings(job):
        print(f"  {'warnings':<10}{warnings} without a vector: found by their words only")
    if error := job.get("error"):
        stage = error.get("details", {}).get("stage")
        print(f"  {'error':<10}{error['code']}{f' in {stage}' if stage else ''}: {visible(error['message'])}")
        print(f"  {'remedy':<10}{remedy(job)}")


def remedy(job: Wire) -> str:
    """What a person can do about a job's error."""
    return REMEDIES.get(job["error"]["code"], REMEDY).format(job=job["jobId"])


def _warnings(job: Wire) -> int:
    result = job.get("result")
    return len(result.get("warnings", ())) if isinstance(result, dict) else 0


HEADERS = ("job", "type", "status", "stage", "progress", "label", "created")


def _row(job: Wire) -> Sequence[str]:
    return (
        job["jobId"],
        job["type"],
        job["status"],
        job.get("stage", ""),
        _progress(job),
        job.get("label", ""),
        job["createdAt"],
    )


def _progress(job: Wire) -> str:
    progress = job["progress"]
    failed = f", {progress['failed']:,} failed" if progress["failed"] else ""
    return f"{progress['done']:,}/{progress['total']:,}{failed}"


def _summary(summary: Wire) -> str:
    jobs, progress = summary["jobs"], summary["progress"]
    standing = ", ".join(f"{number:,} {status}" for status, number in jobs.items() if number) or "none"
    parts = [f"jobs: {standing}", f"{progress['done']:,} of {progress['total']:,} done"]
    parts += [
        f"{progress[where]:,} {where}"
        for where in ("failed", "waiting", "extract", "embed", "index")
        if progress[where]
    ]
    return "; ".join(parts)


# --- As it goes on --------------------------------------------------------------------------------------------------


class Screen:
    """On a terminal the last state stands alone; elsewhere each change is a line of its own."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._height = 0
        self._last = ""

    def show(self, whole: Sequence[str], line: str) -> None:
        """`whole` for a terminal, `line` for everything else."""
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            up = f"\x1b[{self._height}F\x1b[J" if self._height else ""
            print(up + "\n".join(text[:width] for text in whole), flush=True)
            self._height = len(whole)
        elif line != self._last:
            print(line, flush=True)
        self._last = line


def watch_job(jobs: Jobs, job: str, *, as_json: bool) -> int:
    """Until the job is over: exit code 0 where it completed, 1 where it failed or was cancelled."""
    screen = Screen()
    found: Wire = {}
    for found in _answers(lambda: jobs.one(job)):
        line = f"{found['status']}{_at(found)}  {_progress(found)}"
        screen.show([f"job {found['jobId']}  {line}"], _line(found) if as_json else line)
        if found["status"] not in OPEN:
            break
    if found.get("error") and not as_json:
        note(f"{found['error']['code']}: {visible(found['error']['message'])}\n  {remedy(found)}")
    return exits.FINE if found["status"] == "completed" else exits.FAILED


def watch_list(jobs: Jobs, number: int, *, as_json: bool) -> int:
    """Until none of the jobs is open: exit code 0 where all completed, 1 where one failed or was cancelled."""
    screen = Screen()
    standing: Wire = {}
    for reply in _answers(lambda: jobs.newest(number)):
        summary = reply["summary"]
        line = _summary(summary)
        screen.show([*_lines(reply["jobs"]), line], _line(summary) if as_json else line)
        standing = summary["jobs"]
        if not standing["queued"] and not standing["running"]:
            break
    return exits.FAILED if standing["failed"] or standing["cancelled"] else exits.FINE


def _answers(ask: Callable[[], Wire]) -> Iterator[Wire]:
    """One a second. A server that is away for a moment is waited for.

    Raises:
        CommandFailed: it never answered, stays away, or refuses.
    """
    heard: float | None = None
    while True:
        try:
            found = ask()
        except CommandFailed as fault:
            temporary = fault.exit_code in {exits.NO_SERVER, exits.TEMPORARY}
            if heard is None or not temporary or time.monotonic() - heard > PATIENCE_SECONDS:
                raise
        else:
            heard = time.monotonic()
            yield found
        time.sleep(POLL_SECONDS)


def _at(job: Wire) -> str:
    return f" ({job['stage']})" if "stage" in job else ""


def _line(value: Wire) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _lines(jobs: Sequence[Wire]) -> list[str]:
    """The table, as text."""
    if not jobs:
        return []
    with contextlib.redirect_stdout(io.StringIO()) as text:
        table(HEADERS, [_row(job) for job in jobs])
    return text.getvalue().splitlines()


# --- Reindex --------------------------------------------------------------------------------------------------------


def reindex(client: Client, scope: Wire, *, wait: bool, as_json: bool) -> int:
    """Start a reindex, or find the one that runs; with `wait` until it is over, and its end is the exit code."""
    started = client.post("/v0/reindex", {"scope": scope})
    if as_json and not wait:
        show_json(started)
    elif not as_json:
        note(f"reindex is job {started['jobId']}")
    if wait:
        return watch_job(Jobs(client, scope, {}), started["jobId"], as_json=as_json)
    if not as_json:
        note(f"to follow it: infinicon jobs {started['jobId']} --watch")
    return exits.FINE
