"""What a score says, and a reason. The ranking as a whole is tested on a real store."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinicon import lexemes
from infinicon.operations.ranking import Told, because, score, terms

SHARE = st.floats(0, 1)


@given(st.floats(-1, 1) | st.none(), st.floats(0, 3))
def test_is_a_share(similarity: float | None, words: float) -> None:
    assert 0 <= score(similarity, words) < 1


@given(SHARE, SHARE, SHARE)
def test_more_evidence_is_never_worth_less(similarity: float, words: float, more: float) -> None:
    assert score(max(similarity, more), words) >= score(similarity, words)
    assert score(similarity, max(words, more)) >= score(similarity, words)


def test_one_everyday_word_does_not_beat_the_meaning() -> None:
    """ "Any food allergies?": a third of the words and little else, against what was meant without any of the words."""
    assert score(0.66, 0.0) > score(0.29, 0.33)


def test_what_fits_nothing_stays_low() -> None:
    assert score(0.15, 0.0) < 0.2


def test_all_the_words_win_where_the_model_finds_everything_alike() -> None:
    """To a model that cannot read a script all its texts mean the same."""
    assert score(1.0, 1.0) > score(1.0, 0.0)
    assert score(0.8, 1.0) > score(0.85, 0.0)


def test_without_a_vector_words_are_all_there_is() -> None:
    assert score(None, 1.0) == pytest.approx(0.9)
    assert score(None, 0.0) == 0


def test_a_reason_has_the_words_of_the_question_as_they_were_written() -> None:
    found = terms("Which Studies did Müller's 1,000 Boilers need, and the boiler?")

    assert set(found.values()) == {"Studies", "Müller", "1,000", "Boilers", "need"}
    assert because(found, list(found), 0.5) == (
        "has “1,000”, “Boilers”, “Müller”, “Studies”, “need”; similar in meaning (0.50)"
    )


def test_a_reason_quotes_nothing_else_and_not_without_end() -> None:
    found = terms(" ".join(f"word{number}" for number in range(500)))
    said = because(found, [*found, lexemes.lexeme_id("CANARY")], 0.1)

    assert "CANARY" not in said
    assert said.endswith(" and 490 more")
    assert because(found, [], None) == "the nearest there is"


@given(st.text(max_size=60))
def test_any_question_has_its_lexemes(text: str) -> None:
    assert terms(text).keys() == lexemes.lexeme_ids(text).keys()


def test_what_was_said_is_said_whichever_way_it_comes_again() -> None:
    atom, episode, other = (UUID(int=number) for number in range(3))
    for first, second in ((atom, episode), (episode, atom), (atom, atom), (episode, episode)):
        told = Told({atom: {episode}})
        assert not told.has(second)
        told.add(first)
        assert told.has(second)
        assert not told.has(other)
