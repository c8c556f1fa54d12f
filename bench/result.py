"""The result of a figure: its rounds, what they come to, the verdict, and what it was measured on. Kept as JSON in bench/results."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from bench.figure import Figure, Json, Round
from bench.machine import commit, machine
from bench.noise import QUIET

FOLDER = Path(__file__).parent / "results"


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105 -- no password, a verdict
    FAIL = "fail"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Result:
    """Numbers are None where the figure was not run, or broke; `reason` says in a sentence why the verdict is what it is."""

    figure: str
    verdict: Verdict
    reason: str
    value: float | None = None
    ours: float | None = None
    baseline: float | None = None
    bound: str = ""
    rounds: Sequence[Round] = ()
    undisturbed_rounds: int = 0
    information: Json | None = None
    quick: bool = False
    date: str = ""
    commit: str | None = None
    machine: Json | None = None


def judge(figure: Figure, rounds: Sequence[Round], *, quick: bool) -> Result:
    """Medians over the rounds that nobody disturbed (over all, where there is none, or where others cannot move the value)."""
    quiet = [item for item in rounds if item.disturbed <= QUIET]
    counted = quiet if quiet and figure.timed else rounds
    value = statistics.median(item.value for item in counted)
    holds = figure.direction.holds(value, figure.bound)
    return Result(
        figure=figure.name,
        verdict=Verdict.PASS if holds else Verdict.FAIL,
        reason=_reason(figure, value, rounds, len(quiet)),
        value=_rounded(value),
        ours=_rounded(statistics.median(item.ours for item in counted)),
        baseline=_rounded(statistics.median(item.baseline for item in counted)),
        bound=bound_of(figure),
        rounds=tuple(rounds),
        undisturbed_rounds=len(quiet),
        information=_medians(counted),
        quick=quick,
        date=datetime.now(UTC).date().isoformat(),
        commit=commit(),
        machine=machine(),
    )


def judge_again(figure: Figure, result: Result) -> Result:
    """The same rounds by the bound of today; when and on what they were measured stays."""
    today = judge(figure, result.rounds, quick=result.quick)
    return replace(today, date=result.date, commit=result.commit, machine=result.machine)


def not_run(figure: Figure, reason: str) -> Result:
    return Result(figure.name, Verdict.NOT_RUN, reason, bound=bound_of(figure))


def broken(figure: Figure, reason: str) -> Result:
    """It was run, and there is no number: that is no pass."""
    return Result(figure.name, Verdict.FAIL, reason, bound=bound_of(figure))


def bound_of(figure: Figure) -> str:
    return f"{figure.direction} {shown(figure.bound)}"


def shown(value: float) -> str:
    """Three digits that count, as a person reads them."""
    if value == 0 or abs(value) >= 100 or (value == int(value) and abs(value) >= 10):
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def _reason(figure: Figure, value: float, rounds: Sequence[Round], quiet: int) -> str:
    side = "is" if figure.direction.holds(value, figure.bound) else "is not"
    told = f"{shown(value)} {side} {bound_of(figure)}"
    if not figure.timed or quiet == len(rounds):
        return told
    if quiet:
        return f"{told}; {len(rounds) - quiet} of {len(rounds)} rounds were disturbed and are not counted"
    most = max(item.disturbed for item in rounds)
    return f"{told}, but every round was disturbed (others had up to {most:.0%} of the cores): measure again when it is quiet"


def _rounded(value: float) -> float:
    """Four digits that count, and no digit before the point lost: counts stay what they are."""
    return float(round(value)) if abs(value) >= 1000 else float(f"{value:.4g}")


def _medians(rounds: Sequence[Round]) -> Json:
    names = dict.fromkeys(name for item in rounds for name in item.information)
    return {
        name: _rounded(statistics.median(item.information[name] for item in rounds if name in item.information))
        for name in names
    }


def to_json(result: Result) -> str:
    fields = asdict(result)
    fields["rounds"] = [{"value": _rounded(item.value), **_compact(asdict(item))} for item in result.rounds]
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def _compact(item: Json) -> Json:
    series = {name: [_rounded(number) for number in numbers] for name, numbers in item["series"].items()}
    information = {name: _rounded(number) for name, number in item["information"].items()}
    return {**item, "information": information, "series": series}


def from_json(text: str) -> Result:
    fields = json.loads(text)
    rounds = [Round(**{key: held for key, held in item.items() if key != "value"}) for item in fields["rounds"]]
    return Result(**{**fields, "verdict": Verdict(fields["verdict"]), "rounds": tuple(rounds)})


def write(result: Result, folder: Path = FOLDER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.figure}.json"
    path.write_text(to_json(result), encoding="utf-8")
    return path


def read_all(figures: Iterable[Figure], folder: Path = FOLDER) -> dict[str, Result]:
    """The results that are there, by figure, in the order of `figures`."""
    paths = {figure.name: folder / f"{figure.name}.json" for figure in figures}
    return {name: from_json(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}
