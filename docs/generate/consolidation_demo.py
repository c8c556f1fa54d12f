"""`python -m docs.generate.consolidation_demo [LINES]`: Apollo 13, consolidated by beat on schedule; writes docs/consolidation-demo.md.

A real `infinicon up` is told to consolidate every so many seconds, and gets the first lines of the transcript. Nobody asks for anything
else: what the page shows is what was there before and after, by the same questions.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from infinicon.cli import transcript
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, running

PAGE = Path(__file__).parents[1] / "consolidation-demo.md"
LINES = 3_000
SECONDS = 180
"""The schedule. The sample must be indexed within one window, or what is shown as before is not all of it."""

TASKS = (
    "How did the crew sleep?",
    "What do they say about the television camera?",
    "What about the attitude, the deadband and the thrusters?",
    "How well do the crew and Houston hear each other?",
    "What is the state of the batteries?",
    "How are the fuel cells purged?",
    "Is the waste stowage vent valve open or closed?",
    "What do the crew and Houston know about the oxygen tanks?",
    "What did the crew eat?",
    "What do they see out of the windows?",
)
TOKENS = 400
DIGESTS = 2
PATIENCE_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is at one moment: numbers by type and status, and a context for each task."""

    memories: dict[str, dict[str, int]]
    contexts: dict[str, Wire]


def look(client: Client) -> Seen:
    scope = {name: client.scope[name] for name in ("tenantId", "namespaceId")}
    wanted = {"budget": {"maxTokens": TOKENS}, "format": "text"}
    contexts = {task: client.post("/v0/assemble-context", {"task": task, **wanted}) for task in TASKS}
    return Seen(client.api.get("/v0/stats", scope)["memories"], contexts)


def made_in(context: Wire) -> list[Wire]:
    """The refs of consolidations that a context holds."""
    return [part["ref"] for part in context["context"]["segments"] if part["ref"]["type"] == "consolidation"]


def completed(client: Client) -> list[Wire]:
    """Events that say that a consolidation is completed."""
    reply = client.post("/v0/subscribe", {"eventTypes": ["consolidation.completed"], "limit": 100})
    found: list[Wire] = reply["events"]
    return found


def wait_for_schedule(client: Client) -> Wire:
    """The job of the schedule, once everything that waited is consolidated."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (events := completed(client)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing was consolidated within {PATIENCE_SECONDS:.0f} s")
        time.sleep(1.0)
    return client.job(events[0]["jobId"])


def digests(client: Client, seen: Seen) -> list[tuple[Wire, list[Wire]]]:
    """Consolidations with the atoms that they are made of: those first that are in the contexts, then what is found by the first task."""
    asked = {"query": TASKS[0], "filters": {"types": ["consolidation"]}, "limit": DIGESTS}
    refs = [ref for context in seen.contexts.values() for ref in made_in(context)]
    refs += [hit["ref"] for hit in client.post("/v0/query", asked)["refs"]]
    refs = list({ref["id"]: ref for ref in refs}.values())[:DIGESTS]
    loaded = client.post("/v0/hydrate", {"refs": refs, "includeProvenance": True})["objects"]
    return [(made, list(client.hydrate(made["provenance"]["sourceRefs"]).values())) for made in loaded]


def run(client: Client, lines: int, seconds: int) -> str:
    """The page: what was there before and after the schedule's consolidation."""
    time.sleep(seconds - time.time() % seconds)  # a whole window lies ahead
    client.post("/v0/policy", {"policy": {"consolidationSchedule": seconds}})
    began = time.monotonic()
    episodes = transcript.read(transcript.SAMPLE)[:lines]
    for _ in transcript.send_and_follow(client, episodes, transcript.Sent()):
        pass
    ready = time.monotonic() - began
    before = look(client)
    if before.memories.get("consolidation"):
        raise TimeoutError(f"{lines} lines are not indexed within {seconds} s: nothing was there to be shown as before")
    job = wait_for_schedule(client)
    after = look(client)
    return page(lines, seconds, ready, before, after, job, digests(client, after))


def page(
    lines: int, seconds: int, ready: float, before: Seen, after: Seen, job: Wire, made: list[tuple[Wire, list[Wire]]]
) -> str:
    result = job["result"]
    producer = made[0][0]["createdBy"]["id"] if made else "none"
    task = max(TASKS, key=lambda task: len(made_in(after.contexts[task])))
    parts = [
        "# Apollo 13, consolidated on schedule",
        f"Made by `python -m docs.generate.consolidation_demo`: the first {lines:,} utterances of the transcript (samples/README.md) went "
        f"into a fresh `infinicon up`, after `infinicon policy set apollo13 --consolidate-schedule {seconds}s`, and were indexed after "
        f"{ready:.0f} s. Nobody asked for a consolidation: beat's tick found the scope due, and one job did it "
        f"with the plug-in `{producer}`.",
        "## Before and after",
        _counts(before, after),
        f"The job looked at {result['memories']:,} memories in {result['slices']} slices: {result['consolidations']} digests, "
        f"{result['duplicates']} duplicates folded, {result['superseded']} superseded (also digests that a later slice made anew), "
        f"{result['disputed']} marked as contradictions. Its trigger is `{result['trigger']}`, its status `{job['status']}`. "
        f"`infinicon consolidate --undo {job['jobId']}` takes it back.",
        "## Two of the digests",
        *[_digest(digest, sources) for digest, sources in made],
        f"## The same contexts, {TOKENS} tokens",
        "Episodes and atoms stay what they are and are found as before; a digest is taken where it ranks higher than what it is made of.",
        _contexts(before, after),
        f"“{task}” before:",
        _fenced(before.contexts[task]["text"]),
        "After:",
        _fenced(after.contexts[task]["text"]),
    ]
    return "\n\n".join(parts) + "\n"


def _counts(before: Seen, after: Seen) -> str:
    kinds = [
        (kind, status)
        for kind in ("episode", "atom", "consolidation")
        for status in ("active", "disputed", "superseded")
    ]
    rows = ["| memories | before | after |", "| --- | ---: | ---: |"]
    for kind, status in kinds:
        numbers = [seen.memories.get(kind, {}).get(status, 0) for seen in (before, after)]
        if any(numbers):
            rows.append(f"| {kind}, {status} | {numbers[0]:,} | {numbers[1]:,} |")
    return "\n".join(rows)


def _contexts(before: Seen, after: Seen) -> str:
    rows = ["| task | the context is | digests in it |", "| --- | --- | ---: |"]
    for task in TASKS:
        same = before.contexts[task]["text"] == after.contexts[task]["text"]
        rows.append(f"| {task} | {'the same' if same else 'another'} | {len(made_in(after.contexts[task]))} |")
    return "\n".join(rows)


def _digest(made: Wire, sources: list[Wire]) -> str:
    lines = [f"“{made['title']}”", "", _fenced(made["content"]), "", f"Made of {len(sources)} atoms, among them:", ""]
    lines += [f"- {source['content']}" for source in sources[:5]]
    return "\n".join(lines)


def _fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def main(arguments: list[str]) -> None:
    lines = int(arguments[0]) if arguments else LINES
    with (
        tempfile.TemporaryDirectory(prefix="infinicon-docs-") as folder,
        running(Path(folder) / "data") as instance,
        Client(instance, transcript.NAMESPACE) as client,
    ):
        PAGE.write_text(run(client, lines, SECONDS), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
