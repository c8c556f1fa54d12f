"""The command line of the workbench: measure, judge, print a table, and keep the results where that is asked for."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import page, plots, result
from bench.figure import Figure, MeasurementFailed, Round, Task
from bench.figures import FIGURES
from bench.result import Result, Verdict
from infinicon.cli.faults import CommandFailed
from infinicon.cli.instance import InstanceFailed, let_signals_unwind

DATA_VARIABLE = "INFINICON_BENCH_DATA"
FAILED = 1


def main(words: Sequence[str]) -> int:
    """The exit code: 0, or 1 where a verdict is fail; argparse itself ends with 2."""
    options = _parser().parse_args(words)
    chosen = [figure for figure in FIGURES if not options.only or figure.name in options.only]
    if options.list:
        for figure in FIGURES:
            print(f"{figure.name:20} {result.bound_of(figure):14} {figure.says}")
        return 0
    if options.redraw:
        redraw()
        return 0
    let_signals_unwind()
    keep = options.write or not options.quick
    began = time.monotonic()
    results = []
    for figure in chosen:
        results.append(run(figure, quick=options.quick, data=options.data))
        print(f"{figure.name}: {results[-1].verdict}: {results[-1].reason}", flush=True)
        if keep and results[-1].rounds:
            result.write(results[-1])
    print()
    print("\n".join(page.table(results)))
    print(f"\n{(time.monotonic() - began) / 60:.1f} minutes")
    if keep:
        redraw()
    return FAILED if any(item.verdict is Verdict.FAIL for item in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds and less data; keeps nothing without --write"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=[figure.name for figure in FIGURES], help="these figures only"
    )
    parser.add_argument("--list", action="store_true", help="name the figures and their bounds, and end")
    parser.add_argument("--write", action="store_true", help="keep the results of --quick, too")
    parser.add_argument(
        "--redraw",
        action="store_true",
        help="measure nothing: judge what is kept by the bounds of today, and draw it again",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        default=os.environ.get(DATA_VARIABLE) or None,
        help=f"folder of the retrieval sets; default: {DATA_VARIABLE}",
    )
    return parser


def run(figure: Figure, *, quick: bool, data: Path | None) -> Result:
    """Measure one figure, telling of each round. What does not work is a verdict, too, so that the next figure has its turn."""
    if figure.data is not None and (data is None or not (data / figure.data).is_file()):
        return result.not_run(figure, f"needs {figure.data} in the folder of --data")
    task_rounds = figure.quick_rounds if quick else figure.rounds
    scratch = Path(tempfile.mkdtemp(prefix="infinicon-bench-"))
    rounds: list[Round] = []
    try:
        for item in figure.measure(Task(task_rounds, quick, scratch, data)):
            rounds.append(item)
            print(f"{figure.name}: round {len(rounds)} of {task_rounds}: {told(figure, item)}", flush=True)
    except (MeasurementFailed, InstanceFailed, CommandFailed, subprocess.CalledProcessError) as fault:
        return result.broken(figure, f"could not be measured: {fault}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return result.judge(figure, rounds, quick=quick)


def told(figure: Figure, item: Round) -> str:
    return (
        f"{result.shown(item.ours)} {figure.ours}; {result.shown(item.baseline)} {figure.baseline}; "
        f"ratio {result.shown(item.value)}; others had {item.disturbed:.0%} of the cores"
    )


def redraw(results: Path = result.FOLDER, pictures: Path = plots.FOLDER, document: Path = page.PAGE) -> None:
    """Judge every kept result by the bound of today, and write the page and the pictures from what is kept."""
    kept = result.read_all(FIGURES, results)
    for figure in FIGURES:
        if figure.name in kept:
            kept[figure.name] = result.judge_again(figure, kept[figure.name])
            path = result.write(kept[figure.name], results)
            plots.draw(figure, kept[figure.name], plots.digest_of(path), pictures)
    page.write(FIGURES, kept, document)
