"""The list of figures: each is told apart, says what it is, and has a committed result that its bound of today judged."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from bench import result
from bench.figure import Figure
from bench.figures import FIGURES

BY_NAME = pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)


def test_names_are_told_apart() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


@BY_NAME
def test_a_figure_has_a_module_of_its_name(figure: Figure) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", figure.name)
    assert import_module(f"bench.figures.{figure.name.replace('-', '_')}").FIGURE is figure


@BY_NAME
def test_a_figure_says_what_it_is_in_sentences(figure: Figure) -> None:
    assert all(text.endswith(".") and len(text) > 40 for text in (figure.says, figure.why, figure.how))


@BY_NAME
def test_quick_is_not_more(figure: Figure) -> None:
    assert 1 <= figure.quick_rounds <= figure.rounds


@BY_NAME
def test_a_figure_has_a_committed_result_judged_by_its_bound_of_today(figure: Figure) -> None:
    committed = result.read_all([figure]).get(figure.name)

    assert committed is not None
    assert committed.rounds
    assert committed == result.judge_again(figure, committed)
