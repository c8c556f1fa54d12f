"""What says the same, which of the two is kept, and what only looks alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.plugins.consolidator.talk import atom, consolidated, told


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The code is 4711.", "the  code is 4711!"),
        ("It's the code of Rosa.", "It is the code of Rosa."),
        ("The room has 1,000 seats.", "The room has 1000 seats."),
        ("A man is playing the guitar.", "The man is playing a guitar."),
        ("Rosa isn't allergic to nuts.", "Rosa is not allergic to nuts."),
        ("Die Sitzung beginnt um neun Uhr.", "Die Sitzung beginnt um neun Uhr!"),
        ("会议在星期一。", "会议在星期一"),
    ],
)
def test_the_same_words_are_folded_into_the_earliest(first: str, second: str) -> None:
    assert told(first, second, apart=timedelta(hours=1)) == ["0=1"]


def test_the_most_complete_is_kept() -> None:
    assert told("Rosa moved to Turin.", "Rosa moved to Turin in May.", "Rosa moved to Turin!") == ["1=0", "1=2"]
    assert told("The man with the hat cuts a red onion.", "The man with the hat cuts an onion.") == ["0=1"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The code is on the blue tag.", "The code is on the red tag."),
        ("The code is 4711 at the gate.", "The code is 4712 at the gate."),
        ("A dog is licking a baby.", "A baby is licking a dog."),
        ("The man is cutting the box.", "The man is cutting the tape on the box."),
        ("Rosa moved to Turin in May.", "Rosa maybe moved to Turin in May."),
        ("I like coffee with milk.", "I like coffee with milk only on Sundays."),
        ("I moved to Turin in May.", "He said I moved to Turin in May."),
        ("I did not call the office.", "I did not call the office twice."),
        ("Is the code on the tag?", "Is the code on the tag of Rosa?"),
        ("Here is the code of mine:", "Here is the code of mine for Rosa:"),
        ("Rosa wohnt in Rom am Hafen.", "Rosa wohnt nicht in Rom am Hafen."),
        ("J'aime le café avec du lait.", "J'aime le café avec du lait sans sucre."),
    ],
)
def test_what_only_looks_alike_is_left_alone(first: str, second: str) -> None:
    assert not [one for one in told(first, second, apart=timedelta(hours=1)) if "=" in one]


@pytest.mark.parametrize(
    "text", ["I'm at the gym today.", "I went for a long run.", "I am reading the map.", "Where is Rosa?"]
)
def test_a_moment_is_folded_within_a_day_only(text: str) -> None:
    assert told(text, text, apart=timedelta(hours=2)) == ["0=1"]
    assert told(text, text) == []


def test_nobody_says_what_another_has_said() -> None:
    assert told("I like coffee with milk.", "I like coffee with milk.", speakers=["ada", "bob"]) == []
    assert told("The code is 4711.", "The code is 4711.", speakers=["ada", None]) == []


def test_tags_and_titles_are_not_lost() -> None:
    plain, tagged = atom("The code is 4711.", 0), replace(atom("The code is 4711.", 1), tags=["gate"])

    assert not consolidated([plain, tagged]).duplicates
    assert consolidated([replace(plain, tags=["gate", "key"]), tagged]).duplicates


def test_what_was_looked_at_before_is_not_looked_at_again() -> None:
    old = [replace(atom("The code is 4711.", at), fresh=False) for at in range(2)]

    assert not consolidated(old).duplicates
    assert [one.folded for one in consolidated([*old, atom("The code is 4711.", 2)]).duplicates] == ["m2"]


def test_what_changed_in_between_is_not_folded() -> None:
    """ "I live in Rome", said again after the move, is no echo of the first time."""
    assert not [one for one in told("I live in Rome.", "I moved to Turin.", "I live in Rome!") if "=" in one]


def test_many_of_the_same_have_one_that_is_kept() -> None:
    plan = consolidated([atom("The gate code is 4711.", at) for at in range(300)])

    assert {one.kept for one in plan.duplicates} == {"m0"}
    assert len(plan.duplicates) == 299
