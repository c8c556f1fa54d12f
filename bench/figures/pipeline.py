"""pipeline: texts a second end to end, as a share of texts a second of a bare encode loop over the same texts."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import owner
from bench.figure import Chart, Direction, Figure, MeasurementFailed, Round, Task
from bench.noise import Watched
from infinicon.cli import transcript
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance, running
from infinicon.operations.embed import rendered

QUICK_EPISODES = 2000
STAGES = ("waiting", "extract", "embed", "index")

EMBEDDED_TEXTS = """
    SELECT DISTINCT ON (s.digest) m.speaker,
           substring(coalesce(m.search_text, m.content) FROM s.span_start + 1 FOR s.span_end - s.span_start)
    FROM infinicon.space_rows s JOIN infinicon.memories m ON m.tenant = s.tenant AND m.id = s.memory
    WHERE s.vector IS NOT NULL
    ORDER BY s.digest
"""


def measure(task: Task) -> Iterator[Round]:
    episodes = transcript.read(transcript.SAMPLE)[: QUICK_EPISODES if task.quick else None]
    for number in range(task.rounds):
        yield _round(episodes, task.scratch / str(number))


def _round(episodes: Sequence[Wire], folder: Path) -> Round:
    began = time.perf_counter()
    with running(folder / "data") as instance:
        start = time.perf_counter() - began
        with Watched() as whole:
            accepted, waited_at = _ingest(instance, episodes)
        texts = _embedded_texts(instance)
    with Watched() as alone:
        bare = _bare(texts, folder / "texts.json")
    information = {
        "episodes": len(episodes),
        "texts": len(texts),
        "until ready, s": start,
        "until accepted, s": accepted,
        "until found, s": whole.seconds,
        **{f"CPU of {name}, s": seconds for name, seconds in whole.cpu.items() if seconds >= 0.1},
        **{f"mean time in {stage}, s": seconds for stage, seconds in waited_at.items()},
    }
    return Round(
        len(texts) / whole.seconds, len(texts) / bare, max(whole.disturbed, alone.disturbed), information=information
    )


def _ingest(instance: Instance, episodes: Sequence[Wire]) -> tuple[float, dict[str, float]]:
    """Seconds until the last reply of ingest; how long a mean episode was at each stage. Ends when the last row is found."""
    answered: list[float] = []
    waited_at = dict.fromkeys(STAGES, 0.0)
    with Client(instance, transcript.NAMESPACE) as client:
        began = looked = time.perf_counter()
        progress = transcript.Progress()
        for progress, _jobs in transcript.send_and_follow(
            client, episodes, transcript.Sent(), lambda _: answered.append(time.perf_counter())
        ):
            now = time.perf_counter()
            for stage in STAGES:
                waited_at[stage] += getattr(progress, stage) * (now - looked)
            looked = now
        if progress.done != len(episodes):
            raise MeasurementFailed("an episode failed, or is missing")
        _find(client, episodes[-1])
    return answered[-1] - began, {stage: seconds / len(episodes) for stage, seconds in waited_at.items()}


def _find(client: Client, episode: Wire) -> None:
    hits = client.query(episode["content"], 20)
    refs = [hit["ref"] for hit in hits] + [source for hit in hits for source in hit.get("sources", [])]
    found = client.hydrate(list({ref["id"]: ref for ref in refs}.values()))
    if not any(item["content"] == episode["content"] for item in found.values()):
        raise MeasurementFailed("the last utterance is not found")


def _embedded_texts(instance: Instance) -> list[str]:
    with owner.connect(instance) as connection:
        return [rendered(speaker, text) for speaker, text in connection.execute(EMBEDDED_TEXTS)]


def _bare(texts: Sequence[str], file: Path) -> float:
    file.write_text(json.dumps(texts), encoding="utf-8")
    script = Path(__file__).parents[1] / "bare_encode.py"
    done = subprocess.run([sys.executable, str(script), str(file)], stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def chart(rounds: Sequence[Round]) -> Chart:
    names = [name for name in dict.fromkeys(key for item in rounds for key in item.information) if name[:6] == "CPU of"]
    seconds = {name: [item.information.get(name, 0.0) for item in rounds] for name in names}
    worked = {
        name.removeprefix("CPU of ").removesuffix(", s"): held for name, held in seconds.items() if max(held) >= 1
    }
    return Chart(
        "bars",
        "CPU seconds while everything goes in, by process",
        "round",
        "CPU seconds",
        [str(number) for number in range(1, len(rounds) + 1)],
        worked,
    )


FIGURE = Figure(
    name="pipeline",
    says="How much of what the model can do alone is left when the whole pipe stands around it.",
    ours="texts/s end to end",
    baseline="texts/s of a bare encode loop",
    direction=Direction.AT_LEAST,
    bound=0.6,
    why="Embedding is the limit on a CPU. What HTTP, Postgres, extraction and the broker take from the same cores may cost two fifths of "
    "it, and no more.",
    how="End to end: a fresh `infinicon up` takes in the Apollo 13 transcript; the clock runs from the first POST until every job is "
    "completed and query finds the last utterance. Bare: the same embedder over exactly the texts that the model embedded in that round, "
    "in one call, in a process of its own, with nothing else running.",
    rounds=3,
    quick_rounds=1,
    measure=measure,
    chart=chart,
)
