"""What `infinicon demo` shows: live bars on a terminal, plain lines elsewhere, answers with their sources."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from infinicon.cli.client import Wire
from infinicon.cli.instance import Instance
from infinicon.cli.transcript import Progress

SPEAKERS = {"CDR": "Lovell", "CMP": "Swigert", "LMP": "Haise", "CC": "Houston", "SC": "spacecraft"}
PLAIN_SECONDS = 5.0
STAGES = ("accepted", "extracted", "embedded", "findable")


class LiveProgress(Protocol):
    """Hears again and again where the episodes are."""

    def show(self, progress: Progress) -> None: ...


@contextlib.contextmanager
def live_progress(console: Console, total: int) -> Iterator[LiveProgress]:
    if not console.is_terminal:
        yield _Lines(console, total)
        return
    columns = (
        TextColumn("{task.description:>10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Bars(*columns, TimeElapsedColumn(), console=console) as bars:
        yield _Bars(bars, total)


def _reached(progress: Progress) -> dict[str, int]:
    """How many episodes have left each stage behind; a failed one has left them all."""
    findable = progress.done + progress.failed
    embedded = findable + progress.index
    return {
        "accepted": progress.total,
        "extracted": embedded + progress.embed,
        "embedded": embedded,
        "findable": findable,
    }


class _Bars:
    def __init__(self, bars: Bars, total: int) -> None:
        self._bars = bars
        self._rows = {stage: bars.add_task(stage, total=total, note="") for stage in STAGES}

    def show(self, progress: Progress) -> None:
        at = {"extracted": progress.extract, "embedded": progress.embed, "findable": progress.index}
        for stage, count in _reached(progress).items():
            note = f"{at[stage]} at work" if at.get(stage) else ""
            self._bars.update(self._rows[stage], completed=count, note=note)


class _Lines:
    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._began = time.monotonic()
        self._next = 0.0

    def show(self, progress: Progress) -> None:
        finished = progress.done + progress.failed == self._total
        if not progress.total or (time.monotonic() < self._next and not finished):
            return
        self._next = time.monotonic() + PLAIN_SECONDS
        line = (
            f"accepted {progress.total} of {self._total}: waiting {progress.waiting}, extract {progress.extract}, "
            f"embed {progress.embed}, index {progress.index}, done {progress.done}, failed {progress.failed}"
        )
        self._console.print(f"{time.monotonic() - self._began:6.1f} s  {line}", soft_wrap=True)


def jobs(console: Console, results: Mapping[str, int], found: Sequence[Wire]) -> None:
    """Counts of results and jobs, and one job as getJob reports it."""
    said = ", ".join(f"{count} {status}" for status, count in sorted(results.items()))
    states = ", ".join(f"{count} {status}" for status, count in Counter(job["status"] for job in found).items())
    console.print(f"\n[bold]Episodes[/]: {said}. [bold]Jobs[/]: {states}. The last one, as getJob reports it:")
    if found:
        console.print(escape(json.dumps(found[-1], ensure_ascii=False)), soft_wrap=True)


def answer(
    console: Console, number: int, question: str, hits: Sequence[Wire], objects: Mapping[str, Wire], seconds: float
) -> None:
    """The ranked refs of one question: id, type, score and reason; then the text, who said it and when in the mission."""
    console.print(f"\n[bold]{number}. {escape(question)}[/]  ({seconds * 1000:.0f} ms)")
    for rank, hit in enumerate(hits, 1):
        ref = hit["ref"]
        found = objects[ref["id"]]
        source = objects[hit["sources"][0]["id"]] if hit.get("sources") else found
        reason = escape(str(hit.get("reason", "")))
        console.print(f"  {rank}. {ref['type']} {ref['id']}  score {hit['score']:.3f}  {reason}", soft_wrap=True)
        console.print(f"     “{escape(_text(found['content']))}”", soft_wrap=True)
        console.print(f"     [italic]{escape(_who_and_when(source))}[/]", soft_wrap=True)


def _text(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _who_and_when(source: Wire) -> str:
    metadata = source.get("metadata", {})
    speaker = str(metadata.get("speaker", source["createdBy"]["id"]))
    name = f"{speaker} ({SPEAKERS[speaker]})" if speaker in SPEAKERS else speaker
    return f"{name}, mission time {metadata.get('get', 'unknown')}, {source.get('occurredAt', 'no date')}"


def flower(console: Console, instance: Instance, tasks: Mapping[str, Mapping[str, Any]]) -> None:
    """Flower's tasks by name: states, workers and mean run time."""
    console.print(f"\n[bold]Flower[/] ({instance.flower_url}/api/tasks) saw {len(tasks)} tasks:")
    by_name: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for task in tasks.values():
        by_name[str(task.get("name"))].append(task)
    for name, group in sorted(by_name.items()):
        states = ", ".join(f"{count} {state}" for state, count in Counter(str(task["state"]) for task in group).items())
        times = [float(task["runtime"]) for task in group if task.get("runtime")]
        mean = f"{sum(times) / len(times):.2f} s on average" if times else ""
        console.print(f"  {name:<28} {states:<24} {mean}", soft_wrap=True)


def timings(console: Console, seconds: Mapping[str, float]) -> None:
    if seconds:
        console.print(
            "\n[bold]Time[/]: " + ", ".join(f"{name} {spent:.1f} s" for name, spent in seconds.items()), soft_wrap=True
        )


def verdict(console: Console, faults: Sequence[str]) -> None:
    for fault in faults:
        console.print(f"[bold red]missing:[/] {escape(fault)}", soft_wrap=True)
    if not faults:
        console.print("Everything that went in can be found, with its source.")
