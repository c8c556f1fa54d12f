"""What `infinicon consolidate` asks of a server and how it shows it: started, shown before it happens, taken back."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from infinicon.cli import exits
from infinicon.cli.client import Client, Wire
from infinicon.cli.job_control import Jobs, watch_job
from infinicon.cli.output import note, show_json, visible

MADE = (
    ("memories", "memory looked at", "memories looked at"),
    ("consolidations", "consolidation made", "consolidations made"),
    ("superseded", "superseded", "superseded"),
    ("duplicates", "duplicate folded", "duplicates folded"),
    ("disputed", "disputed", "disputed"),
)
REFUSED = ("refused", "refused, since it was taken back before", "refused, since they were taken back before")
LONGEST_LINE = 160
OPEN = ("queued", "running")


def start(client: Client, scope: Wire, *, wait: bool, as_json: bool) -> int:
    """Start a consolidation, or find the one that works there; with `wait` until it is over, and its end is the exit code."""
    started = client.post("/v0/consolidate", {"scope": scope, "trigger": "manual"})
    job: str = started["jobId"]
    if wait:
        jobs = Jobs(client, scope, {})
        code = exits.FINE if started["status"] not in OPEN else watch_job(jobs, job, as_json=as_json)
        if not as_json:
            _came_to(jobs.one(job))
        elif started["status"] not in OPEN:
            show_json(jobs.one(job))
        return code
    if as_json:
        show_json(started)
    elif started["status"] in OPEN:
        note(f"consolidation is job {job}; to follow it: infinicon jobs {job} --watch")
    else:
        note("nothing waits to be consolidated")
    return exits.FINE


def preview(client: Client, scope: Wire, *, as_json: bool) -> int:
    """Show what would be made."""
    plan = client.post("/v0/consolidate", {"scope": scope, "trigger": "manual", "mode": "preview"})["plan"]
    if as_json:
        show_json(plan)
        return exits.FINE
    for digest in plan["digests"]:
        print(f"consolidation of {len(digest['sourceRefs'])} memories: {visible(digest['title'])}")
        for line in digest["content"].splitlines():
            print(f"    {visible(line)}")
        _refs("from", digest["sourceRefs"])
        _refs("in the place of", digest["replaces"])
    for name, middle in (
        ("supersessions", "superseded by"),
        ("duplicates", "folded into"),
        ("disputes", "disputed by"),
    ):
        for pair in plan[name]:
            why = f"  ({visible(pair['reason'])})" if "reason" in pair else ""
            print(f"{pair['ref']['id']}  {_line(pair['content'])}")
            print(f"  {middle} {pair['other']['id']}  {_line(pair['otherContent'])}{why}")
    more = "" if plan["complete"] else ": the first slice, more waits behind it"
    note(f"{_counted(plan['memories'], 'memory', 'memories')} looked at{more}; nothing was changed")
    return exits.FINE


def _line(content: str) -> str:
    """Of a text as much as fits a line."""
    flat = " ".join(content.split())
    return visible(flat if len(flat) <= LONGEST_LINE else f"{flat[:LONGEST_LINE]}…")


def _refs(name: str, refs: Sequence[Wire]) -> None:
    for ref in refs:
        print(f"  {name} {ref['type']} {ref['id']}")


def undo(client: Client, scope: Wire, job: str, *, as_json: bool) -> int:
    """Take back what a consolidation changed."""
    found = client.post(f"/v0/jobs/{quote(job, safe='')}/undo", {"scope": scope})
    if as_json:
        show_json(found)
    else:
        result = found.get("result") or {}
        undone, revived = result.get("undone", 0), result.get("revived", 0)
        gone = _counted(undone, "consolidation deleted", "consolidations deleted")
        note(f"{gone}, {_counted(revived, 'memory active again', 'memories active again')}")
    return exits.FINE


def _came_to(job: Wire) -> None:
    result = job.get("result") or {}
    made = [*MADE, REFUSED] if result.get("refused") else MADE
    note(", ".join(_counted(result.get(name, 0), one, many) for name, one, many in made))


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
