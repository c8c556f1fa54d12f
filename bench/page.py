"""docs/performance.md: the part between its markers is made from the committed results, and a test holds it to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill

from bench.figure import Figure
from bench.machine import ROOT
from bench.result import Result, bound_of, shown

PAGE = ROOT / "docs" / "performance.md"
BEGIN = "<!-- made by `python -m bench`: begin -->"
END = "<!-- made by `python -m bench`: end -->"
WIDTH = 138
HEADERS = ("figure", "ratio", "bound", "verdict", "ours", "baseline", "rounds undisturbed", "others had", "measured")


def table(results: Iterable[Result]) -> list[str]:
    """Lines of a Markdown table that is aligned, so that it reads well on a terminal, too."""
    rows = [HEADERS, *(_row(item) for item in results)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADERS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]


def _row(item: Result) -> tuple[str, ...]:
    if item.value is None or item.ours is None or item.baseline is None:
        return (item.figure, "–", item.bound, item.verdict.value, "–", "–", "–", "–", item.reason)
    noise = f"{min(one.disturbed for one in item.rounds):.0%} to {max(one.disturbed for one in item.rounds):.0%}"
    return (
        item.figure,
        shown(item.value),
        item.bound,
        item.verdict.value,
        shown(item.ours),
        shown(item.baseline),
        f"{item.undisturbed_rounds} of {len(item.rounds)}",
        noise,
        f"{item.date}, {item.commit or 'no commit'}" + (", quick" if item.quick else ""),
    )


def block(figures: Sequence[Figure], results: Mapping[str, Result]) -> str:
    """What stands between the markers."""
    parts = ["\n".join(table(results[figure.name] for figure in figures if figure.name in results))]
    parts += [_section(figure, results[figure.name]) for figure in figures if figure.name in results]
    return "\n\n".join(parts)


def _section(figure: Figure, item: Result) -> str:
    lines = [
        f"### {figure.name}",
        "",
        figure.says,
        "",
        f"- **Verdict:** {item.verdict}; {item.reason}.",
        f"- **Ours:** {figure.ours}. **Baseline:** {figure.baseline}.",
        f"- **Bound:** {bound_of(figure)}. {figure.why}",
        f"- **How:** {figure.how}",
        f"- **Rounds:** {', '.join(shown(one.value) for one in item.rounds)}.",
    ]
    if item.information:
        told = "; ".join(_with_unit(name, number) for name, number in item.information.items())
        lines.append(f"- **Beside it, without a bound:** {told}.")
    if item.machine:
        lines.append(f"- **On:** {_machine(item.machine)}.")
    wrapped = [
        fill(line, WIDTH, subsequent_indent="  " * line.startswith("- "), break_on_hyphens=False) for line in lines
    ]
    return "\n".join([*wrapped, "", f"![{figure.name}](images/bench/{figure.name}.png)"])


def _with_unit(name: str, number: float) -> str:
    """`p95, ms` and 20 as "p95 20.0 ms"."""
    what, _, unit = name.partition(", ")
    return f"{what} {shown(number)} {unit}".rstrip()


def _machine(held: Mapping[str, object]) -> str:
    features = [name for name in ("avx512_bf16", "amx_bf16") if held.get(name)]
    return ", ".join(
        [f"{held['cores']} cores of {held['cpu']}", *features, f"{held['memory_gib']} GiB", f"Python {held['python']}"]
    )


def replaced(text: str, made: str) -> str:
    """The page with another block. Raises ValueError where it has not exactly one pair of markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in after:
        raise ValueError(f"{PAGE.name} needs the lines {BEGIN} and {END}, once each")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def write(figures: Sequence[Figure], results: Mapping[str, Result], path: Path = PAGE) -> None:
    path.write_text(replaced(path.read_text(encoding="utf-8"), block(figures, results)), encoding="utf-8")
