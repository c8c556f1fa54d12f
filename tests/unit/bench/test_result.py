"""What rounds come to: medians, disturbed rounds, the verdict, and the file that keeps them."""

from __future__ import annotations

import json
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from bench import result
from bench.figure import Direction, Round
from bench.result import Verdict
from tests.unit.bench.figures_for_tests import a_figure

QUIET = 0.01
LOUD = 0.5


def rounds(*values: float, disturbed: float = QUIET) -> tuple[Round, ...]:
    return tuple(Round(value * 100, 100.0, disturbed) for value in values)


@pytest.mark.parametrize(
    ("direction", "value", "verdict"),
    [
        (Direction.AT_LEAST, 0.59, Verdict.FAIL),
        (Direction.AT_LEAST, 0.6, Verdict.PASS),
        (Direction.AT_LEAST, 0.61, Verdict.PASS),
        (Direction.AT_MOST, 0.59, Verdict.PASS),
        (Direction.AT_MOST, 0.6, Verdict.PASS),
        (Direction.AT_MOST, 0.61, Verdict.FAIL),
    ],
)
def test_the_bound_itself_is_good_enough(direction: Direction, value: float, verdict: Verdict) -> None:
    figure = a_figure(direction=direction)

    assert result.judge(figure, rounds(value), quick=False).verdict is verdict


def test_the_median_of_the_rounds_counts_and_all_are_kept() -> None:
    judged = result.judge(a_figure(), rounds(0.9, 0.1, 0.7), quick=False)

    assert (judged.value, judged.verdict) == (0.7, Verdict.PASS)
    assert [item.value for item in judged.rounds] == pytest.approx([0.9, 0.1, 0.7])


def test_disturbed_rounds_do_not_count_where_there_are_others() -> None:
    judged = result.judge(a_figure(), rounds(0.2, 0.3, disturbed=LOUD) + rounds(0.8), quick=False)

    assert (judged.value, judged.undisturbed_rounds, len(judged.rounds)) == (0.8, 1, 3)
    assert "2 of 3 rounds were disturbed" in judged.reason


def test_a_verdict_says_that_every_round_was_disturbed() -> None:
    judged = result.judge(a_figure(), rounds(0.2, disturbed=LOUD), quick=False)

    assert judged.verdict is Verdict.FAIL
    assert "every round was disturbed (others had up to 50% of the cores)" in judged.reason


def test_what_others_cannot_move_is_not_excused_by_them() -> None:
    judged = result.judge(a_figure(timed=False), rounds(0.2, disturbed=LOUD) + rounds(0.8), quick=False)

    assert judged.value == 0.5
    assert "disturbed" not in judged.reason


def test_information_is_the_median_of_the_rounds_that_have_it() -> None:
    first, second = rounds(0.7, 0.7)
    told = [replace(first, information={"p50, ms": 10.0}), replace(second, information={"p50, ms": 20.0, "more": 1.0})]

    assert result.judge(a_figure(), told, quick=False).information == {"p50, ms": 15.0, "more": 1.0}


def test_counts_stay_exact_and_measurements_lose_their_noise() -> None:
    told = [replace(rounds(0.7)[0], information={"episodes": 11233.0, "p50, ms": 12.34567})]

    assert result.judge(a_figure(), told, quick=False).information == {"episodes": 11233.0, "p50, ms": 12.35}


def test_what_was_not_run_has_no_number_and_what_broke_is_no_pass() -> None:
    assert (result.not_run(a_figure(), "no data").verdict, result.not_run(a_figure(), "no data").value) == (
        Verdict.NOT_RUN,
        None,
    )
    assert result.broken(a_figure(), "a job failed").verdict is Verdict.FAIL


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    figure = a_figure(name="written")
    judged = result.judge(figure, [Round(7.0, 10.0, 0.01, {"p50, ms": 3.0}, {"x": [1.0, 2.0]})], quick=True)

    result.write(judged, tmp_path)

    assert result.read_all([figure, a_figure(name="absent")], tmp_path) == {"written": judged}
    assert json.loads((tmp_path / "written.json").read_text(encoding="utf-8"))["rounds"][0]["value"] == 0.7


def test_another_bound_is_another_verdict_on_the_same_rounds() -> None:
    judged = replace(result.judge(a_figure(bound=0.6), rounds(0.7), quick=False), date="2020-01-01", commit="abc")

    again = result.judge_again(a_figure(bound=0.8), judged)

    assert (again.verdict, again.bound) == (Verdict.FAIL, "at least 0.800")
    assert (again.rounds, again.date, again.commit) == (judged.rounds, "2020-01-01", "abc")


def test_a_result_names_no_host_and_no_path() -> None:
    text = result.to_json(result.judge(a_figure(), rounds(0.7), quick=False))

    assert platform.node() not in text
    assert str(Path.home()) not in text
    assert str(Path.cwd()) not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.6851, "0.685"), (1.0, "1.00"), (42.24, "42.2"), (10.0, "10"), (173.98, "174"), (11920.4, "11,920")],
)
def test_numbers_are_shown_with_the_digits_that_count(value: float, text: str) -> None:
    assert result.shown(value) == text
