"""Pipeline efficiency: texts a second end to end ÷ texts a second of a bare encode loop, alternating in one run.

End to end: a fresh `infinicon up` takes in the Apollo 13 transcript; the clock runs from the first POST until the last row is findable (all
jobs are completed, and query finds the last utterance). Bare: the same embedder over exactly the texts that the model embedded in that
round, at its own best settings, with nothing else running.

    python -m bench.pipeline [--rounds 3] [--quick] [--output bench/results/pipeline.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import psutil
import psycopg

from bench.cpu_profile import CpuProfile, busy_seconds, own_seconds
from infinicon.cli import transcript
from infinicon.cli.client import Wire
from infinicon.cli.instance import Client, Instance, let_signals_unwind, running
from infinicon.embedded.postgres import DATABASE, Postgres
from infinicon.embedded.secrets import load_or_create
from infinicon.keyring import new_api_key
from infinicon.operations.embed import rendered

RESULTS = Path(__file__).parent / "results" / "pipeline.json"
QUICK_EPISODES = 2000
TARGET = 0.6
QUIET = 0.10

EMBEDDED_TEXTS = """
    SELECT DISTINCT ON (s.digest) m.speaker,
           substring(coalesce(m.search_text, m.content) FROM s.span_start + 1 FOR s.span_end - s.span_start)
    FROM infinicon.space_rows s JOIN infinicon.memories m ON m.tenant = s.tenant AND m.id = s.memory
    WHERE s.vector IS NOT NULL
    ORDER BY s.digest
"""


@dataclass(frozen=True, slots=True)
class Round:
    """One end-to-end run and the bare loop over its texts. Seconds; `cpu` is CPU seconds by process during ingest.

    `disturbed` is what share of the cores' time went to programs that are not ours: end to end, and during the bare loop. A round counts
    where both are small.
    """

    episodes: int
    texts: int
    start: float
    accepted: float
    findable: float
    stop: float
    bare: float
    cpu: dict[str, float]
    waited_at: dict[str, float]
    disturbed: tuple[float, float]

    @property
    def end_to_end_rate(self) -> float:
        return self.texts / self.findable

    @property
    def bare_rate(self) -> float:
        return self.texts / self.bare


def main() -> None:
    options = _options()
    let_signals_unwind()
    episodes = transcript.read(transcript.SAMPLE)[: QUICK_EPISODES if options.quick else None]
    rounds = []
    for number in range(1, (1 if options.quick else options.rounds) + 1):
        rounds.append(measure(episodes))
        last = rounds[-1]
        print(
            f"round {number}: {last.texts} texts of {last.episodes} episodes; end to end {last.end_to_end_rate:.1f}/s "
            f"({last.findable:.1f} s), bare {last.bare_rate:.1f}/s ({last.bare:.1f} s), ratio {_ratio(last):.3f}, "
            f"disturbed {last.disturbed[0]:.0%} and {last.disturbed[1]:.0%}"
        )
    report = summary(rounds)
    if not report["undisturbed_rounds"]:
        print(
            f"every round was disturbed: other programs had more than {QUIET:.0%} of the cores. This measures nothing; run it again."
        )
    print(f"median: end to end {report['end_to_end_texts_per_second']}/s, bare {report['bare_texts_per_second']}/s")
    print(f"pipeline efficiency {report['efficiency']} (at least {TARGET} is wanted)")
    print("CPU seconds of the last round:", json.dumps(rounds[-1].cpu))
    if not options.quick:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help=f"one round of {QUICK_EPISODES} episodes; writes nothing")
    parser.add_argument("--output", type=Path, default=RESULTS)
    return parser.parse_args()


def measure(episodes: list[Wire]) -> Round:
    with tempfile.TemporaryDirectory(prefix="infinicon-bench-") as folder:
        began = time.perf_counter()
        with running(Path(folder) / "data") as instance:
            start = time.perf_counter() - began
            busy, own, watched = busy_seconds(), own_seconds(), time.perf_counter()
            accepted, findable, cpu, waited_at = _ingest(instance, episodes)
            ours = own_seconds() - own + sum(cpu.values())
            disturbed = _share(busy_seconds() - busy - ours, time.perf_counter() - watched)
            texts = _embedded_texts(instance)
            stopping = time.perf_counter()
        stop = time.perf_counter() - stopping
        busy, own, watched = busy_seconds(), own_seconds(), time.perf_counter()
        bare = _bare(texts, Path(folder) / "texts.json")
        bare_disturbed = _share(busy_seconds() - busy - (own_seconds() - own), time.perf_counter() - watched)
    return Round(
        len(episodes), len(texts), start, accepted, findable, stop, bare, cpu, waited_at, (disturbed, bare_disturbed)
    )


def _share(foreign: float, seconds: float) -> float:
    return round(max(0.0, foreign) / (seconds * (os.cpu_count() or 1)), 3)


def _ingest(instance: Instance, episodes: list[Wire]) -> tuple[float, float, dict[str, float], dict[str, float]]:
    """Seconds to the last reply of ingest and to the last row findable; CPU seconds; episode-seconds at each stage, a mean episode's."""
    answered: list[float] = []
    waited_at = dict.fromkeys(("waiting", "extract", "embed", "index"), 0.0)
    with Client(instance, transcript.NAMESPACE) as client, CpuProfile(instance.pid) as profile:
        began = looked = time.perf_counter()
        sent = transcript.Sent()
        for progress, jobs in transcript.send_and_follow(
            client, episodes, sent, lambda _: answered.append(time.perf_counter())
        ):
            now = time.perf_counter()
            for stage in waited_at:
                waited_at[stage] += getattr(progress, stage) * (now - looked)
            looked = now
            unhappy = [job for job in jobs if job["status"] in {"failed", "cancelled"}]
            assert not unhappy, "a job failed"
        assert progress.done == len(episodes), "an episode is missing"
        _find(client, episodes[-1])
        findable = time.perf_counter() - began
    return (
        answered[-1] - began,
        findable,
        profile.seconds,
        {stage: round(s / len(episodes), 2) for stage, s in waited_at.items()},
    )


