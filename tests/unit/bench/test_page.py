"""The page of figures is what the committed results say, so that no number in it can be old."""

from __future__ import annotations

import pytest

from bench import page, result
from bench.figure import Round
from bench.figures import FIGURES
from tests.unit.bench.figures_for_tests import a_figure

MARKED = f"# Page\n\n{page.BEGIN}\n\nold\n\n{page.END}\n\nmore\n"


def test_the_page_is_what_the_committed_results_say() -> None:
    text = page.PAGE.read_text(encoding="utf-8")

    assert text == page.replaced(text, page.block(FIGURES, result.read_all(FIGURES)))


def test_a_page_that_drifted_is_found() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    kept = result.read_all(FIGURES)
    first = kept[FIGURES[0].name]

    drifted = page.block(FIGURES, {**kept, first.figure: result.judge_again(FIGURES[0], first)})
    other = page.block(FIGURES, {**kept, first.figure: result.not_run(FIGURES[0], "gone")})

    assert text == page.replaced(text, drifted)
    assert text != page.replaced(text, other)


def test_only_what_is_between_the_markers_is_replaced() -> None:
    assert page.replaced(MARKED, "new") == MARKED.replace("old", "new")


@pytest.mark.parametrize("text", ["no markers", page.BEGIN, f"{page.END}{page.BEGIN}", MARKED + MARKED])
def test_a_page_without_one_pair_of_markers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="once each"):
        page.replaced(text, "new")


def test_a_table_is_aligned_and_tells_what_was_not_run() -> None:
    figure = a_figure(name="one")
    judged = result.judge(figure, [Round(70.0, 100.0, 0.02), Round(80.0, 100.0, 0.3)], quick=True)

    head, rule, ran, absent = page.table([judged, result.not_run(a_figure(name="another"), "needs data")])

    assert len({len(head), len(rule), len(ran), len(absent)}) == 1
    assert "| one " in ran
    assert "0.700" in ran
    assert "1 of 2" in ran
    assert "2% to 30%" in ran
    assert ", quick" in ran
    assert "not run" in absent
    assert "needs data" in absent
