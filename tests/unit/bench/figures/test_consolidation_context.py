"""What a consolidation costs and brings, on contexts by hand."""

from __future__ import annotations

import pytest

from bench.figures import consolidation_context as figure
from bench.figures.consolidation_context import BUDGETS, FIGURE, Answer
from bench.retrieval.contexts import Covered
from bench.retrieval.conversations import Question

SMALL, LARGE = BUDGETS
MADE = [dict.fromkeys(figure.MADE, 2), dict.fromkeys(figure.MADE, 3)]
UPDATE = Question("q", frozenset({"1", "2"}), "knowledge_update")
SUMMARY = Question("r", frozenset({"3"}), "summarization")


def answer(question: Question, tokens: int, before: str, after: str, alone: str = "") -> Answer:
    """Units are single letters."""
    return Answer(question, tokens, Covered(frozenset(before)), Covered(frozenset(after), frozenset(alone)))


def test_the_share_is_of_the_evidence_and_each_question_counts_the_same() -> None:
    found = [answer(UPDATE, SMALL, "19", "129"), answer(SUMMARY, SMALL, "1", "13")]

    assert figure.means(found) == (0.25, 1.0)
    assert figure.gain(found) == 0.75
    assert figure.means([]) == (0.0, 0.0)


def test_the_budget_at_which_most_is_lost_is_judged() -> None:
    made = figure.as_round(
        [
            answer(UPDATE, SMALL, "12", "1"),
            answer(SUMMARY, SMALL, "", "3", "3"),
            answer(UPDATE, LARGE, "12", "1"),
            answer(SUMMARY, LARGE, "3", "3"),
        ],
        MADE,
        0.0,
    )

    assert (made.ours, made.baseline) == (0.75, 0.99)
    assert made.information["looked at, memories"] == 5
    assert made.information["questions"] == 2
    assert made.information["all questions at 500 tokens, points more"] == 25
    assert made.information["all questions at 1,000 tokens, points more"] == -25
    assert made.information["evidence in consolidations alone at 500 tokens, messages"] == 1
    assert (
        made.information["better at 500 tokens, questions"] == made.information["worse at 500 tokens, questions"] == 1
    )


def test_what_an_ability_gains_is_told_and_what_does_not_move_is_not() -> None:
    made = figure.as_round(
        [
            answer(UPDATE, SMALL, "1", "12"),
            answer(SUMMARY, SMALL, "3", "3"),
            answer(UPDATE, LARGE, "1", "1"),
            answer(SUMMARY, LARGE, "3", ""),
        ],
        MADE,
        0.0,
    )

    moved = {
        name: more for name, more in made.information.items() if name.endswith(", points more") and "all" not in name
    }
    assert moved == {
        "knowledge update at 500 tokens, points more": 50,
        "summarization at 1,000 tokens, points more": -100,
    }
    place = list(figure.ABILITIES).index("knowledge_update")
    drawn = figure.chart([made])
    assert drawn.series["500 without"][place] == 0.5
    assert drawn.series["500 with"][place] == 1.0
    assert all(len(numbers) == len(drawn.x) for numbers in drawn.series.values())


@pytest.mark.parametrize(("lost", "holds"), [(0, True), (1, True), (2, False), (5, False)])
def test_one_point_may_be_lost_and_not_two(lost: int, holds: bool) -> None:
    questions = [Question("q", frozenset({"1"}), "summarization") for _ in range(100)]
    found = [
        answer(one, tokens, "1", "" if at < lost else "1") for tokens in BUDGETS for at, one in enumerate(questions)
    ]

    assert FIGURE.direction.holds(figure.as_round(found, MADE, 0.0).value, FIGURE.bound) is holds