def _find(client: Client, episode: Wire) -> None:
    hits = client.query(episode["content"], 20)
    refs = [hit["ref"] for hit in hits] + [source for hit in hits for source in hit.get("sources", [])]
    found = client.hydrate(list({ref["id"]: ref for ref in refs}.values()))
    assert any(item["content"] == episode["content"] for item in found.values()), "the last utterance is not found"


def _embedded_texts(instance: Instance) -> list[str]:
    secrets = load_or_create(instance.data_dir, new_api_key=new_api_key, has_data=True)
    sockets = (instance.data_dir / "run").resolve()
    server = Postgres(instance.data_dir, sockets, None, secrets.superuser_password)
    with psycopg.connect(server.superuser_url(DATABASE)) as connection:
        return [rendered(speaker, text) for speaker, text in connection.execute(EMBEDDED_TEXTS)]


def _bare(texts: list[str], file: Path) -> float:
    file.write_text(json.dumps(texts), encoding="utf-8")
    script = Path(__file__).with_name("bare_encode.py")
    done = subprocess.run([sys.executable, str(script), str(file)], stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def _ratio(measured: Round) -> float:
    return measured.end_to_end_rate / measured.bare_rate


def summary(rounds: list[Round]) -> Wire:
    """Medians over the rounds that nobody disturbed (over all, where there is none), every round as it was, and what it ran on."""
    quiet = [item for item in rounds if max(item.disturbed) <= QUIET]
    counted = quiet or rounds
    return {
        "efficiency": round(statistics.median(_ratio(item) for item in counted), 3),
        "undisturbed_rounds": len(quiet),
        "efficiency_by_round": [round(_ratio(item), 3) for item in rounds],
        "end_to_end_texts_per_second": round(statistics.median(item.end_to_end_rate for item in counted), 1),
        "bare_texts_per_second": round(statistics.median(item.bare_rate for item in counted), 1),
        "rounds": [asdict(item) for item in rounds],
        "machine": machine(),
    }


def machine() -> Wire:
    """What the numbers depend on; nothing that names a machine or a person."""
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "architecture": platform.machine(),
        "avx512_bf16": "avx512_bf16" in cpuinfo,
        "amx_bf16": "amx_bf16" in cpuinfo,
        "python": platform.python_version(),
        "versions": {
            name: version(name) for name in ("torch", "sentence-transformers", "celery", "psycopg", "infinicon")
        },
    }


if __name__ == "__main__":
    main()
