"""Pictures of the results: the rounds against the bound, and beside them the chart of the figure. PNG for pages, SVG for all else.

A picture holds the digest of the result that it was drawn from, and nothing of when or where: the same result gives the same SVG.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.figure import Chart, Direction, Figure
from bench.machine import ROOT
from bench.result import Result, bound_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = ROOT / "docs" / "images" / "bench"
SIZE = (9.0, 3.4)
DPI = 110
COLOURS = ("#2b6cb0", "#dd6b20", "#718096", "#38a169", "#805ad5", "#d53f8c", "#b7791f", "#319795")
OURS = "#1a202c"
REFUSED = "#fed7d7"
STYLE: Any = {  # its type would be a Literal of some hundred keys
    "svg.hashsalt": "infinicon",  # ids of clip paths come from it, not from chance
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that widths are the same everywhere
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def draw(figure: Figure, result: Result, digest: str, folder: Path = FOLDER) -> list[Path]:
    """Write NAME.png and NAME.svg. Needs the extra `bench`."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    with mpl.rc_context(STYLE):
        canvas, (left, right) = plt.subplots(1, 2, figsize=SIZE, layout="constrained", width_ratios=(1, 2))
        canvas.suptitle(f"{figure.name}: {result.verdict}")
        _rounds(left, figure, result)
        _chart(right, figure.chart(result.rounds))
        for suffix, metadata in (("svg", {"Description": digest, "Date": None}), ("png", {"Description": digest})):
            path = folder / f"{figure.name}.{suffix}"
            canvas.savefig(path, dpi=DPI, metadata=metadata)
            drawn.append(path)
        plt.close(canvas)
    return drawn


def _rounds(axes: Axes, figure: Figure, result: Result) -> None:
    values = [item.value for item in result.rounds]
    top = max(*values, figure.bound) * 1.25
    refused = (0.0, figure.bound) if figure.direction is Direction.AT_LEAST else (figure.bound, top)
    axes.axhspan(*refused, color=REFUSED, lw=0)
    axes.axhline(figure.bound, color=COLOURS[5], lw=1, label=f"bound: {bound_of(figure)}")
    if result.value is not None:
        axes.axhline(result.value, color=OURS, lw=1, ls="--", label="median")
    axes.plot(range(1, len(values) + 1), values, "o", color=OURS, label="round")
    axes.set(
        xlim=(0.4, len(values) + 0.6), ylim=(0, top), xticks=range(1, len(values) + 1), xlabel="round", ylabel="ratio"
    )
    axes.legend(fontsize=7, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.22))


def _chart(axes: Axes, chart: Chart) -> None:
    for at, (name, numbers) in enumerate(chart.series.items()):
        colour = COLOURS[at % len(COLOURS)]
        if chart.kind == "lines":
            axes.plot([float(x) for x in chart.x], numbers, color=colour, label=name)
        else:
            width = 0.8 / len(chart.series)
            axes.bar(
                [place - 0.4 + width * (at + 0.5) for place in range(len(chart.x))],
                numbers,
                width,
                color=colour,
                label=name,
            )
    if chart.kind == "bars":
        axes.set_xticks(range(len(chart.x)), [str(x) for x in chart.x])
    axes.set_ylim(bottom=0)
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
