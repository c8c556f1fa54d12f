"""`infinicon demo`: the main job on real input. Starts everything, sends Apollo 13 through the API, asks five questions."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from rich.console import Console

from infinicon.cli import demo_view as view
from infinicon.cli import transcript
from infinicon.cli.client import Wire
from infinicon.cli.faults import CommandFailed
from infinicon.cli.instance import Client, Instance, InstanceFailed, let_signals_unwind, running

QUESTIONS = (
    "Houston, what problem have they had?",
    "What is venting into space outside the spacecraft?",
    "How do we build the lithium hydroxide canister rig from bags and gray tape?",
    "What happened to the Beatles?",
    "How many parachutes opened before splashdown?",
)
HITS = 3


@dataclass(slots=True)
class Outcome:
    """What went wrong, and how long each phase took."""

    faults: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = time.monotonic() - began


def run_demo(sample: Path | None, data_dir: Path | None, *, keep: bool) -> int:
    """Ingest the whole transcript, watch it pass every stage, ask five questions. The exit code: 1 where anything is missing."""
    console = Console(highlight=False)
    outcome = Outcome()
    let_signals_unwind()
    try:
        episodes = transcript.read(sample or transcript.SAMPLE)
        with _directory(data_dir, keep=keep, console=console) as directory:
            _run(directory, episodes, console, outcome)
    except (InstanceFailed, CommandFailed, OSError, httpx.HTTPError) as fault:
        outcome.faults.append(str(fault) or type(fault).__name__)
    except KeyboardInterrupt:
        outcome.faults.append("interrupted")
    view.timings(console, outcome.seconds)
    view.verdict(console, outcome.faults)
    return 1 if outcome.faults else 0


def _run(directory: Path, episodes: list[Wire], console: Console, outcome: Outcome) -> None:
    console.print("Starting Postgres, Valkey, the API, the encoder, workers, beat and Flower …")
    with contextlib.ExitStack() as stack:
        with outcome.phase("start"):
            instance = stack.enter_context(running(directory))
        console.print(f"Ready at {instance.url}, Flower at {instance.flower_url}")
        stack.enter_context(_stopping(console))
        client = stack.enter_context(Client(instance, transcript.NAMESPACE))
        _ingest(client, episodes, console, outcome)
        with outcome.phase("questions"):
            for number, question in enumerate(QUESTIONS, 1):
                _ask(client, number, question, console, outcome)
        _tasks(instance, console, outcome)
        stopping = time.monotonic()
    outcome.seconds["stop"] = time.monotonic() - stopping


def _ingest(client: Client, episodes: list[Wire], console: Console, outcome: Outcome) -> None:
    with outcome.phase("ingest to findable"), view.live_progress(console, len(episodes)) as live:
        sent = transcript.Sent()
        jobs: list[Wire] = []
        for progress, latest in transcript.send_and_follow(client, episodes, sent):
            live.show(progress)
            jobs = latest
    view.jobs(console, sent.results, jobs)
    if sent.results.get("rejected"):
        outcome.faults.append(f"{sent.results['rejected']} episodes were rejected")
    if unfinished := [job for job in jobs if job["status"] != "completed" or job["progress"]["failed"]]:
        outcome.faults.append(f"{len(unfinished)} of {len(jobs)} jobs did not complete")


def _ask(client: Client, number: int, question: str, console: Console, outcome: Outcome) -> None:
    began = time.monotonic()
    hits = client.query(question, HITS)
    objects = client.hydrate(_refs_to_load(hits))
    view.answer(console, number, question, hits, objects, time.monotonic() - began)
    if not hits:
        outcome.faults.append(f"question {number} found nothing")


def _refs_to_load(hits: list[Wire]) -> list[Wire]:
    """The hits and the newest source of each, once: an atom's text is its own, speaker and mission time are its episode's."""
    refs = [hit["ref"] for hit in hits] + [hit["sources"][0] for hit in hits if hit.get("sources")]
    return list({ref["id"]: ref for ref in refs}.values())


def _tasks(instance: Instance, console: Console, outcome: Outcome) -> None:
    tasks = instance.flower("/api/tasks?limit=5000")
    view.flower(console, instance, tasks)
    if not tasks:
        outcome.faults.append("Flower saw no task")


@contextlib.contextmanager
def _directory(given: Path | None, *, keep: bool, console: Console) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    directory = Path(tempfile.mkdtemp(prefix="infinicon-demo-"))
    try:
        yield directory
    finally:
        if keep:
            console.print(f"Kept. Start it again with: infinicon up --data-dir {directory}", soft_wrap=True)
        else:
            shutil.rmtree(directory)


@contextlib.contextmanager
def _stopping(console: Console) -> Iterator[None]:
    try:
        yield
    finally:
        console.print("\nStopping …")
