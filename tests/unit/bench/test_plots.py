"""Pictures: one of each committed result, drawn from that very result, and the same each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import plots, result
from bench.figure import Chart, Figure, Round
from bench.figures import FIGURES
from tests.unit.bench.figures_for_tests import a_figure


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_committed_picture_was_drawn_from_the_committed_result(figure: Figure, suffix: str) -> None:
    digest = plots.digest_of(result.FOLDER / f"{figure.name}.json")

    assert digest.encode() in (plots.FOLDER / f"{figure.name}.{suffix}").read_bytes()


def test_the_same_result_gives_the_same_picture(tmp_path: Path) -> None:
    figure = a_figure(name="example")
    judged = result.judge(figure, [Round(70.0, 100.0, 0.02)], quick=True)

    once, again = (plots.draw(figure, judged, "digest", tmp_path / folder) for folder in ("once", "again"))

    assert [path.name for path in once] == ["example.svg", "example.png"]
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]


def test_a_line_is_drawn_over_its_numbers(tmp_path: Path) -> None:
    def chart(_rounds: object) -> Chart:
        return Chart("lines", "Growth", "episodes", "MB", [0.0, 10.0], {"api": [100.0, 101.0]})

    figure = a_figure()
    judged = result.judge(figure, [Round(70.0, 100.0, 0.02)], quick=True)
    with_lines = type(figure)(**{name: getattr(figure, name) for name in figure.__slots__} | {"chart": chart})

    svg, _ = plots.draw(with_lines, judged, "digest", tmp_path)

    assert all(word in svg.read_text(encoding="utf-8") for word in ("Growth", "episodes", "api", "example: pass"))
